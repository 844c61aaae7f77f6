//! Traffic of real TCP in this process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// Connections of which each receives 10,000 B.
pub const CONNECTIONS: u64 = 40;

/// Receives over many connections, one after another.
pub fn read_at_once(listener: &TcpListener) {
    let address = listener.local_addr().expect("an address");
    for _ in 0..CONNECTIONS {
        let mut client = TcpStream::connect(address).expect("a connection");
        let (mut server, _) = listener.accept().expect("a connection");
        server.write_all(&[0; 10_000]).expect("it takes data");
        client.read_exact(&mut [0; 10_000]).expect("data comes");
    }
}
