//! What a front end asks of the world: connections that are read and written without waiting. Real ones are `sockets`; a test has its
//! own, and a clock that it moves itself.

use std::io;
use std::net::SocketAddr;

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
}

/// What waits to be written to a connection.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Of these, the first may be written.
    pub bytes: Vec<u8>,
    /// How many are.
    pub sent: usize,
    /// How many more are the system's, and not yet written.
    pub handed: usize,
}

impl Outgoing {
    /// How many bytes are not written.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.sent + self.handed
    }

    /// Puts more behind them.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Lets go of what is written, or much of it.
    pub fn settle(&mut self) {
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            self.bytes.shrink_to(MOST_KEPT);
        } else if self.sent > KEPT && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}
