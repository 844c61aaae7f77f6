//! Multigets through hubs: their keys go to the front end of `roles`, whose messages go to agents; its answers settle the keys.
//!
//! Keys whose rack has no connected agent stay with the concurrency limit, as in pools without hubs. A key for which no hub has answered is
//! requested from its memcached.

use std::collections::BTreeSet;
use std::sync::Arc;

use fanin_memcache::Shape;
use fanin_ring::Event;
use fanin_roles::wire::{Item, ItemKey, Key, OBJECTS};
use fanin_roles::{Body, Message, Node, Output, Tag};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::Front;
use super::delivery::TOO_LARGE;
use super::hubs::{AgentAt, Direct, HubKey, HubRequest, Place, PoolHubs};
use super::key_migration::{Owner, Whose};
use super::multigets::{Retrieval, Settled};
use super::response::END;
use super::upstreams::ask::{Ask, Destination, Recipient};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;
use fanin_proxy_peers::{ItemMessage, PeerError, value_line};

/// Requests and answers.
impl<N: Net> Front<N> {
    /// Gives a new multiget's keys to hubs, where their racks have some.
    pub(super) fn ask_hubs(&mut self, slot: usize, get: Id) {
        if !self.hubs.has(slot) {
            return;
        }
        let fits = |keys: &Vec<HubKey>| (1..=OBJECTS).contains(&keys.len());
        let Some(keys) = self.keys_for_hubs(slot, get).filter(fits) else { return };
        let Some(multiget) = self.multigets.get_mut(get) else { return };
        for batch in keys.chunk_by(|one, other| one.0.0 == other.0.0) {
            multiget.waits_for(batch[0].0.0, batch.len());
        }
        self.note_servers(slot, get, &keys);
        self.counters.hub_requests.add(1);
        self.counters.hub_keys.add(keys.len() as u64);
        let mut random = SmallRng::seed_from_u64(self.upstreams.random());
        let mut draw = |below: u32| random.random_range(0..below);
        let wanted = keys.iter().map(|(_, key)| key.clone());
        let pool = self.upstreams.pool(slot);
        let members = pool.members().clone();
        let has_entries = pool.has_replicas() || pool.plan_state().is_some();
        let replicas = if has_entries { pool.shared.settings.replicas } else { 0 };
        let Some(number) = self.hubs.ask(slot, pool, self.now, wanted, &mut draw) else { return };
        if let Some(hubs) = self.hubs.get_mut(slot) {
            hubs.requests.insert(number, HubRequest::new(get, keys, members, replicas));
        }
        self.act_for_hubs(slot);
    }

    /// The keys of a multiget whose racks have a connected agent with some of them.
    fn keys_for_hubs(&self, slot: usize, get: Id) -> Option<Vec<HubKey>> {
        let (hubs, multiget) = (self.hubs.get(slot)?, self.multigets.get(get)?);
        let with_cas = match multiget.retrieval() {
            Retrieval::Plain => false,
            Retrieval::WithCas => true,
            Retrieval::Touch => return None,
        };
        if with_cas && self.upstreams.pool(slot).has_replicas() {
            // Copies have other ones.
            return None;
        }
        if multiget.plan_state().is_some() {
            // Keys between two servers.
            return None;
        }
        if self.clients.get(multiget.client).is_none_or(|client| client.responses.waits_for_changes()) {
            // An agent's get would overtake the client's own changes, which are on this front end's connections to the servers.
            return None;
        }
        let pool = self.upstreams.pool(slot);
        // A hub has requested keys itself. Which replicas are requested is not known yet.
        let servers = (0..multiget.batches() as u32).map(|batch| multiget.server_of(batch));
        let racks = match pool.has_replicas() {
            true => hubs.connected_racks(),
            false => servers.filter_map(|server| hubs.rack_of_hub(server)).collect(),
        };
        let has_hub = |server: usize| hubs.rack(server).is_some_and(|rack| racks.contains(&rack));
        let mut keys = Vec::new();
        for batch in 0..multiget.batches() as u32 {
            let before = keys.len();
            multiget.each_of(batch, |place, key, _| {
                let has_hub = match pool.has_replicas() {
                    true => has_hub(pool.members().primary(&pool.router, key)),
                    false => has_hub(multiget.server_of(batch)),
                };
                // The agents' protocol lacks some keys that old clients send.
                let key = if has_hub { Key::new(bytes::Bytes::copy_from_slice(key)) } else { None };
                keys.extend(key.map(|key| ((batch, place), ItemKey { with_cas, key })));
            });
            // All keys of a batch, or none.
            if keys.len() - before < multiget.keys_of(batch) {
                keys.truncate(before);
            }
        }
        Some(keys)
    }

    /// Carries out the outputs of a pool's front end of `roles`, until there are none.
    fn act_for_hubs(&mut self, slot: usize) {
        while let Some(mut out) = self.hubs.begin_acts(slot) {
            let mut lost = BTreeSet::new();
            for output in out.drain(..) {
                match output {
                    Output::Send { to, message: Message { tag, index, body: Body::Get(key) }, .. } => {
                        self.ask_directly(slot, tag, index, key, to);
                    }
                    Output::Send { to, message, .. } => {
                        if !self.send_to_agent(slot, to, &message) {
                            lost.insert(to);
                        }
                    }
                    Output::Answer { request, index, holder, value } => {
                        self.hub_answers(slot, request, index, holder, Some(value));
                    }
                    Output::Miss { request, index, holder } => {
                        self.hub_answers(slot, request, index, holder, None);
                    }
                    Output::Fail { request, index } => self.hub_fails(slot, request, index),
                    Output::Done { request } => {
                        if let Some(hubs) = self.hubs.get_mut(slot) {
                            hubs.remove(request);
                        }
                    }
                    // A front end looks nothing up.
                    Output::Look(_) => {}
                }
            }
            self.hubs.end_acts(slot, out);
            for node in lost {
                self.hubs.lose(slot, self.upstreams.pool(slot), self.now, node);
            }
        }
    }

    /// A value has come, or a server does not have a key.
    fn hub_answers(&mut self, slot: usize, request: u32, index: u32, holder: Option<Node>, value: Option<Item>) {
        let Some((get, (batch, place), key)) = self.hub_key(slot, request, index) else { return };
        let bytes = key.key.bytes();
        if self.is_provisional(slot, request, bytes, holder, value.as_ref()) {
            let client = self.multigets.get(get).map_or(Id::NOBODY, |multiget| multiget.client);
            let owner = Owner { client, whose: Whose::Batch { get, batch, slot: place } };
            let asked = holder.and_then(|holder| self.hubs.get(slot)?.server(holder));
            return self.read_at_primary(slot, owner, bytes.to_vec(), asked);
        }
        let longest = self.upstreams.server(self.upstreams.pool(slot).server(0)).longest_answer as usize;
        let (settled, failed) = match value {
            Some(item) if item.value.len() + END.len() > longest => (Settled::Missed, Some(TOO_LARGE)),
            Some(item) => (Settled::Value(value_line(bytes, &item).into()), None),
            None => (Settled::Missed, None),
        };
        self.counters.errors_refused.add(u64::from(failed.is_some()));
        self.batch_settles(get, batch, (place, settled), failed);
    }

    /// Whether an answer for a key with replicas may not be the key's value: other servers are in use by now, a copy lacks the key, or its
    /// empty value is a lease.
    fn is_provisional(
        &self,
        slot: usize,
        request: u32,
        key: &[u8],
        holder: Option<Node>,
        value: Option<&Item>,
    ) -> bool {
        let pool = self.upstreams.pool(slot);
        let Some(hubs) = self.hubs.get(slot).filter(|_| pool.has_replicas()) else { return false };
        let members = hubs.requests.get(&request).map(|request| &request.members);
        if members.is_none_or(|members| !Arc::ptr_eq(members, pool.members())) {
            return true;
        }
        let asked = holder.and_then(|holder| hubs.server(holder));
        let at_primary = || asked == Some(pool.members().primary(&pool.router, key));
        value.map_or_else(|| !at_primary(), |item| item.value.is_empty())
    }

    /// Notes the servers of a request's keys, if these do not follow from the hash alone.
    fn note_servers(&mut self, slot: usize, get: Id, keys: &[HubKey]) {
        let pool = self.upstreams.pool(slot);
        if !pool.has_replicas() && pool.plan_state().is_none() {
            return;
        }
        let racks = self.hubs.get(slot).map_or_else(BTreeSet::new, PoolHubs::connected_racks);
        for ((batch, _), key) in keys {
            let servers = match self.upstreams.pool(slot).has_replicas() {
                true => self.replicas_with_hubs(slot, key.key.bytes(), &racks),
                false => self.multigets.get(get).map(|multiget| multiget.server_of(*batch)).into_iter().collect(),
            };
            if let Some(hubs) = self.hubs.get_mut(slot) {
                hubs.note_servers(key.clone(), servers.into_iter());
            }
        }
    }

    /// The primary of a key, and its other replicas in these racks.
    fn replicas_with_hubs(&mut self, slot: usize, key: &[u8], racks: &BTreeSet<u32>) -> Vec<usize> {
        let route = self.readable(slot, key);
        let hubs = self.hubs.get(slot);
        let has_hub =
            |server: &usize| hubs.and_then(|hubs| hubs.rack(*server)).is_some_and(|rack| racks.contains(&rack));
        std::iter::once(route.primary).chain(route.copies.into_iter().filter(has_hub)).collect()
    }

    /// A key has no answer by the deadline, or its server does not answer.
    fn hub_fails(&mut self, slot: usize, request: u32, index: u32) {
        let Some((get, (batch, place), _)) = self.hub_key(slot, request, index) else { return };
        let trouble = self.hubs.get(slot).and_then(|hubs| hubs.requests.get(&request)?.trouble);
        let trouble = trouble.unwrap_or(ServerError::Timeout);
        self.counters.failed(trouble);
        let misses = self.upstreams.pool(slot).misses(trouble);
        self.batch_settles(get, batch, (place, Settled::Missed), (!misses).then_some(trouble.text()));
    }

    /// A key of a request in progress: its multiget, and its place in that.
    fn hub_key(&self, slot: usize, request: u32, index: u32) -> Option<(Id, Place, ItemKey)> {
        let request = self.hubs.get(slot)?.requests.get(&request)?;
        let (place, key) = request.keys.get(index as usize)?;
        Some((request.get, *place, key.clone()))
    }

    /// Requests a key from its memcached.
    fn ask_directly(&mut self, slot: usize, tag: Tag, index: u32, key: ItemKey, to: Node) {
        let get = self.hubs.get(slot).and_then(|hubs| Some(hubs.requests.get(&tag.request)?.get));
        let client = get.and_then(|get| Some(self.multigets.get(get)?.client));
        let direct = self.hubs.direct.insert(Direct::new(slot, tag, index, to));
        let server = self.hubs.get(slot).and_then(|hubs| hubs.server(to));
        let Some(server) = server else { return self.direct_ends(direct, Some(ServerError::Down)) };
        self.counters.hub_keys_direct.add(1);
        let server = self.upstreams.pool(slot).server(server);
        // Not part of a client's response.
        let recipient = Recipient::apart(client.unwrap_or(Id::NOBODY));
        let ask = Ask::new(recipient, Destination::Direct(direct), Shape::Values, self.now);
        let command: &[u8] = if key.with_cas { b"gets " } else { b"get " };
        let key = key.key.bytes();
        self.ask(server, ask, key, &[command, key, b"\r\n"]);
    }

    /// A memcached has answered such a request, or has failed.
    pub(super) fn direct_ends(&mut self, id: Id, failed: Option<ServerError>) {
        let Some(direct) = self.hubs.direct.remove(id) else { return };
        let (slot, from, answered) = (direct.slot, direct.from, failed.is_none());
        let request = self.hubs.get_mut(slot).and_then(|hubs| hubs.requests.get_mut(&direct.request()));
        request.into_iter().for_each(|request| request.trouble = failed.or(request.trouble));
        self.hubs.handle(slot, self.upstreams.pool(slot), self.now, from, direct.message(answered));
        self.act_for_hubs(slot);
    }
}

/// Connections to agents, and time.
impl<N: Net> Front<N> {
    /// Follows the settings: adds hubs of new pools.
    pub(super) fn install_hubs(&mut self) {
        for slot in self.upstreams.current_slots().collect::<Vec<_>>() {
            let (state, random) = (self.upstreams.pool(slot).shared.clone(), self.upstreams.random());
            self.hubs.install(&mut self.net, slot, &state, random);
        }
        self.hubs.connect(&mut self.net, self.now);
    }

    /// Work of hubs that is due.
    pub(super) fn hub_timers(&mut self) {
        if self.hubs.is_empty() {
            return;
        }
        for slot in self.hubs.slots() {
            self.hubs.due(slot, self.upstreams.pool(slot), self.now);
            self.act_for_hubs(slot);
        }
        self.hubs.mark_late(self.now);
        self.hubs.connect(&mut self.net, self.now);
        let current: Vec<usize> = self.upstreams.current_slots().collect();
        self.hubs.remove_unused(&mut self.net, |slot| current.contains(&slot));
    }

    /// Sends a message to an agent; returns whether it is connected.
    fn send_to_agent(&mut self, slot: usize, to: Node, message: &ItemMessage) -> bool {
        let Some(hubs) = self.hubs.get(slot) else { return false };
        let Some(place) = hubs.settings.racks.of_node(to) else { return false };
        let sent = self.hubs.link(AgentAt { slot, place }).is_some_and(|link| link.send(message));
        match message.body {
            // With the next request, if one follows: a hub that has sent everything has no use for it.
            Body::Over if sent => self.hubs.write_later(self.now),
            _ if sent => self.hubs.mark(AgentAt { slot, place }),
            _ => {}
        }
        sent
    }

    pub(super) fn agent_event(&mut self, token: usize, event: &Event) {
        let Some(at) = self.hubs.of_token(token) else { return };
        let Some(link) = self.hubs.link(at) else { return };
        let (node, had_failed, mut messages) = (link.node(), link.has_failed(), Vec::new());
        let writes = event.writable || !link.has_greeted();
        let result = link.event(&mut self.net, event, &mut self.scratch.bytes, &mut messages);
        if writes {
            self.hubs.mark(at);
        }
        if event.readable {
            self.hubs.hears(at.slot, self.now, node);
        }
        for message in messages {
            match (message.body, self.hubs.link(at)) {
                (Body::Load(load), Some(link)) => link.reports(load, self.now),
                (body, _) => {
                    let message = Message { body, ..message };
                    self.hubs.handle(at.slot, self.upstreams.pool(at.slot), self.now, node, message);
                }
            }
        }
        match result {
            Ok(true) if had_failed => self.tell_of_agent(at, "connected again"),
            Ok(_) => {}
            Err(error) => self.agent_fails(at, &error),
        }
        self.act_for_hubs(at.slot);
    }

    fn agent_fails(&mut self, at: AgentAt, error: &PeerError) {
        let Some(me) = self.hubs.get(at.slot).map(PoolHubs::node) else { return };
        let Some(link) = self.hubs.link(at) else { return };
        let (node, had_failed) = (link.node(), link.has_failed());
        link.fail(&mut self.net, me, self.now);
        self.hubs.note_next_connect();
        self.counters.hub_failures.add(1);
        if !had_failed {
            self.tell_of_agent(at, &format!("not connected: {error}"));
        }
        self.hubs.lose(at.slot, self.upstreams.pool(at.slot), self.now, node);
        self.act_for_hubs(at.slot);
    }

    /// Reports the state of an agent, once for all threads.
    fn tell_of_agent(&mut self, at: AgentAt, state: &str) {
        if self.thread > 0 {
            return;
        }
        let Some(link) = self.hubs.link(at) else { return };
        let (address, pool) = (link.address(), &self.upstreams.pool(at.slot).shared.settings.name);
        self.net.tell(&format!("{pool}: agent {address} is {state}"));
    }

    /// Writes to the agents that have output.
    pub(super) fn flush_agents(&mut self) {
        for at in self.hubs.take_marked() {
            let written = self.hubs.link(at).map(|link| link.write(&mut self.net));
            if let Some(Err(error)) = written {
                self.agent_fails(at, &error);
            }
        }
    }
}
