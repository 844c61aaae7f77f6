//! By `mio`: as `fanin front` does it, one write to each server and client a turn.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use mio::{Events, Interest, Poll, Token};

use crate::READ;
use crate::relay::Relay;

pub fn run(listener: TcpListener, servers: Vec<TcpStream>) -> std::io::Result<()> {
    let mut poll = Poll::new()?;
    let mut relay = Relay::new(servers.len());
    let mut streams: Vec<mio::net::TcpStream> = Vec::new();
    let both = Interest::READABLE | Interest::WRITABLE;
    for (number, stream) in servers.into_iter().enumerate() {
        stream.set_nonblocking(true)?;
        let mut stream = mio::net::TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(number), both)?;
        streams.push(stream);
    }
    listener.set_nonblocking(true)?;
    let mut listener = mio::net::TcpListener::from_std(listener);
    poll.registry().register(&mut listener, Token(usize::MAX), Interest::READABLE)?;
    let (mut events, mut bytes) = (Events::with_capacity(1024), vec![0; READ]);
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            let Token(end) = event.token();
            if end == usize::MAX {
                while let Ok((mut stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    poll.registry().register(&mut stream, Token(relay.join()), both)?;
                    streams.push(stream);
                }
            } else if event.is_readable() {
                loop {
                    match streams[end].read(&mut bytes) {
                        Ok(count) => {
                            relay.came(end, &bytes[..count]);
                            if count < READ {
                                break;
                            }
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        Err(_) => break,
                    }
                }
            }
            if event.is_writable() && end < streams.len() && !relay.ends[end].out.is_empty() && !relay.ends[end].dirty {
                relay.ends[end].dirty = true;
                relay.dirty.push(end);
            }
        }
        for end in std::mem::take(&mut relay.dirty) {
            let to = &mut relay.ends[end];
            to.dirty = false;
            if let Ok(count) = streams[end].write(&to.out) {
                to.out.drain(..count);
            }
        }
    }
}
