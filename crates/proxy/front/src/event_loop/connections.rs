//! Clients that come and go.

use std::io;
use std::sync::Arc;

use super::clients::Client;
use super::{Front, TOO_MANY};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::tenants::{Identity, Tenant};
use fanin_proxy_net::{Net, Token};

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
            let tenant = self.tenant_of(&stream);
            let admits =
                self.shared.admit_client(&tenant) || self.makes_place(&tenant) && self.shared.admit_client(&tenant);
            if !admits {
                self.counters.rejected_connections.add(1);
                tenant.is_cut_off();
                self.net.refuse(stream, TOO_MANY);
                continue;
            }
            self.add_client(stream, pool, tenant);
        }
    }

    /// Closes a client of a tenant that has more than its fair share, an idle one if there is one, for a client of another tenant that has
    /// less; returns whether there was one.
    fn makes_place(&mut self, tenant: &Tenant) -> bool {
        let share = self.shared.fair_share(tenant);
        if tenant.clients() >= share {
            return false;
        }
        let large = || self.clients.all().filter(|(_, client)| client.tenant().clients() > share);
        let found = large().find(|(_, client)| client.is_through()).or_else(|| large().next()).map(|(id, _)| id);
        found.into_iter().for_each(|id| self.cut_off(id));
        found.is_some()
    }

    /// The tenant of a new connection, by its address.
    pub(super) fn tenant_of(&self, stream: &N::Stream) -> Arc<Tenant> {
        self.shared.tenants.of(Identity::of_address(self.net.peer(stream).ok().flatten()))
    }

    /// Notes who a client is, once that is known better than by its address.
    pub(super) fn identify(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        if let Some(identity) = client.identity(&mut self.net) {
            let tenant = self.shared.tenants.of(identity);
            self.shared.tenants.change(client.tenant(), &tenant);
            client.belongs_to(&mut self.net, tenant);
        }
    }

    /// Adds an admitted client of a pool.
    pub(super) fn add_client(&mut self, stream: N::Stream, pool: usize, tenant: Arc<Tenant>) -> Option<Id> {
        let slot = self.clients.next_slot();
        let Ok(socket) = self.net.add(stream, Token::Client(slot), false) else {
            self.shared.tenants.release(&tenant);
            return None;
        };
        let mut client = Client::new(socket, pool, tenant.clone(), self.now);
        client.belongs_to(&mut self.net, tenant);
        self.clients.add(client);
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
        self.shared.tenants.release(client.tenant());
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
