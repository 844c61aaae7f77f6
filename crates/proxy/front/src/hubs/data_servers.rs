//! Keys that are requested from agents as data servers (PICC). If an agent does not answer for a key, the memcached beside it does, over the
//! connection that the front end has anyway.

use std::collections::BTreeSet;

use fanin_proxy_config::AgentRole;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_peers::ItemMessage;
use fanin_roles::{Body, Message, Node, Tag};

use super::asked_agents::Asked;
use super::{AgentAt, Hubs, PoolHubs, SILENCE};
use crate::upstreams::pool::Pool;

impl<S> PoolHubs<S> {
    /// A message about an object has come from a node.
    pub(super) fn has_come(&mut self, from: Node, message: &ItemMessage) {
        let request = self.requests.get_mut(&message.tag.request);
        let asked = request.and_then(|request| request.agents.0.get_mut(&message.index));
        if let Some(asked) = asked.filter(|asked| asked.agent == from && asked.tag == message.tag) {
            asked.is_over = true;
        }
    }

    /// When an agent is silent that was asked at a time.
    fn silent_at(&self, asked: &Asked) -> Nanos {
        let heard = self.heard.get(&asked.agent).copied().unwrap_or(0);
        asked.at.max(heard) + nanos(self.state.settings.timeout) / SILENCE
    }

    /// Keys that agents are waited for.
    fn waits(&self) -> impl Iterator<Item = (u32, &Asked)> {
        let asked = self.requests.values().flat_map(|request| &request.agents.0);
        asked.filter(|(_, asked)| !asked.is_over).map(|(index, asked)| (*index, asked))
    }
}

impl<S> Hubs<S> {
    /// Requests a key from the agent of a server, if that is a data server and was not asked before; returns whether it is.
    pub(super) fn ask_data_server(&mut self, slot: usize, message: &ItemMessage, to: Node, now: Nanos) -> bool {
        let Some(hubs) = self.get_mut(slot).filter(|hubs| hubs.settings.role == AgentRole::DataServer) else {
            return false;
        };
        let place = hubs.settings.racks.of_node(to).filter(|place| hubs.links[*place].is_usable());
        let (Some(place), Some(request)) = (place, hubs.requests.get_mut(&message.tag.request)) else { return false };
        if request.agents.0.contains_key(&message.index) || !hubs.links[place].send(message) {
            return false;
        }
        let asked = Asked { agent: to, tag: message.tag, at: now, is_over: false };
        request.agents.0.insert(message.index, asked);
        hubs.look_at.get_or_insert(now + nanos(hubs.state.settings.timeout) / SILENCE);
        self.mark(AgentAt { slot, place });
        true
    }

    /// An agent does not answer as a data server: the keys that it was asked for are requested elsewhere.
    pub(super) fn data_server_lost(&mut self, slot: usize, pool: &Pool, now: Nanos, agent: Node) {
        let Some(hubs) = self.get(slot) else { return };
        let of_agent = hubs.waits().filter(|(_, asked)| asked.agent == agent);
        let lost: Vec<(u32, Tag)> = of_agent.map(|(index, asked)| (index, asked.tag)).collect();
        for (index, tag) in lost {
            self.handle(slot, pool, now, agent, Message { tag, index, body: Body::Lost });
        }
    }

    /// Looks for agents that have been silent as data servers, if that is due.
    pub(super) fn look_for_silent_data_servers(&mut self, slot: usize, pool: &Pool, now: Nanos) {
        let Some(hubs) = self.get_mut(slot).filter(|hubs| hubs.look_at.is_some_and(|at| at <= now)) else { return };
        let silent = hubs.waits().filter(|(_, asked)| hubs.silent_at(asked) <= now);
        let silent: BTreeSet<Node> = silent.map(|(_, asked)| asked.agent).collect();
        for agent in &silent {
            let place = hubs.settings.racks.of_node(*agent);
            place.into_iter().for_each(|place| hubs.links[place].is_dismissed());
        }
        for agent in silent {
            self.data_server_lost(slot, pool, now, agent);
        }
        if let Some(hubs) = self.get_mut(slot) {
            hubs.look_at = hubs.waits().map(|(_, asked)| hubs.silent_at(asked)).min();
        }
    }
}
