//! A server's address, and what it takes to be connected to it.

use std::fmt;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::address::Address;
use super::host::Host;
use super::users::User;

/// A server to connect to.
#[derive(Clone)]
pub struct Target {
    /// Its address when the settings were read.
    pub address: Address,
    /// Its name, if it has one.
    pub host: Option<Arc<Host>>,
    /// TLS, and the name that its certificate must have.
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// User as whom to log in.
    pub user: Option<Arc<User>>,
}

impl Target {
    /// A server at the address that its host, if it has one, has now; it requires nothing.
    pub fn new(address: Address, host: Option<&str>) -> Target {
        let host = host.zip(address.ip()).and_then(|(host, address)| Host::new(host, address));
        Target { address, host, tls: None, user: None }
    }

    /// Its address now.
    pub fn address_now(&self) -> Address {
        self.host.as_ref().map_or_else(|| self.address.clone(), |host| host.address().into())
    }

    /// The address to connect to.
    pub fn to_connect(&self) -> Address {
        self.host.as_ref().map_or_else(|| self.address.clone(), |host| host.to_connect().into())
    }

    /// Whether a connection to the other one may be used for this one.
    pub fn is_same_server(&self, other: &Target) -> bool {
        let requires = |target: &Target| (target.tls.is_some(), target.user.is_some());
        self.address_now() == other.address_now() && requires(self) == requires(other)
    }

    /// Whether a connection is open as soon as its socket is.
    pub fn is_plain(&self) -> bool {
        self.tls.is_none() && self.user.is_none()
    }
}

/// Certificates and passwords are read anew with every configuration, so those of another one count as changed.
impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        self.is_plain() && other.is_plain() && self.address_now() == other.address_now()
    }
}

/// Without keys.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.tls.as_ref().map(|(_, name)| name);
        f.debug_struct("Target").field("address", &self.address).field("tls", &name).field("user", &self.user).finish()
    }
}
