//! Addresses of listeners and servers.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An address: of TCP, or of a UNIX socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// IP address and port.
    Ip(SocketAddr),
    /// Path of a UNIX socket.
    Unix(PathBuf),
}

impl Address {
    /// IP address and port, unless it is a UNIX socket.
    pub fn ip(&self) -> Option<SocketAddr> {
        match self {
            Address::Ip(address) => Some(*address),
            Address::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Ip(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
