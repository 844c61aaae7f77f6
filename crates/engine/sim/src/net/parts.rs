//! Splitting a network into parts, and joining them.

use fanin_fabric::LinkId;

use super::{End, Net};
use crate::event::{Event, Key};
use crate::link::{Departures, Link};
use crate::network::Switches;
use crate::packet::PacketMetadata;
use crate::parts::border::{Border, CrossingPacket};
use crate::parts::borders::Borders;
use crate::probe::Probe;

impl<P: Probe> Net<P> {
    /// Hand over a packet whose arrival in another part has just become known.
    pub(super) fn hand_over(&mut self, link: LinkId) {
        let (probe, metadata) = (&mut self.probe, &mut self.metadata);
        self.links[link.index()].hand_over(|due, packet| {
            probe.hand_over(link, due, packet, metadata.of(packet.beside));
            metadata.free(packet.beside);
        });
    }

    /// Behaviour of the switches of a part of the network.
    pub fn switches(&self) -> Switches {
        Switches {
            adaptive: self.adaptive,
            flow_control: self.flow_control.as_ref().map(|control| control.copy()),
            ..self.ports.switches()
        }
    }

    /// Whether departures are computed in advance.
    pub fn departures(&self) -> Departures {
        self.ports.departures()
    }

    /// Move state to the parts. Applications' timers remain.
    pub fn cut<B: Probe>(&mut self, borders: &Borders, parts: &mut [&mut Net<B>]) -> Vec<Key> {
        for id in self.fabric.link_ids() {
            let link = &mut self.links[id.index()];
            if borders.crosses(id) {
                let mut other = link.part(self.fabric.link(id));
                carry(&mut other, &mut self.metadata, &mut parts[borders.receives(id)].metadata);
                parts[borders.receives(id)].links[id.index()] = other;
            }
            let part = &mut parts[borders.sends(id)];
            carry(link, &mut self.metadata, &mut part.metadata);
            std::mem::swap(link, &mut part.links[id.index()]);
            // It delays arrivals.
            parts[borders.receives(id)].jitter.take_over(id, &mut self.jitter);
        }
        for (number, part) in parts.iter_mut().enumerate() {
            part.pauses =
                self.pauses.cut(|link| borders.receives(link) == number, |link| borders.sends(link) == number);
            part.host_of.clone_from(&self.host_of);
            part.ends = self.ends.iter().map(|&end| End { lost: 0, ..end }).collect();
            part.pools.clone_from(&self.pools);
            part.incasts = self.incasts;
        }
        let (events, keys) = self.events.emptied();
        self.events = events;
        let mut timers = Vec::new();
        for key in keys {
            match key.arrives() {
                Some(link) => parts[borders.receives(link)].await_key(key),
                None => match key.event() {
                    Event::Departure(link) | Event::Pause(link, _) => parts[borders.sends(link)].await_key(key),
                    Event::Endpoint(_, slot) => parts[borders.of_host(self.host_of(slot))].await_key(key),
                    Event::Turn(host) => parts[borders.of_host(host)].await_key(key),
                    _ => timers.push(key),
                },
            }
        }
        timers
    }

    /// Take the state back from the parts, with their counters.
    pub fn join<B: Probe>(&mut self, borders: &Borders, parts: &mut [&mut Net<B>]) {
        for id in self.fabric.link_ids() {
            let part = &mut parts[borders.sends(id)];
            std::mem::swap(&mut self.links[id.index()], &mut part.links[id.index()]);
            carry(&mut self.links[id.index()], &mut part.metadata, &mut self.metadata);
            if borders.crosses(id) {
                let part = &mut parts[borders.receives(id)];
                let hollow = Link::new(self.fabric.link(id), self.framing.gap);
                let mut other = std::mem::replace(&mut part.links[id.index()], hollow);
                carry(&mut other, &mut part.metadata, &mut self.metadata);
                self.links[id.index()].rejoin(other);
            }
            self.jitter.take_over(id, &mut parts[borders.receives(id)].jitter);
        }
        for (number, part) in parts.iter_mut().enumerate() {
            for (end, other) in self.ends.iter_mut().zip(&part.ends) {
                end.lost = end.lost.wrapping_add(other.lost);
            }
            let own = |switch| borders.of_switch(switch) == number;
            if let (Some(pools), Some(other)) = (&mut self.pools, &part.pools) {
                pools.take_over(other, own);
            }
            if let (Some(control), Some(copy)) = (&mut self.flow_control, part.flow_control.take()) {
                control.take_over(copy, &own);
            }
            self.pauses.join(std::mem::take(&mut part.pauses));
            if self.incasts.link().is_some_and(|link| borders.sends(link) == number) {
                self.incasts = part.incasts;
            }
            self.beside_drops += part.beside_drops;
            self.injected += part.injected;
            self.delivered += part.delivered;
            self.hops += part.hops;
            let (_, keys) = part.events.emptied();
            keys.into_iter().for_each(|key| self.await_key(key));
        }
    }

    /// Insert a key taken from another queue of the same network.
    fn await_key(&mut self, key: Key) {
        match key.arrives() {
            Some(link) => self.events.push(link.index(), key),
            None => match key.event() {
                Event::Departure(link) => self.events.push(self.links.len() + link.index(), key),
                _ => self.events.push_far(key),
            },
        }
    }
}

/// Move the metadata of a link's packets along.
fn carry(link: &mut Link, from: &mut PacketMetadata, to: &mut PacketMetadata) {
    link.each_packet(|packet| {
        let handle = to.keep(from.of(packet.beside));
        from.free(packet.beside);
        packet.beside = handle;
    });
}

impl Net<Border> {
    /// Accept a packet from another part.
    pub fn take_over(&mut self, handed: &CrossingPacket) {
        let CrossingPacket { link, due, ref packet, .. } = *handed;
        let beside = self.metadata.keep(handed.beside());
        if let Some(due) = self.links[link.index()].take_over(due, packet, beside) {
            self.await_arrival(link, due, !self.fabric.is_downlink(link));
        }
    }
}
