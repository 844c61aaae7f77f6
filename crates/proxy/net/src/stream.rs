//! Non-blocking connections and listeners, of TCP or of a UNIX socket.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};
use socket2::{Domain, Socket};

use super::address::Address;

/// A connection.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Of a UNIX socket.
    Unix(UnixStream),
}

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// For TCP.
    Tcp(TcpListener),
    /// At a UNIX socket.
    Unix(UnixListener),
}

impl Stream {
    /// Starts to connect.
    ///
    /// # Errors
    /// The connection cannot be opened; a UNIX socket with a full queue refuses at once.
    pub fn connect(to: &Address) -> io::Result<Stream> {
        match to {
            Address::Ip(address) => TcpStream::connect(*address).map(Stream::Tcp),
            Address::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
        }
    }

    /// A connection that another process has opened.
    ///
    /// # Errors
    /// It is no connection of TCP or of a UNIX socket.
    pub fn of(socket: Socket) -> io::Result<Stream> {
        socket.set_nonblocking(true)?;
        match socket.domain()? {
            Domain::UNIX => Ok(Stream::Unix(UnixStream::from_std(socket.into()))),
            Domain::IPV4 | Domain::IPV6 => Ok(Stream::Tcp(TcpStream::from_std(socket.into()))),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Whether it is open.
    ///
    /// # Errors
    /// Connecting failed.
    pub fn is_open(&self) -> io::Result<bool> {
        let (error, open) = match self {
            Stream::Tcp(stream) => (stream.take_error()?, stream.peer_addr().is_ok()),
            Stream::Unix(stream) => (stream.take_error()?, stream.peer_addr().is_ok()),
        };
        error.map_or(Ok(open), Err)
    }

    /// Its file.
    pub fn file(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }

    /// IP address of the peer; none for a UNIX socket.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn peer(&self) -> io::Result<Option<IpAddr>> {
        match self {
            Stream::Tcp(stream) => Ok(Some(stream.peer_addr()?.ip())),
            Stream::Unix(_) => Ok(None),
        }
    }

    /// Sends small writes at once.
    pub fn send_at_once(&self) {
        if let Stream::Tcp(stream) = self {
            // Without it responses would be delayed; a socket that refuses it still works.
            let _ = stream.set_nodelay(true);
        }
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => stream,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<Stream> for OwnedFd {
    fn from(stream: Stream) -> OwnedFd {
        match stream {
            Stream::Tcp(stream) => stream.into(),
            Stream::Unix(stream) => stream.into(),
        }
    }
}

impl Listener {
    /// A non-blocking listening socket at this address.
    pub fn of(address: &Address, socket: Socket) -> Listener {
        match address {
            Address::Ip(_) => Listener::Tcp(TcpListener::from_std(socket.into())),
            Address::Unix(_) => Listener::Unix(UnixListener::from_std(socket.into())),
        }
    }

    /// Accepts a connection.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; or the system's error.
    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }

    fn source(&mut self) -> &mut dyn Source {
        match self {
            Listener::Tcp(listener) => listener,
            Listener::Unix(listener) => listener,
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener) => listener.as_fd(),
        }
    }
}

macro_rules! source {
    ($($of:ty),*) => {$(
        impl Source for $of {
            fn register(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
                self.source().register(registry, token, interest)
            }

            fn reregister(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
                self.source().reregister(registry, token, interest)
            }

            fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
                self.source().deregister(registry)
            }
        }
    )*};
}

source!(Stream, Listener);
