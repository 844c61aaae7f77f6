//! Socket tests with epoll.

use crate::support::Cluster;

#[path = "over_sockets.rs"]
mod over_sockets;

/// Setting of the event loop.
const EVENT_LOOP: &str = "event_loop = \"epoll\"\n";

fn cluster(servers: usize, more: &str, of_pool: &str) -> Cluster {
    Cluster::with(servers, &format!("{EVENT_LOOP}{more}"), of_pool)
}
