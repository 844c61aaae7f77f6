//! Socket tests with the default event loop: io_uring if available.

use crate::support::Cluster;

#[path = "over_sockets.rs"]
mod over_sockets;

/// Setting of the event loop.
const EVENT_LOOP: &str = "";

fn cluster(servers: usize, more: &str, of_pool: &str) -> Cluster {
    Cluster::with(servers, more, of_pool)
}

#[test]
fn uses_io_uring_if_available() {
    if let Err(error) = fanin_ring::Ring::new() {
        return println!("skipped: no io_uring here ({error}), so that this is epoll once more");
    }
    let cluster = cluster(1, "", "");
    let mut client = cluster.client();
    client.send("stats\r\n");
    let lines: Vec<String> = std::iter::repeat_with(|| client.line()).take_while(|line| line != "END").collect();
    assert!(lines.contains(&"STAT event_loop io_uring".to_owned()), "{lines:?}");
}
