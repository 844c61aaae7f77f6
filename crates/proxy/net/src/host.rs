//! A server's host name, whose address may change: it is looked up again when a connection is opened anew.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use fanin_proxy_core::clock::{Clock, Nanos};

/// Least time between two lookups.
const PAUSE: Nanos = 1_000_000_000;

/// Looks up a name and a port, and may block for seconds.
type Lookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// A host name with a port.
#[derive(Debug)]
pub struct Host {
    name: String,
    port: u16,
    lookup: Lookup,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    address: SocketAddr,
    looked_up: Nanos,
    is_looking: bool,
}

impl Host {
    /// A name whose address was just looked up; none if it is an IP address.
    pub fn new(name: &str, address: SocketAddr) -> Option<Arc<Host>> {
        let lookup = |name: &str, port| Ok((name, port).to_socket_addrs()?.collect());
        name.parse::<IpAddr>().is_err().then(|| Arc::new(Host::with(name, address, lookup)))
    }

    fn with(name: &str, address: SocketAddr, lookup: Lookup) -> Host {
        let state = Mutex::new(State { address, looked_up: 0, is_looking: false });
        Host { name: name.to_owned(), port: address.port(), lookup, clock: Clock::start(), state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address that was found last.
    pub fn address(&self) -> SocketAddr {
        self.state().address
    }

    /// The address to connect to now. After a second it is looked up again, in a thread of its own, for the next attempt.
    pub fn to_connect(self: &Arc<Host>) -> SocketAddr {
        let mut state = self.state();
        if !state.is_looking && state.looked_up + PAUSE <= self.clock.now() {
            let host = self.clone();
            // Without a thread, the next attempt tries again.
            state.is_looking = thread::Builder::new().name("lookup".to_owned()).spawn(move || host.look_up()).is_ok();
        }
        state.address
    }

    /// Looks the name up. An address that is still among its addresses is kept; if the lookup fails, too.
    fn look_up(&self) {
        let found = (self.lookup)(&self.name, self.port).unwrap_or_default();
        let mut state = self.state();
        if let Some(first) = found.first().filter(|_| !found.contains(&state.address)) {
            state.address = *first;
        }
        (state.looked_up, state.is_looking) = (self.clock.now(), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn address_changes_only_if_the_name_has_lost_it() {
        for (lookup, then) in [
            ((|_, _| Ok(vec![at("10.0.0.3:7"), at("10.0.0.1:7")])) as Lookup, "10.0.0.1:7"),
            (|_, port| Ok(vec![SocketAddr::from(([10, 0, 0, 2], port)), at("10.0.0.3:7")]), "10.0.0.2:7"),
            (|_, _| Err(io::ErrorKind::NotFound.into()), "10.0.0.1:7"),
            (|_, _| Ok(Vec::new()), "10.0.0.1:7"),
        ] {
            let host = Host::with("cache1", at("10.0.0.1:7"), lookup);
            host.look_up();
            assert_eq!(host.address(), at(then));
        }
    }

    #[test]
    fn connecting_looks_the_name_up_for_the_next_attempt() {
        let host = Arc::new(Host::with("cache1", at("10.0.0.1:7"), |_, port| {
            Ok(vec![SocketAddr::from(([10, 0, 0, 2], port))])
        }));
        assert_eq!(host.to_connect(), at("10.0.0.1:7"), "it was just looked up");
        fanin_testing::wait_until("the new address", || host.to_connect() == at("10.0.0.2:7"));
    }

    #[test]
    fn ip_addresses_are_no_names() {
        assert!(Host::new("10.0.0.1", at("10.0.0.1:7")).is_none() && Host::new("::1", at("[::1]:7")).is_none());
        assert!(Host::new("localhost", at("127.0.0.1:7")).is_some());
    }
}
