//! The least that a proxy of single gets can do: a line of a client's goes to a server by a hash of its key, an answer goes back to who
//! asked. Nothing is checked, nobody may fail: what is measured is what the event loop costs below it.
//!
//! `relay epoll|uring|tokio PORT SERVER…`, one thread, until it is killed.

mod epoll;
mod relay;
mod runtime;
mod uring;

use std::net::{SocketAddr, TcpListener, TcpStream};

/// Bytes that are read at once.
const READ: usize = 64 << 10;

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let (how, port) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    let open = |address: String| {
        let stream = TcpStream::connect(address.parse::<SocketAddr>().expect("a server's address"))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let servers = words.map(open).collect::<std::io::Result<Vec<_>>>()?;
    match how.as_str() {
        "epoll" => epoll::run(listener, servers),
        "uring" => uring::run(listener, servers),
        "tokio" => runtime::run(listener, servers),
        _ => panic!("epoll, uring or tokio"),
    }
}
