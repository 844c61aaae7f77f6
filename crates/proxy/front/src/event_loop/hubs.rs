//! Hubs: their actions, and the connections to agents.

use fanin_memcache::Shape;
use fanin_ring::Event;

use crate::Front;
use crate::hubs::HubAction;
use crate::migrations::{Owner, Whose};
use crate::upstreams::ask::{Ask, Destination, Recipient};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

impl<N: Net> Front<N> {
    /// Gives a new multiget's keys to hubs, where their racks have some.
    pub(crate) fn ask_hubs(&mut self, slot: usize, get: Id) {
        if !self.hubs.has(slot) {
            return;
        }
        let Some(multiget) = self.multigets.get_mut(get) else { return };
        if self.clients.get(multiget.client).is_none_or(|client| client.responses.waits_for_changes()) {
            // An agent's get would overtake the client's own changes, which are on this front end's connections to the servers.
            return;
        }
        let Some(keys) = self.hubs.keys_of(slot, multiget, &self.upstreams) else { return };
        self.hubs.request(slot, get, multiget, keys, &self.upstreams, &mut self.context);
        self.act_for_hubs(slot);
    }

    /// Carries out the outputs of a pool's front end of `roles`, until there are none.
    fn act_for_hubs(&mut self, slot: usize) {
        while let Some(mut out) = self.hubs.begin_acts(slot) {
            for output in out.drain(..) {
                let action = self.hubs.act(slot, output, &self.upstreams, &self.context);
                action.into_iter().for_each(|action| self.carry_out_for_hubs(slot, action));
            }
            self.hubs.end_acts(slot, out, self.upstreams.pool(slot), self.context.now);
        }
    }

    /// Carries out an action of a pool's hubs.
    fn carry_out_for_hubs(&mut self, slot: usize, action: HubAction) {
        match action {
            HubAction::Settle { of, settled, failed } => self.batch_settles(of, settled, failed),
            HubAction::ReadAtPrimary { of, key, asked } => {
                let client = self.multigets.get(of.get).map_or(Id::NOBODY, |multiget| multiget.client);
                let owner = Owner { client, whose: Whose::Batch { get: of.get, batch: of.batch, slot: of.place } };
                let of_pool = self.migrations.of_pool(slot, &self.upstreams);
                let migration = of_pool.read_at_primary(owner, key, asked, &self.context);
                self.begin_migration(migration);
            }
            HubAction::Ask { direct, server: None, .. } => self.direct_ends(direct, Some(ServerError::Down)),
            HubAction::Ask { direct, server: Some(server), get, key } => {
                let client = get.and_then(|get| Some(self.multigets.get(get)?.client));
                self.context.counters.hub_keys_direct.add(1);
                let server = self.upstreams.pool(slot).server(server);
                // Not part of a client's response.
                let recipient = Recipient::apart(client.unwrap_or(Id::NOBODY));
                let ask = Ask::new(recipient, Destination::Direct(direct), Shape::Values, self.context.now);
                let command: &[u8] = if key.with_cas { b"gets " } else { b"get " };
                let key = key.key.bytes();
                self.ask(server, ask, key, &[command, key, b"\r\n"]);
            }
        }
    }

    /// A memcached has answered a request for a key that no hub has answered, or has failed.
    pub(crate) fn direct_ends(&mut self, id: Id, failed: Option<ServerError>) {
        if let Some(slot) = self.hubs.direct_ends(id, failed, &self.upstreams, self.context.now) {
            self.act_for_hubs(slot);
        }
    }

    /// Work of hubs that is due.
    pub(crate) fn hub_timers(&mut self) {
        if self.hubs.is_empty() {
            return;
        }
        for slot in self.hubs.slots() {
            self.hubs.due(slot, self.upstreams.pool(slot), self.context.now);
            self.act_for_hubs(slot);
        }
        self.hubs.connections_due(&self.upstreams, &mut self.context);
    }

    pub(crate) fn agent_event(&mut self, token: usize, event: &Event) {
        let buffer = &mut self.scratch.bytes;
        if let Some(slot) = self.hubs.event(token, event, buffer, &self.upstreams, &mut self.context) {
            self.act_for_hubs(slot);
        }
    }

    /// Writes to the agents that have output.
    pub(crate) fn flush_agents(&mut self) {
        for at in self.hubs.take_marked() {
            if self.hubs.write(at, &self.upstreams, &mut self.context) {
                self.act_for_hubs(at.slot);
            }
        }
    }
}
