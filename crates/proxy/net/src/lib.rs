//! Network of one thread: non-blocking connections and their events, clock, and batching delay.
//!
//! [`Net`] is the interface; `sockets` implements it, and tests simulate it with their own clock. It can be decorated: a network that wraps
//! another may encrypt bytes, hold them back, and exchange bytes of its own.

mod address;
pub mod backoff;
pub mod budget;
mod endings;
mod entry;
mod host;
mod outgoing;
pub mod pace;
pub mod secure;
pub mod sockets;
pub mod stream;
mod target;
pub mod users;

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use address::Address;
pub use entry::Entry;
pub use fanin_proxy_core::token::Token;
pub use fanin_proxy_observe::metrics::Tcp;
pub use outgoing::Outgoing;
pub use target::Target;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::tenants::{Identity, Tenant};
use fanin_proxy_observe::messages::Report;
use fanin_ring::Event;

/// Bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// How many; zero at the end of the stream.
    pub count: usize,
    /// Whether to read again without waiting for an event. A short read alone does not mean that nothing more is there.
    pub more: bool,
}

/// Pause before accepting again after running out of file descriptors.
pub const ACCEPT_PAUSE: Nanos = 100_000_000;

/// A network.
pub trait Net {
    /// A connection before registration.
    type Stream;
    /// A registered connection.
    type Socket;

    /// Name of the event loop.
    fn name(&self) -> &'static str;

    /// Begins a loop iteration at this time.
    fn begin_turn(&mut self, _: Nanos) {}

    /// Events of connections that have waited for this iteration, because of their [budget](budget) in the last one.
    fn take_waiting(&mut self) -> Vec<Event> {
        Vec::new()
    }

    /// Whether connections wait for the next iteration.
    fn has_waiting(&self) -> bool {
        false
    }

    /// Whether a connection may work in this iteration; if not, an event follows in the next one. Reads ask by themselves.
    fn may_work(&mut self, _: &mut Self::Socket) -> bool {
        true
    }

    /// A client's connection belongs to this tenant.
    fn belongs_to(&mut self, _: &mut Self::Socket, _: Arc<Tenant>) {}

    /// Who a client is, once that is known better than by its connection's address: returned once.
    fn identity(&mut self, _: &mut Self::Socket) -> Option<Identity> {
        None
    }

    /// Counts work of a connection besides reads, in units of [`budget`].
    fn works(&mut self, _: &mut Self::Socket, _work: u64) {}

    /// A client to close, because it takes too long until its requests can be read; each is returned once.
    fn next_overdue(&mut self) -> Option<Token> {
        None
    }

    /// The next time at which there may be such a client.
    fn next_due(&self) -> Option<Nanos> {
        None
    }

    /// Listens at an address; connections are events with the listener's number.
    ///
    /// # Errors
    /// The thread has no socket for it.
    fn listen(&mut self, listener: usize, at: &Address) -> io::Result<()>;

    /// Accepts a connection with these requirements; `WouldBlock` if there is none.
    ///
    /// # Errors
    /// Accepting failed, for example without free file descriptors.
    fn accept(&mut self, listener: usize, entry: &Arc<Entry>) -> io::Result<Self::Stream>;

    /// Stops listening.
    fn unlisten(&mut self, listener: usize);

    /// Starts to connect.
    ///
    /// # Errors
    /// The connection cannot be opened.
    fn connect(&mut self, to: &Arc<Target>) -> io::Result<Self::Stream>;

    /// IP address of a connection's peer; none for a UNIX socket.
    ///
    /// # Errors
    /// The connection has ended.
    fn peer(&self, _: &Self::Stream) -> io::Result<Option<IpAddr>> {
        Ok(None)
    }

    /// Sends a text, if that is possible at once, and closes the connection.
    fn refuse(&mut self, stream: Self::Stream, text: &[u8]);

    /// Registers a connection, which may still be opening, under an event token.
    ///
    /// # Errors
    /// Registration failed.
    fn add(&mut self, stream: Self::Stream, token: Token, opening: bool) -> io::Result<Self::Socket>;

    /// Continues to open a connection after an event, which may take several exchanges of bytes; returns whether it is open. The reader
    /// then reads once without another event.
    ///
    /// # Errors
    /// Connecting failed.
    fn is_open(&mut self, socket: &mut Self::Socket) -> io::Result<bool>;

    /// Reads available bytes. May also write, and may hold bytes back for the next read.
    ///
    /// # Errors
    /// `WouldBlock` if there are none, or if the connection's work has to wait for the next iteration; or the connection's error.
    fn read(&mut self, socket: &mut Self::Socket, into: &mut [u8]) -> io::Result<Received>;

    /// Writes as much as possible; an event signals when more is possible. Called after each event that signals this, even without output.
    ///
    /// # Errors
    /// The connection's error.
    fn write(&mut self, socket: &mut Self::Socket, out: &mut Outgoing) -> io::Result<()>;

    /// TCP's figures of a connection, if it is one of TCP.
    fn tcp(&self, _socket: &Self::Socket) -> Option<Tcp> {
        None
    }

    /// The certificate (DER) that the peer of an open connection has presented; none without TLS.
    fn certificate<'a>(&self, _: &'a Self::Socket) -> Option<&'a [u8]> {
        None
    }

    /// Limits the rate at which TCP sends on a connection, in bytes per second, if it can.
    fn limit_pacing(&mut self, _: &Self::Socket, _rate: u64) {}

    /// Whether another process can continue a connection: it has no state here besides unread bytes.
    fn is_portable(&self, _: &Self::Socket) -> bool {
        false
    }

    /// Stops to receive on a portable connection without output; returns whether it has stopped. If it has not, an event follows when it
    /// has, and receiving goes on unless this is then called again.
    fn stop_receiving(&mut self, _: &mut Self::Socket) -> bool {
        false
    }

    /// Gives up a connection that has stopped to receive; returns its file, and the bytes that were received but not read.
    ///
    /// # Errors
    /// The system refuses.
    fn release(&mut self, socket: Self::Socket) -> io::Result<(OwnedFd, Vec<u8>)> {
        self.close(socket);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes a connection that another process has given up, and that has met all requirements.
    ///
    /// # Errors
    /// It is no connection.
    fn adopt(&mut self, _: OwnedFd) -> io::Result<Self::Stream> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Closes a connection.
    fn close(&mut self, socket: Self::Socket);

    /// Closes this side of a connection, and drops `held` when the peer has closed its side: then it has executed what it had received.
    fn finish(&mut self, socket: Self::Socket, held: Arc<()>);

    /// Prints a message for operators.
    fn tell(&mut self, text: &str);

    /// Prints a report for operators.
    fn report(&mut self, report: &Report<'_>) {
        self.tell(&report.to_string());
    }

    /// Received bytes not yet read.
    fn held(&self) -> usize;

    /// Memory that a connection takes here.
    fn holds(&self, _: &Self::Socket) -> usize {
        0
    }
}
