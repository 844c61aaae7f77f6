//! What a front end asks of the world: connections that are read and written without waiting. Real ones are `sockets`; a test has its
//! own, and a clock that it moves itself.

use std::io;
use std::net::SocketAddr;

use crate::memory::{Buffer, Charge};

/// What has been sent of a buffer is let go of above this; and one that has grown above that is made smaller.
const KEPT: usize = 64 << 10;
const MOST_KEPT: usize = 1 << 20;

/// A world of connections.
pub trait Net {
    /// A connection that nobody reads yet.
    type Stream;
    /// One that is read and written.
    type Socket;

    /// What waits with.
    fn name(&self) -> &'static str;

    /// The next connection that waits to be taken by a pool's address; `WouldBlock` where none does.
    ///
    /// # Errors
    /// Where it cannot be had, for want of files, say.
    fn accept(&mut self, pool: usize) -> io::Result<Self::Stream>;

    /// Takes no more connections by a pool's address.
    fn unlisten(&mut self, pool: usize);

    /// Begins to open a connection.
    ///
    /// # Errors
    /// Where it cannot be opened.
    fn connect(&mut self, to: SocketAddr) -> io::Result<Self::Stream>;

    /// Says something by a connection, if that goes at once, and closes it.
    fn refuse(&mut self, stream: Self::Stream, text: &[u8]);

    /// Has events of this token told of a connection, which may still be opening.
    ///
    /// # Errors
    /// The system's.
    fn add(&mut self, stream: Self::Stream, token: usize, opening: bool) -> io::Result<Self::Socket>;

    /// Whether a connection that was being opened is open.
    ///
    /// # Errors
    /// Where it never will be.
    fn is_open(&self, socket: &Self::Socket) -> io::Result<bool>;

    /// Reads what has come, if anything has; nothing where nothing more will.
    ///
    /// # Errors
    /// `WouldBlock` where nothing has; and what the connection ended with.
    fn read(&mut self, socket: &mut Self::Socket, into: &mut [u8]) -> io::Result<usize>;

    /// Writes what it can; an event tells when it can more.
    ///
    /// # Errors
    /// What the connection ended with.
    fn write(&mut self, socket: &mut Self::Socket, out: &mut Outgoing) -> io::Result<()>;

    /// Closes a connection.
    fn close(&mut self, socket: Self::Socket);

    /// Says something to whoever looks after the front end.
    fn tell(&mut self, text: &str);

    /// Bytes that it holds itself: received, and not read yet.
    fn held(&self) -> usize;
}

/// Bytes that wait to be written to a connection.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Buffer,
    /// The first bytes of these are written already.
    sent: usize,
    /// Bytes that the system has taken over and not yet written.
    handed: usize,
    charge: Charge,
}

impl Outgoing {
    /// How many bytes are not written.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.sent + self.handed
    }

    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Appends a whole buffer, which takes the place of an empty one where it is large.
    pub fn append(&mut self, more: Buffer) {
        if self.bytes.is_empty() && more.len() > KEPT {
            self.bytes = more;
        } else {
            self.bytes.extend(&more);
        }
    }

    /// The bytes that are to be written next.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// So many more bytes are written.
    pub fn wrote(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            if self.bytes.capacity() > MOST_KEPT {
                self.bytes.with(|bytes| bytes.shrink_to(MOST_KEPT));
            }
        } else if self.sent > KEPT && self.sent > self.bytes.len() / 2 {
            let sent = std::mem::take(&mut self.sent);
            self.bytes.with(|bytes| drop(bytes.drain(..sent)));
        }
    }

    /// Lets the system take bytes over; `take` returns how many it has and has not yet written.
    pub fn hand_over<E>(&mut self, take: impl FnOnce(&mut Vec<u8>) -> Result<usize, E>) -> Result<(), E> {
        self.handed = self.bytes.with(take)?;
        self.charge.set(self.handed);
        self.wrote(0);
        Ok(())
    }

    /// Bytes of memory that it takes.
    pub fn holds(&self) -> usize {
        self.bytes.capacity() + self.handed
    }

    /// Takes the buffer where it is empty.
    pub fn take_empty(&mut self) -> Option<Buffer> {
        self.bytes.is_empty().then(|| std::mem::take(&mut self.bytes))
    }

    /// Gives it a buffer to fill, where it has none.
    pub fn fill(&mut self, buffer: impl FnOnce() -> Buffer) -> &mut Buffer {
        if self.bytes.capacity() == 0 {
            self.bytes = buffer();
        }
        &mut self.bytes
    }
}
