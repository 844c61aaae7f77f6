//! Clients that come and go.

use std::io;

use super::clients::Client;
use super::{Front, TOO_MANY};
use crate::memory::table::Id;
use crate::net::{Net, Token};

impl<N: Net> Front<N> {
    /// Accepts all connections of a listener.
    pub(super) fn accept(&mut self, listener: usize) {
        while let Some(pool) = self.listening.pool(listener) {
            let stream = match self.net.accept(listener, &self.upstreams.pool(pool).shared.settings.entry) {
                Ok(stream) => stream,
                Err(error) => {
                    // There is no event for free file descriptors.
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.lifecycle.pause_accepting(self.now);
                    }
                    return;
                }
            };
            if !self.shared.admit_client() {
                self.counters.rejected_connections.add(1);
                self.net.refuse(stream, TOO_MANY);
                continue;
            }
            self.add_client(stream, pool);
        }
    }

    /// Adds an admitted client of a pool.
    pub(super) fn add_client(&mut self, stream: N::Stream, pool: usize) -> Option<Id> {
        let slot = self.clients.next_slot();
        let Ok(socket) = self.net.add(stream, Token::Client(slot), false) else {
            self.shared.release_client();
            return None;
        };
        self.clients.add(Client::new(socket, pool, self.now));
        self.upstreams.enter(pool);
        self.counters.curr_connections.add(1);
        self.counters.total_connections.add(1);
        self.clients.in_slot(slot)
    }

    /// Closes a client.
    pub(super) fn close_client(&mut self, id: Id) {
        let Some(client) = self.remove_client(id) else { return };
        self.net.close(client.into_socket());
        self.departures.iter().for_each(|departures| departures.client_left());
    }

    /// Removes a client, with all that is pending for it.
    pub(super) fn remove_client(&mut self, id: Id) -> Option<Client<N::Socket>> {
        let client = self.clients.remove(id)?;
        self.shared.release_client();
        self.counters.requests_active.less(client.responses.active());
        for get in client.responses.multigets() {
            if let Some(multiget) = self.multigets.remove(get) {
                self.multigets.recycle(multiget);
            }
        }
        self.upstreams.leave(client.pool());
        self.counters.curr_connections.less(1);
        Some(client)
    }
}
