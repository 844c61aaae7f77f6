//! Clients that come and go.

use std::sync::Arc;

use super::Clients;
use super::client::Client;
use crate::context::Context;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::tenants::Tenant;
use fanin_proxy_net::{Net, Token};

impl<S> Clients<S> {
    /// Adds an admitted client of a pool, unless its connection has ended.
    pub fn add<N: Net<Socket = S>>(
        &mut self,
        stream: N::Stream,
        pool: usize,
        tenant: Arc<Tenant>,
        context: &mut Context<N>,
    ) -> Option<Id> {
        let slot = self.table.next();
        let Ok(socket) = context.net.add(stream, Token::Client(slot), false) else {
            context.shared.tenants.release(&tenant);
            return None;
        };
        let mut client = Client::new(socket, pool, tenant.clone(), context.now);
        client.belongs_to(&mut context.net, tenant);
        context.counters.curr_connections.add(1);
        context.counters.total_connections.add(1);
        Some(self.table.insert(client))
    }

    /// Removes a client, and counts that.
    pub fn remove<N: Net<Socket = S>>(&mut self, id: Id, context: &Context<N>) -> Option<Client<S>> {
        let client = self.table.remove(id)?;
        context.shared.tenants.release(client.tenant());
        context.counters.requests_active.less(client.responses.active());
        context.counters.curr_connections.less(1);
        Some(client)
    }

    /// A client of a tenant that has more than its fair share, an idle one if there is one, to be closed for a client of this tenant, if
    /// that has less.
    pub fn in_favour_of<N: Net<Socket = S>>(&self, tenant: &Tenant, context: &Context<N>) -> Option<Id> {
        let share = context.shared.fair_share(tenant);
        if tenant.clients() >= share {
            return None;
        }
        let large = || self.all().filter(|(_, client)| client.tenant().clients() > share);
        large().find(|(_, client)| client.is_through()).or_else(|| large().next()).map(|(id, _)| id)
    }

    /// Notes who a client is, once that is known better than by its address.
    pub fn identify<N: Net<Socket = S>>(&mut self, id: Id, context: &mut Context<N>) {
        let Some(client) = self.table.get_mut(id) else { return };
        if let Some(identity) = client.identity(&mut context.net) {
            let tenants = &context.shared.tenants;
            let tenant = tenants.of(identity);
            tenants.change(client.tenant(), &tenant);
            client.belongs_to(&mut context.net, tenant);
        }
    }

    /// Reads no more requests of any client, and closes each when its output is written.
    pub fn close_after_output(&mut self) {
        for id in self.table.ids() {
            self.table.get_mut(id).into_iter().for_each(|client| client.input.close_after_output());
            self.mark(id);
        }
    }

    /// Releases the clients of an ended thread.
    pub fn release<N: Net<Socket = S>>(&self, context: &Context<N>) {
        for (_, client) in self.all() {
            context.shared.tenants.release(client.tenant());
        }
        context.counters.curr_connections.less(self.len() as u64);
    }
}
