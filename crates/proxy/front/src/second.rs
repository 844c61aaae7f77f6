//! Requests to every server, and single requests on the servers' second connections.

use fanin_memcache::Shape;

use super::Front;
use super::clients::{ClientLoad, Kind};
use super::upstreams::ask::{Ask, Destination, Recipient};
use super::upstreams::shares::NOBODY;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;
use fanin_proxy_observe::metrics::Class;

impl<N: Net> Front<N> {
    /// Sends a request to every server of the client's pool, on the shared or the second connection.
    pub(super) fn ask_every(
        &mut self,
        id: Id,
        kind: Kind,
        to: impl Fn(usize) -> Destination,
        shape: Shape,
        line: &[u8],
        alone: bool,
    ) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let servers = self.upstreams.pool(client.pool()).servers();
        let number = client.responses.expect(kind, servers.len() as u32, 1, self.now, Class::Other);
        self.counters.requests_active.add(1);
        for (server, ask) in self.asks_of_every(Recipient { client: id, number }, to, shape) {
            if alone {
                self.ask_alone(server, ask, line);
            } else {
                self.ask(server, ask, &[], &[line]);
            }
        }
    }

    /// A part of a flush has ended. After the last one, the servers flush again if values are copied between them: a value that was read at
    /// one server before it flushed may have been stored at another one since. They do not have the lease for such a value any more when
    /// they have flushed again.
    pub(super) fn part_of_flush_ends(&mut self, of: Recipient, again: bool) {
        let Recipient { client: id, number } = of;
        let Some(client) = self.clients.get_mut(id) else { return };
        if again && client.responses.parts_left(number) == 1 {
            let servers = self.upstreams.pool(client.pool()).servers();
            client.responses.more_parts(number, servers.len() as u32);
            for (server, ask) in self.asks_of_every(of, |_| Destination::Flush { again: false }, Shape::Done) {
                self.ask(server, ask, &[], &[b"flush_all\r\n"]);
            }
        }
        self.clients.get_mut(id).into_iter().for_each(|client| client.responses.part_ends(number));
    }

    /// A request for each server of the client's pool.
    fn asks_of_every(&self, of: Recipient, to: impl Fn(usize) -> Destination, shape: Shape) -> Vec<(usize, Ask)> {
        let Some(client) = self.clients.get(of.client) else { return Vec::new() };
        let servers = self.upstreams.pool(client.pool()).servers().iter().map(|server| *server as usize);
        let ask = |server| (server, Ask::new(of, to(server), shape, self.now));
        let mut asks: Vec<(usize, Ask)> = servers.map(ask).collect();
        if asks.iter().any(|(_, ask)| matches!(ask.to, Destination::Flush { .. })) {
            self.shared.writes.flush_begins(asks.len());
            asks.iter_mut().for_each(|(_, ask)| ask.changes = true);
        }
        asks
    }

    /// Sends a single request on a server's second connection; it fails if the server does not accept it.
    pub(super) fn ask_alone(&mut self, server: usize, ask: Ask, line: &[u8]) {
        let client = self.clients.get(ask.client);
        let load = client.map_or(ClientLoad::default(), |client| client.responses.load());
        let ask = Ask { tenant: client.map_or(NOBODY, |client| client.tenant().number), ..ask };
        if let Err(trouble) = self.upstreams.queue_single(server, load, ask, line) {
            self.fails(server, &ask, trouble, false);
        }
    }

    /// Fails single requests that have waited longer than the timeout.
    pub(super) fn fail_expired_requests(&mut self, server: usize) {
        while let Some(ask) = self.upstreams.server_mut(server).expired_single(self.now) {
            self.fails(server, &ask, ServerError::Timeout, false);
        }
    }
}
