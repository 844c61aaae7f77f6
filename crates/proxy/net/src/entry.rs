//! Requirements for the clients of a pool.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use rustls::ServerConfig;

use super::users::Users;

/// Requirements that a client must meet before its requests are read.
#[derive(Clone, Default)]
pub struct Entry {
    /// Addresses of clients that may connect; all, if the list is empty.
    pub allow: Vec<IpNet>,
    /// Whether a connection starts with a header of the PROXY protocol.
    pub proxy_protocol: bool,
    /// TLS, if clients must use it.
    pub tls: Option<Arc<ServerConfig>>,
    /// Users, if clients must log in.
    pub users: Option<Arc<Users>>,
}

impl Entry {
    /// Whether nothing is required of an accepted connection.
    pub fn is_plain(&self) -> bool {
        !self.proxy_protocol && self.tls.is_none() && self.users.is_none()
    }

    /// Whether a client may connect from this address.
    pub fn admits(&self, from: IpAddr) -> bool {
        self.allow.is_empty() || self.allow.iter().any(|network| network.contains(&from.to_canonical()))
    }
}

/// Certificates and users are read anew with every configuration, so those of another one count as changed.
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        let is_same =
            |one: &Entry, other: &Entry| one.allow == other.allow && one.proxy_protocol == other.proxy_protocol;
        let [plain, other_plain] = [self, other].map(|entry| entry.tls.is_none() && entry.users.is_none());
        plain && other_plain && is_same(self, other)
    }
}

/// Without keys.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("allow", &self.allow)
            .field("proxy_protocol", &self.proxy_protocol)
            .field("tls", &self.tls.is_some())
            .field("users", &self.users)
            .finish()
    }
}
