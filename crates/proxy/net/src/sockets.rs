//! Non-blocking sockets of a thread, by io_uring if available, else by epoll.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use fanin_ring::{Event, Ring};
use mio::{Events, Interest, Poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::endings::wait_for_end;
use super::stream::{Listener, Stream};
use super::{Address, Entry, Net, Outgoing, Received, Target, Tcp, Token};
use fanin_proxy_observe::messages::{self, Report};

/// Maximum number of events per loop iteration.
const EVENTS: usize = 1024;

/// Event loop implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventLoop {
    /// io_uring if available, else epoll.
    Auto,
    /// io_uring, Linux 6.1 or later.
    IoUring,
    /// epoll, through `mio`.
    Epoll,
}

impl EventLoop {
    /// Names in the settings.
    pub const WORDS: [(&str, EventLoop); 3] =
        [("auto", EventLoop::Auto), ("io_uring", EventLoop::IoUring), ("epoll", EventLoop::Epoll)];
}

/// Returns a thread's listening sockets at an address.
pub type ThreadListeners = Box<dyn Fn(&Address) -> io::Result<Vec<Listener>>>;

/// Sockets of a thread.
pub struct Sockets {
    system: System,
    /// Listening sockets of all threads; and this thread's, by the listener's number.
    all: ThreadListeners,
    listeners: Vec<Vec<Listener>>,
}

enum System {
    Ring(Box<Ring>),
    Epoll(Poll, Events),
}

/// A connection.
#[derive(Debug)]
pub enum Socket {
    /// Of io_uring.
    Ring(fanin_ring::Socket),
    /// Of epoll.
    Epoll(Stream),
}

/// Wakes a thread that waits for events. Never waits itself.
#[derive(Debug)]
pub enum Waker {
    /// A counter of the kernel's, which is never read.
    Ring(File),
    /// mio's.
    Epoll(mio::Waker),
}

impl Waker {
    /// Wakes the thread.
    pub fn wake(&self) {
        // The thread may have ended.
        match self {
            Waker::Ring(counter) => drop((&mut &*counter).write(&1u64.to_ne_bytes())),
            Waker::Epoll(waker) => drop(waker.wake()),
        }
    }
}

impl Sockets {
    /// Creates the thread's sockets and its waker.
    pub fn new(which: EventLoop, all: ThreadListeners) -> io::Result<(Sockets, Waker)> {
        let token = Token::Waker.encode();
        let ring = match which {
            EventLoop::Epoll => None,
            EventLoop::IoUring => Some(Ring::new().map_err(denied)?),
            EventLoop::Auto => Ring::new().ok(),
        };
        let (system, waker) = match ring {
            Some(mut ring) => {
                let counter = OwnedFd::from(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
                ring.watch(counter.try_clone()?, token);
                (System::Ring(Box::new(ring)), Waker::Ring(counter.into()))
            }
            None => {
                let poll = Poll::new()?;
                let waker = mio::Waker::new(poll.registry(), mio::Token(token))?;
                (System::Epoll(poll, Events::with_capacity(EVENTS)), Waker::Epoll(waker))
            }
        };
        Ok((Sockets { system, all, listeners: Vec::new() }, waker))
    }

    /// Waits for events, up to a maximum time.
    pub fn wait(&mut self, longest: Option<Duration>, happened: &mut Vec<Event>) -> io::Result<()> {
        match &mut self.system {
            System::Ring(ring) => ring.wait(longest, happened),
            System::Epoll(poll, events) => {
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

    /// Submits pending writes without waiting.
    pub fn submit(&mut self) -> io::Result<()> {
        match &mut self.system {
            System::Ring(ring) => ring.submit(),
            System::Epoll(..) => Ok(()),
        }
    }
}

impl Net for Sockets {
    type Stream = Stream;
    type Socket = Socket;

    fn name(&self) -> &'static str {
        match self.system {
            System::Ring(_) => "io_uring",
            System::Epoll(..) => "epoll",
        }
    }

    fn listen(&mut self, number: usize, at: &Address) -> io::Result<()> {
        let mut listeners = (self.all)(at)?;
        let token = Token::Listener(number).encode();
        for listener in &mut listeners {
            match &mut self.system {
                System::Ring(ring) => ring.watch(listener.as_fd().try_clone_to_owned()?, token),
                System::Epoll(poll, _) => {
                    poll.registry().register(listener, mio::Token(token), Interest::READABLE)?;
                }
            }
        }
        if self.listeners.len() <= number {
            self.listeners.resize_with(number + 1, Vec::new);
        }
        self.listeners[number] = listeners;
        Ok(())
    }

    fn accept(&mut self, listener: usize, _: &Arc<Entry>) -> io::Result<Stream> {
        for listener in &self.listeners[listener] {
            loop {
                match listener.accept() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    taken => return taken,
                }
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn unlisten(&mut self, listener: usize) {
        let mut listeners = std::mem::take(&mut self.listeners[listener]);
        match &mut self.system {
            System::Ring(ring) => ring.unwatch(Token::Listener(listener).encode()),
            // A successor may have the same socket, so closing it here does not end its events.
            System::Epoll(poll, _) => {
                listeners.iter_mut().for_each(|listener| drop(poll.registry().deregister(listener)));
            }
        }
    }

    fn connect(&mut self, to: &Arc<Target>) -> io::Result<Stream> {
        Stream::connect(&to.to_connect())
    }

    fn peer(&self, stream: &Stream) -> io::Result<Option<IpAddr>> {
        stream.peer()
    }

    fn refuse(&mut self, mut stream: Stream, text: &[u8]) {
        // Best effort.
        let _ = stream.write(text);
    }

    fn add(&mut self, mut stream: Stream, token: Token, opening: bool) -> io::Result<Socket> {
        let token = token.encode();
        stream.send_at_once();
        match &mut self.system {
            System::Ring(ring) => ring.add(OwnedFd::from(stream).into(), token, opening).map(Socket::Ring),
            System::Epoll(poll, _) => {
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut stream, mio::Token(token), interest)?;
                Ok(Socket::Epoll(stream))
            }
        }
    }

    fn is_open(&mut self, socket: &mut Socket) -> io::Result<bool> {
        match (&self.system, socket) {
            (System::Ring(ring), Socket::Ring(socket)) => {
                let Some(stream) = ring.system(socket) else { return Ok(false) };
                stream.take_error()?.map_or(Ok(stream.peer_addr().is_ok()), Err)
            }
            (_, Socket::Epoll(stream)) => stream.is_open(),
            _ => Ok(false),
        }
    }

    fn read(&mut self, socket: &mut Socket, into: &mut [u8]) -> io::Result<Received> {
        let count = match (&mut self.system, socket) {
            (System::Ring(ring), Socket::Ring(socket)) => ring.read(socket, into)?,
            (_, Socket::Epoll(stream)) => stream.read(into)?,
            _ => 0,
        };
        // A short read has emptied the socket.
        Ok(Received { count, more: count == into.len() })
    }

    fn write(&mut self, socket: &mut Socket, out: &mut Outgoing) -> io::Result<()> {
        match (&mut self.system, socket) {
            (System::Ring(ring), Socket::Ring(socket)) => out.hand_over(|bytes| {
                ring.write(socket, bytes)?;
                Ok(ring.unsent(socket))
            }),
            (_, Socket::Epoll(stream)) => {
                while !out.unsent().is_empty() {
                    match stream.write(out.unsent()) {
                        Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                        Ok(count) => out.wrote(count),
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, socket: Socket, held: Arc<()>) {
        if let Some(Ok(file)) = self.file(&socket).map(|file| file.try_clone_to_owned()) {
            wait_for_end(file, held);
        }
        self.close(socket);
    }

    fn tcp(&self, socket: &Socket) -> Option<Tcp> {
        let found = fanin_ring::tcp_info(self.file(socket)?).ok()?;
        Some(Tcp { rtt: u64::from(found.rtt_micros) * 1000, retransmits: found.retransmits.into() })
    }

    fn limit_pacing(&mut self, socket: &Socket, rate: u64) {
        // Without it the hub's own clock paces alone, in coarser steps.
        let _ = self.file(socket).map(|file| fanin_ring::limit_pacing(file, rate));
    }

    fn is_portable(&self, _: &Socket) -> bool {
        true
    }

    fn stop_receiving(&mut self, socket: &mut Socket) -> bool {
        match (&mut self.system, socket) {
            (System::Ring(ring), Socket::Ring(socket)) => ring.stop_receiving(socket),
            _ => true,
        }
    }

    fn release(&mut self, socket: Socket) -> io::Result<(OwnedFd, Vec<u8>)> {
        match (&mut self.system, socket) {
            (System::Ring(ring), Socket::Ring(socket)) => {
                ring.release(socket).ok_or_else(|| io::ErrorKind::ResourceBusy.into())
            }
            (System::Epoll(poll, _), Socket::Epoll(mut stream)) => {
                poll.registry().deregister(&mut stream)?;
                Ok((stream.into(), Vec::new()))
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn adopt(&mut self, file: OwnedFd) -> io::Result<Stream> {
        Stream::of(file.into())
    }

    fn close(&mut self, socket: Socket) {
        if let (System::Ring(ring), Socket::Ring(socket)) = (&mut self.system, socket) {
            ring.close(socket);
        }
    }

    fn tell(&mut self, text: &str) {
        messages::tell(text);
    }

    fn report(&mut self, report: &Report<'_>) {
        messages::report(report);
    }

    fn held(&self) -> usize {
        match &self.system {
            System::Ring(ring) => ring.aside(),
            System::Epoll(..) => 0,
        }
    }
}

impl Sockets {
    /// The file of a connection.
    fn file<'a>(&'a self, socket: &'a Socket) -> Option<BorrowedFd<'a>> {
        match (&self.system, socket) {
            (System::Ring(ring), Socket::Ring(socket)) => Some(ring.system(socket)?.as_fd()),
            (_, Socket::Epoll(stream)) => Some(stream.file()),
            _ => None,
        }
    }
}

/// Explains why there is no ring.
fn denied(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("event_loop = \"io_uring\" is not available: {error}; \"auto\" falls back to epoll"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waking_never_blocks() {
        for event_loop in [EventLoop::IoUring, EventLoop::Epoll] {
            let Ok((mut sockets, waker)) = Sockets::new(event_loop, Box::new(|_| Ok(Vec::new()))) else {
                println!("skipped: no io_uring here");
                continue;
            };
            let mut woken = || {
                let mut events = Vec::new();
                sockets.wait(Some(Duration::from_millis(20)), &mut events).unwrap();
                events.iter().any(|event| event.token == Token::Waker.encode())
            };
            // A thread that does not look must not stop another one.
            (0..10_000).for_each(|_| waker.wake());
            assert!(woken());
            while woken() {}
            waker.wake();
            assert!(woken());
        }
    }
}
