//! A thread's sockets: by io_uring where the system lets it have that, else by epoll. Both read and write without waiting, and tell
//! what can go on.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use fanin_ring::{Event, Ring};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

/// Events taken in a turn.
const EVENTS: usize = 1024;
/// What has been sent of a buffer is let go of above this; and one that has grown above that is made smaller.
const KEPT: usize = 64 << 10;
const MOST_KEPT: usize = 1 << 20;

/// What a front end's threads wait for events with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventLoop {
    /// io_uring where it can be had, else epoll.
    Auto,
    /// Linux's rings, of 6.1 and later.
    IoUring,
    /// By `mio`.
    Epoll,
}

impl EventLoop {
    /// What settings call them.
    pub const WORDS: [(&str, EventLoop); 3] =
        [("auto", EventLoop::Auto), ("io_uring", EventLoop::IoUring), ("epoll", EventLoop::Epoll)];
}

/// All of a thread's.
pub enum Sockets {
    Ring(Box<Ring>),
    Epoll(Poll, Events),
}

/// A connection.
#[derive(Debug)]
pub enum Socket {
    Ring(fanin_ring::Socket),
    Epoll(TcpStream),
}

/// What waits to be written to a socket.
#[derive(Debug, Default)]
pub struct Outgoing {
    pub bytes: Vec<u8>,
    /// How many of them are written.
    sent: usize,
    /// How many more are the kernel's, and not yet written.
    handed: usize,
}

impl Outgoing {
    /// How many bytes are not written.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.sent + self.handed
    }

    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Lets go of what is written, or much of it.
    fn settle(&mut self) {
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

/// Wakes a thread that waits for events.
pub enum Waker {
    Ring(UnixStream),
    Epoll(mio::Waker),
}

impl Waker {
    pub fn wake(&self) {
        // A thread that is gone need not be woken.
        match self {
            Waker::Ring(stream) => drop((&mut &*stream).write(&[0])),
            Waker::Epoll(waker) => drop(waker.wake()),
        }
    }
}

impl Sockets {
    /// This thread's, and what wakes it, which has an event of this token.
    pub fn new(which: EventLoop, token: usize) -> io::Result<(Sockets, Waker)> {
        let ring = match which {
            EventLoop::Epoll => None,
            EventLoop::IoUring => Some(Ring::new().map_err(denied)?),
            EventLoop::Auto => Ring::new().ok(),
        };
        if let Some(mut ring) = ring {
            let (waker, woken) = UnixStream::pair()?;
            ring.watch(woken.into(), token);
            return Ok((Sockets::Ring(Box::new(ring)), Waker::Ring(waker)));
        }
        let poll = Poll::new()?;
        let waker = mio::Waker::new(poll.registry(), Token(token))?;
        Ok((Sockets::Epoll(poll, Events::with_capacity(EVENTS)), Waker::Epoll(waker)))
    }

    /// What `stats` calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Sockets::Ring(_) => "io_uring",
            Sockets::Epoll(..) => "epoll",
        }
    }

    /// Tells when a connection can be taken.
    pub fn listen(&mut self, listener: &mut TcpListener, token: usize) -> io::Result<()> {
        match self {
            Sockets::Ring(ring) => ring.watch(listener.as_fd().try_clone_to_owned()?, token),
            Sockets::Epoll(poll, _) => poll.registry().register(listener, Token(token), Interest::READABLE)?,
        }
        Ok(())
    }

    /// Listens no longer.
    pub fn unlisten(&mut self, listener: TcpListener, token: usize) {
        if let Sockets::Ring(ring) = self {
            ring.unwatch(token);
        }
        drop(listener);
    }

    /// Takes a connection, which may still be opening.
    pub fn add(&mut self, mut stream: TcpStream, token: usize, opening: bool) -> io::Result<Socket> {
        // Without it answers would wait for one another; a socket that refuses it will do all the same.
        let _ = stream.set_nodelay(true);
        match self {
            Sockets::Ring(ring) => ring.add(OwnedFd::from(stream).into(), token, opening).map(Socket::Ring),
            Sockets::Epoll(poll, _) => {
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut stream, Token(token), interest)?;
                Ok(Socket::Epoll(stream))
            }
        }
    }

    /// Whether a connection that was being opened is open.
    pub fn is_open(&self, socket: &Socket) -> io::Result<bool> {
        let (error, open) = match (self, socket) {
            (Sockets::Ring(ring), Socket::Ring(socket)) => {
                let Some(stream) = ring.system(socket) else { return Ok(false) };
                (stream.take_error()?, stream.peer_addr().is_ok())
            }
            (_, Socket::Epoll(stream)) => (stream.take_error()?, stream.peer_addr().is_ok()),
            _ => return Ok(false),
        };
        error.map_or(Ok(open), Err)
    }

    /// Reads what has come, if anything has.
    pub fn read(&mut self, socket: &mut Socket, into: &mut [u8]) -> io::Result<usize> {
        match (self, socket) {
            (Sockets::Ring(ring), Socket::Ring(socket)) => ring.read(socket, into),
            (_, Socket::Epoll(stream)) => stream.read(into),
            _ => Ok(0),
        }
    }

    /// Writes what it can; an event tells when it can more.
    pub fn write(&mut self, socket: &mut Socket, out: &mut Outgoing) -> io::Result<()> {
        match (self, socket) {
            (Sockets::Ring(ring), Socket::Ring(socket)) => {
                ring.write(socket, &mut out.bytes)?;
                out.handed = ring.unsent(socket);
            }
            (_, Socket::Epoll(stream)) => {
                while out.sent < out.bytes.len() {
                    match stream.write(&out.bytes[out.sent..]) {
                        Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                        Ok(count) => out.sent += count,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            _ => {}
        }
        out.settle();
        Ok(())
    }

    /// Closes a connection.
    pub fn close(&mut self, socket: Socket) {
        if let (Sockets::Ring(ring), Socket::Ring(socket)) = (self, socket) {
            ring.close(socket);
        }
    }

    /// Waits for something to happen, no longer than this.
    pub fn wait(&mut self, longest: Option<Duration>, happened: &mut Vec<Event>) -> io::Result<()> {
        match self {
            Sockets::Ring(ring) => ring.wait(longest, happened),
            Sockets::Epoll(poll, events) => {
                match poll.poll(events, longest) {
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                    _ => {}
                }
                happened.extend(events.iter().map(|event| Event {
                    token: event.token().0,
                    readable: event.is_readable() || event.is_read_closed() || event.is_error(),
                    ended: event.is_read_closed() || event.is_error(),
                    writable: event.is_writable(),
                    failed: event.is_error() || event.is_write_closed(),
                }));
                Ok(())
            }
        }
    }

    /// Has all that was written go off now, though nobody waits for events yet.
    pub fn submit(&mut self) -> io::Result<()> {
        match self {
            Sockets::Ring(ring) => ring.submit(),
            Sockets::Epoll(..) => Ok(()),
        }
    }
}

/// Why there is no ring, and what would be right.
fn denied(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("event_loop = \"io_uring\" cannot be had here: {error}; \"auto\" takes epoll then"),
    )
}
