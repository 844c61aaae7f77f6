//! Data server of an agent: looks up keys of its own memcached for the front ends that request them, and sends the values one after
//! another at the rate of its link, in the order of PICC's Algorithm 3 (INFOCOM 2018, section III-C).

use fanin_roles::data_server::Lookup;
use fanin_roles::wire::{Item, ItemKey, Part};
use fanin_roles::{Body, Message, Output};
use fanin_units::Time;

use super::memcached::Asker;
use super::{Agent, BEHIND, WAITING};
use fanin_proxy_core::clock::nanos;
use fanin_proxy_net::Net;
use fanin_proxy_peers::{ItemBody, SEGMENT};

impl<N: Net> Agent<N> {
    /// Looks a key up in the agent's own memcached.
    pub(super) fn look_up(&mut self, lookup: Lookup<ItemKey>) {
        self.serving.begins(lookup.asker);
        let key = lookup.key.clone();
        self.fetch(Some(self.settings.server), key, Asker::Server(Box::new(lookup)));
    }

    /// Queues the result of a lookup. A value for which there is no room is lost, and the front end requests it elsewhere.
    pub(super) fn looked_up(&mut self, lookup: &Lookup<ItemKey>, body: ItemBody) {
        let (now, before) = (self.time(), self.out.len());
        match body {
            Body::Object(item) if self.serving.waiting() + item.len() as u64 <= self.settings.memory.0 / WAITING => {
                self.serving.waits(item.len() as u64);
                self.machine.found(now, lookup, Some(item), &mut self.out);
            }
            Body::Miss => self.machine.found(now, lookup, None, &mut self.out),
            _ => self.machine.lookup_failed(now, lookup, &mut self.out),
        }
        self.responses_leave(before);
    }

    /// Sends the next responses, if the last one has left.
    pub(super) fn go_on_serving(&mut self) {
        while self.serving.next_due().is_some_and(|at| at <= self.now) {
            self.serving.has_sent();
            let (now, before) = (self.time(), self.out.len());
            self.machine.sent(now, &mut self.out);
            self.responses_leave(before);
        }
    }

    /// Sends the responses among the last outputs. Those to front ends that are gone take no time of the link.
    fn responses_leave(&mut self, before: usize) {
        for output in self.out.split_off(before) {
            let Output::Send { to, message, .. } = &output else {
                self.out.push(output);
                continue;
            };
            self.serving.leaves(*to, if let Body::Object(item) = &message.body { item.len() as u64 } else { 0 });
            let Some(id) = self.by_node.get(to).copied() else { continue };
            let time = nanos(self.time_of(message));
            let Some(peer) = self.peers.get_mut(id) else { continue };
            peer.put(message);
            self.counters.server_objects.add(u64::from(matches!(message.body, Body::Object(_))));
            self.serving.takes(self.now.saturating_sub(nanos(BEHIND)), time);
            self.mark(id);
        }
    }

    /// Time of a message on the link.
    fn time_of(&self, message: &Message<ItemKey, Item>) -> Time {
        let (room, overhead) = SEGMENT;
        let len = message.len() as u64;
        self.settings.link.time_for(len + len.div_ceil(room.into()) * u64::from(overhead))
    }
}
