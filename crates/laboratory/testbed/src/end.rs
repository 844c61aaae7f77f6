//! One end of a connection: a socket, and what has been written to it and read from it.

use std::io::{ErrorKind, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;

use fanin_driver::MessageQueue;
use fanin_fabric::HostId;
use mio::net::TcpStream;
use nix::libc::MSG_TRUNC;
use socket2::SockRef;

/// Bytes to send; their content does not matter.
static FILLER: [u8; 1 << 16] = [0; 1 << 16];

/// One end of a connection.
pub struct End {
    /// Its host.
    pub host: HostId,
    /// Its socket.
    pub stream: TcpStream,
    /// Messages on their way to it, and bytes written at it.
    pub queue: MessageQueue,
    /// Bytes delivered in order.
    pub delivered: u64,
    /// Whether its application reads.
    pub reads: bool,
    sent: u64,
    /// Whether its sending side closes after its data, and has.
    closes: bool,
    shut: bool,
    /// Whether the peer has closed its side, or the connection is unusable.
    is_over: bool,
}

/// Result of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// Bytes, or nothing yet.
    Open,
    /// The peer has closed its side just now.
    Closed,
    /// The connection broke just now.
    Broken,
}

impl End {
    /// An end on an open socket.
    pub fn new(host: HostId, stream: TcpStream) -> End {
        let (sent, delivered, reads) = (0, 0, true);
        let (closes, shut, is_over) = (false, false, false);
        End { host, stream, queue: MessageQueue::default(), delivered, reads, sent, closes, shut, is_over }
    }

    /// Writes as much as the socket takes; whether the connection is usable.
    pub fn flush(&mut self) -> bool {
        while self.sent < self.queue.written() {
            let bytes = (self.queue.written() - self.sent).min(FILLER.len() as u64) as usize;
            match self.stream.write(&FILLER[..bytes]) {
                Ok(written) => self.sent += written as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock || error.kind() == ErrorKind::NotConnected => {
                    return true;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        if self.closes && !self.shut {
            self.shut = true;
            return self.stream.shutdown(Shutdown::Write).is_ok();
        }
        true
    }

    /// Takes what has arrived. No byte is copied into `nowhere` (tcp(7), MSG_TRUNC).
    pub fn fill(&mut self, nowhere: &mut [MaybeUninit<u8>]) -> Filled {
        while self.reads && !self.is_over {
            match SockRef::from(&self.stream).recv_with_flags(nowhere, MSG_TRUNC) {
                Ok(0) => {
                    self.is_over = true;
                    return Filled::Closed;
                }
                Ok(read) => self.delivered += read as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock || error.kind() == ErrorKind::NotConnected => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.is_over = true;
                    return Filled::Broken;
                }
            }
        }
        Filled::Open
    }

    /// Whether both sides are closed.
    pub fn has_ended(&self) -> bool {
        self.shut && self.is_over
    }

    /// Closes its sending side after its data.
    pub fn close(&mut self) {
        self.closes = true;
    }

    /// Discards what the socket has not taken, and closes its sending side.
    pub fn stop(&mut self) {
        self.queue.set_written(self.sent);
        self.closes = true;
    }
}
