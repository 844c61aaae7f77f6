//! Requests to every server, and single requests on the servers' second connections.

use fanin_memcache::Shape;

use super::Front;
use super::clients::Kind;
use super::upstreams::ask::{Ask, Destination};
use super::upstreams::error::ServerError;
use crate::memory::table::Id;
use crate::metrics::Class;
use crate::net::Net;

impl<N: Net> Front<N> {
    /// Sends a request to every server of the client's pool, on the shared or the second connection.
    pub(super) fn ask_every(
        &mut self,
        id: Id,
        kind: Kind,
        to: fn(usize) -> Destination,
        shape: Shape,
        line: &[u8],
        alone: bool,
    ) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let servers = self.upstreams.pool(client.pool()).servers().to_vec();
        let number = client.responses.expect(kind, servers.len() as u32, 1, (self.now, Class::Other));
        self.counters.requests_active.add(1);
        let flushes = line.starts_with(b"flush_all");
        if flushes {
            self.shared.writes.flush_begins(servers.len());
        }
        for server in servers.into_iter().map(|server| server as usize) {
            let ask = Ask { changes: flushes, ..Ask::new((id, number), to(server), shape, self.now) };
            if alone {
                self.ask_alone(server, ask, line);
            } else {
                self.ask(server, ask, &[], &[line]);
            }
        }
    }

    /// Sends a single request on a server's second connection; it fails if the server does not accept it.
    pub(super) fn ask_alone(&mut self, server: usize, ask: Ask, line: &[u8]) {
        let unanswered = self.clients.get(ask.client).map_or(0, |client| client.responses.load().1);
        if let Err(trouble) = self.upstreams.queue_single(server, unanswered, ask, line) {
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
