//! Multigets through hubs: their keys go to the front end of `roles`, whose messages go to agents; its answers settle the keys.
//!
//! Keys whose rack has no connected agent stay with the concurrency limit, as in pools without hubs. A key for which no hub has answered is
//! requested from its memcached.

use std::sync::Arc;

use fanin_roles::wire::{Item, ItemKey, Key, OBJECTS};
use fanin_roles::{Body, Message, Node, Output, Tag};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::direct::Direct;
use super::{AgentAt, HubKey, HubRequest, Hubs, PoolHubs};
use crate::context::Context;
use crate::multigets::{Multiget, PlaceInBatch, Retrieval, Settled};
use crate::upstreams::Upstreams;
use crate::upstreams::pool::Pool;
use crate::upstreams::receiving::{END, TOO_LARGE};
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;
use fanin_proxy_peers::{ItemMessage, value_line};

/// Work of hubs for the event loop.
#[derive(Debug)]
pub enum HubAction {
    /// A key of a multiget has a result; or an error, which is also the client's if it is the first one.
    Settle { of: PlaceInBatch, settled: Settled, failed: Option<&'static str> },
    /// A hub's answer does not settle a key: it is to be read at its primary. The server that was asked is known or not.
    ReadAtPrimary { of: PlaceInBatch, key: Vec<u8>, asked: Option<usize> },
    /// A key of a multiget, if that is known, is to be requested from a server of the pool, if that is there.
    Ask { direct: Id, server: Option<usize>, get: Option<Id>, key: ItemKey },
}

impl<S> Hubs<S> {
    /// The keys of a multiget whose racks have a connected agent, if hubs can request it. A hub asks its servers itself, so a key whose
    /// server is not in use stays with the front end: that server may lack changes.
    pub fn keys_of(&self, slot: usize, multiget: &Multiget, upstreams: &Upstreams<S>) -> Option<Vec<HubKey>> {
        let (hubs, pool) = (self.get(slot)?, upstreams.pool(slot));
        let is_out = |server: usize| upstreams.server(pool.server(server)).is_out();
        let with_cas = match multiget.retrieval() {
            Retrieval::Plain => false,
            Retrieval::WithCas => true,
            Retrieval::Touch => return None,
        };
        if with_cas && pool.has_replicas() {
            // Copies have other ones.
            return None;
        }
        if multiget.plan_state().is_some() {
            // Keys between two servers.
            return None;
        }
        // A hub has requested keys itself. Which replicas are requested is not known yet.
        let servers = (0..multiget.batches() as u32).map(|batch| multiget.server_of(batch));
        let racks = match pool.has_replicas() {
            true => hubs.connected_racks(),
            false => servers.filter_map(|server| hubs.rack_of_hub(server)).collect(),
        };
        let has_hub = |server: usize| !is_out(server) && hubs.has_agent(server, &racks);
        let mut keys = Vec::new();
        for batch in 0..multiget.batches() as u32 {
            let before = keys.len();
            multiget.each_of(batch, |place, key, _| {
                let has_hub = match pool.has_replicas() {
                    true => has_hub(pool.primary(key)),
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
        (1..=OBJECTS).contains(&keys.len()).then_some(keys)
    }

    /// Requests these keys of a multiget, which waits for them.
    pub fn request<N: Net<Socket = S>>(
        &mut self,
        slot: usize,
        get: Id,
        multiget: &mut Multiget,
        keys: Vec<HubKey>,
        upstreams: &Upstreams<S>,
        context: &mut Context<N>,
    ) {
        for batch in keys.chunk_by(|one, other| one.0.0 == other.0.0) {
            multiget.waits_for(batch[0].0.0, batch.len());
        }
        self.note_servers(slot, multiget, &keys, upstreams, context);
        context.counters.hub_requests.add(1);
        context.counters.hub_keys.add(keys.len() as u64);
        let mut random = SmallRng::seed_from_u64(context.random());
        let mut draw = |below: u32| random.random_range(0..below);
        let wanted = keys.iter().map(|(_, key)| key.clone());
        let pool = upstreams.pool(slot);
        let members = pool.members().clone();
        let has_entries = pool.has_replicas() || pool.plan_state().is_some();
        let replicas = if has_entries { pool.shared.settings.replicas } else { 0 };
        let Some(number) = self.ask(slot, pool, context.now, wanted, &mut draw) else { return };
        if let Some(hubs) = self.get_mut(slot) {
            let role = hubs.settings.role;
            hubs.requests.insert(number, HubRequest::new(get, keys, members, replicas, role));
        }
    }

    /// Notes the servers of a request's keys, if these do not follow from the hash alone.
    fn note_servers<N: Net<Socket = S>>(
        &mut self,
        slot: usize,
        multiget: &Multiget,
        keys: &[HubKey],
        upstreams: &Upstreams<S>,
        context: &Context<N>,
    ) {
        let pool = upstreams.pool(slot);
        let Some(hubs) = self.get_mut(slot) else { return };
        if !pool.has_replicas() && pool.plan_state().is_none() {
            return;
        }
        let racks = hubs.connected_racks();
        for ((batch, _), key) in keys {
            if !pool.has_replicas() {
                hubs.note_servers(key.clone(), std::iter::once(multiget.server_of(*batch)));
                continue;
            }
            // The primary, and the other replicas in these racks.
            let route = upstreams.readable(slot, key.key.bytes(), context.writes());
            let has_hub = |server: &usize| hubs.has_agent(*server, &racks);
            let is_out = |server: &usize| upstreams.server(pool.server(*server)).is_out();
            let copies = route.copies.into_iter().filter(|copy| has_hub(copy) && !is_out(copy));
            let copies: Vec<usize> = copies.collect();
            hubs.note_servers(key.clone(), std::iter::once(route.primary).chain(copies));
        }
    }

    /// Carries out an output of a pool's front end of `roles`; returns the rest of the work for the event loop.
    pub fn act<N: Net<Socket = S>>(
        &mut self,
        slot: usize,
        output: Output<ItemKey, Item>,
        upstreams: &Upstreams<S>,
        context: &Context<N>,
    ) -> Option<HubAction> {
        match output {
            Output::Send { to, message, .. } if matches!(message.body, Body::Get(_)) => {
                self.get_from(slot, message, to, context.now)
            }
            Output::Send { to, message, .. } => {
                self.send(slot, to, &message, context);
                None
            }
            Output::Answer { request, index, holder, value } => {
                self.answer(slot, request, index, holder, Some(value), upstreams, context)
            }
            Output::Miss { request, index, holder } => {
                self.answer(slot, request, index, holder, None, upstreams, context)
            }
            Output::Fail { request, index } => self.fail(slot, request, index, upstreams.pool(slot), context),
            Output::Done { request } => {
                self.get_mut(slot).into_iter().for_each(|hubs| hubs.remove(request));
                None
            }
            // A front end looks nothing up.
            Output::Look(_) => None,
        }
    }

    /// A value has come, or a server does not have a key.
    #[expect(clippy::too_many_arguments, reason = "the fields of an output, and what it is judged by")]
    fn answer<N: Net<Socket = S>>(
        &mut self,
        slot: usize,
        request: u32,
        index: u32,
        holder: Option<Node>,
        value: Option<Item>,
        upstreams: &Upstreams<S>,
        context: &Context<N>,
    ) -> Option<HubAction> {
        let (of, key) = self.key_of(slot, request, index)?;
        let bytes = key.key.bytes();
        let pool = upstreams.pool(slot);
        if self.is_provisional(slot, request, bytes, holder, value.as_ref(), pool) {
            let asked = holder.and_then(|holder| self.get(slot)?.server(holder));
            return Some(HubAction::ReadAtPrimary { of, key: bytes.to_vec(), asked });
        }
        let longest = upstreams.server(pool.server(0)).longest_answer as usize;
        let (settled, failed) = match value {
            Some(item) if item.value.len() + END.len() > longest => (Settled::Missed, Some(TOO_LARGE)),
            Some(item) => (Settled::value(value_line(bytes, &item), item.value.len()), None),
            None => (Settled::Missed, None),
        };
        context.counters.errors_refused.add(u64::from(failed.is_some()));
        Some(HubAction::Settle { of, settled, failed })
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
        pool: &Pool,
    ) -> bool {
        let Some(hubs) = self.get(slot).filter(|_| pool.has_replicas()) else { return false };
        let members = hubs.requests.get(&request).map(|request| &request.members);
        if members.is_none_or(|members| !Arc::ptr_eq(members, pool.members())) {
            return true;
        }
        let asked = holder.and_then(|holder| hubs.server(holder));
        let at_primary = || asked == Some(pool.primary(key));
        value.map_or_else(|| !at_primary(), |item| item.value.is_empty())
    }

    /// A key has no answer by the deadline, or its server does not answer.
    fn fail<N: Net<Socket = S>>(
        &self,
        slot: usize,
        request: u32,
        index: u32,
        pool: &Pool,
        context: &Context<N>,
    ) -> Option<HubAction> {
        let (of, _) = self.key_of(slot, request, index)?;
        let trouble = self.get(slot).and_then(|hubs| hubs.requests.get(&request)?.trouble);
        let trouble = trouble.unwrap_or(ServerError::Timeout);
        context.counters.failed(trouble);
        let failed = (!pool.misses(trouble)).then_some(trouble.text());
        Some(HubAction::Settle { of, settled: Settled::Missed, failed })
    }

    /// A key of a request in progress, and its place in a multiget.
    fn key_of(&self, slot: usize, request: u32, index: u32) -> Option<(PlaceInBatch, ItemKey)> {
        let request = self.get(slot)?.requests.get(&request)?;
        let ((batch, place), key) = request.keys.get(index as usize)?;
        Some((PlaceInBatch { get: request.get, batch: *batch, place: *place }, key.clone()))
    }

    /// A key is to be requested from the agent of its server, if that is a data server, else from its memcached.
    fn get_from(&mut self, slot: usize, message: ItemMessage, to: Node, now: Nanos) -> Option<HubAction> {
        if self.ask_data_server(slot, &message, to, now) {
            return None;
        }
        let Message { tag, index, body: Body::Get(key) } = message else { return None };
        Some(self.ask_directly(slot, tag, index, key, to))
    }

    /// A key is to be requested from its memcached.
    fn ask_directly(&mut self, slot: usize, tag: Tag, index: u32, key: ItemKey, to: Node) -> HubAction {
        let get = self.get(slot).and_then(|hubs| Some(hubs.requests.get(&tag.request)?.get));
        let server = self.get(slot).and_then(|hubs| hubs.server(to));
        HubAction::Ask { direct: self.direct.insert(Direct::new(slot, tag, index, to)), server, get, key }
    }

    /// A memcached has answered such a request, or has failed; returns the pool's slot.
    pub fn direct_ends(
        &mut self,
        id: Id,
        failed: Option<ServerError>,
        upstreams: &Upstreams<S>,
        now: Nanos,
    ) -> Option<usize> {
        let direct = self.direct.remove(id)?;
        let (slot, from, answered) = (direct.slot, direct.from, failed.is_none());
        let request = self.get_mut(slot).and_then(|hubs| hubs.requests.get_mut(&direct.request()));
        request.into_iter().for_each(|request| request.trouble = failed.or(request.trouble));
        self.handle(slot, upstreams.pool(slot), now, from, direct.message(answered));
        Some(slot)
    }

    /// Sends a message to an agent. One that is not connected is lost.
    fn send<N: Net<Socket = S>>(&mut self, slot: usize, to: Node, message: &ItemMessage, context: &Context<N>) {
        let place = self.get(slot).and_then(|hubs| hubs.settings.racks.of_node(to));
        let at = place.map(|place| AgentAt { slot, place });
        let sent = at.is_some_and(|at| self.link(at).is_some_and(|link| link.send(message)));
        match (at, &message.body) {
            // With the next request, if one follows: a hub that has sent everything has no use for it.
            (Some(_), Body::Over) if sent => self.write_later(context.now),
            (Some(at), _) if sent => self.mark(at),
            _ => self.get_mut(slot).into_iter().for_each(|hubs: &mut PoolHubs<S>| hubs.is_unreachable(to)),
        }
    }
}
