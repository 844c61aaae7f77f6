//! A front end with other settings takes over from a running one.
#![expect(clippy::disallowed_types, reason = "simple clients that wait for responses")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use fanin_daemon::Settings;

use super::{EVENT_LOOP, cluster};
use crate::support::{Client, Cluster, Server, value};

/// Connects, and requests a key; returns the first line of the response, which is empty if the connection was closed.
fn get_once(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("no connection is refused");
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut line = String::new();
    let sent = stream.write_all(b"get who\r\n");
    let _ = sent.and_then(|()| BufReader::new(stream).read_line(&mut line));
    line
}

#[test]
fn successor_takes_over_without_refused_connection() {
    for threads in [1, 3] {
        let Cluster { servers, front } = cluster(1, "", "");
        let (address, other) = (front.listens[0].ip().unwrap(), Server::start());
        let text = format!(
            "threads = {threads}\n{EVENT_LOOP}[[pool]]\nlisten = \"{address}\"\nitem = \"2 MiB\"\nservers = [\"{}\"]\n",
            other.address
        );
        let settings = Settings::of_file("next.toml", &text).unwrap();
        let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !over.load(SeqCst) {
                        answered.fetch_add(usize::from(!get_once(address).is_empty()), SeqCst);
                    }
                });
            }
            thread::sleep(Duration::from_millis(100));
            let next = front.start_successor(&settings).unwrap();
            assert_eq!(next.listens, [address.into()]);
            thread::sleep(Duration::from_millis(50));
            front.stop();
            front.wait().unwrap();
            let before = answered.load(SeqCst);
            let mut client = Client::to(address);
            assert_eq!(client.set("who", &value("who", 20)), "STORED");
            assert_eq!((0..50).map(|_| get_once(address)).find(|line| line != "VALUE who 0 20\r\n"), None);
            over.store(true, SeqCst);
            assert!(before > 0 && answered.load(SeqCst) >= before);
            next.stop();
            next.wait().unwrap();
        });
        assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
        drop(servers);
    }
}
