//! Grants at the hosts of a run: right edges by connection, and ACKs for those whose turn has come.

use std::collections::BTreeMap;

use fanin_fabric::HostId;
use fanin_laws::receiver::grants::{Arrival, Host, Params};
use fanin_units::{Rate, Time};

use super::arrived::Arrived;
use crate::slot::Slot;

/// Sequence number of a connection's first byte; the SYN is number 0.
const FIRST: u32 = 1;

/// A host, with the slots of its connections by their places in the algorithm.
struct AtHost {
    law: Host,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The earliest deadline that the event queue has.
    armed: Time,
}

/// One end of a connection: its host, and its place there.
#[derive(Clone, Copy)]
struct End {
    host: u32,
    place: u32,
}

/// All hosts of a run.
pub(super) struct Grants {
    settings: Params,
    mss: u32,
    hosts: BTreeMap<u32, AtHost>,
    /// By slot.
    ends: Vec<Option<End>>,
}

impl Grants {
    /// Hosts without connections.
    pub fn new(settings: Params, mss: u32) -> Grants {
        Grants { settings, mss, hosts: BTreeMap::new(), ends: Vec::new() }
    }

    /// Open a connection at a host on a link of this rate, in a slot that may be reused.
    pub fn open(&mut self, slot: Slot, host: HostId, rate: Rate) {
        if self.ends.len() <= slot.index() {
            self.ends.resize(slot.index() + 1, None);
        }
        if let Some(over) = self.ends[slot.index()].take()
            && let Some(at) = self.hosts.get_mut(&over.host)
        {
            at.law.close(over.place);
            at.free.push(over.place);
        }
        let new = || AtHost {
            law: Host::new(&self.settings, rate, self.mss),
            slots: Vec::new(),
            free: Vec::new(),
            armed: Time::NEVER,
        };
        let at = self.hosts.entry(host.0).or_insert_with(new);
        let place = at.free.pop().unwrap_or(at.slots.len() as u32);
        match at.slots.get_mut(place as usize) {
            Some(old) => *old = slot,
            None => at.slots.push(slot),
        }
        at.law.open(place, FIRST, slot.is_opener());
        self.ends[slot.index()] = Some(End { host: host.0, place });
    }

    fn with<R>(&mut self, slot: Slot, act: impl FnOnce(&mut AtHost, u32) -> R) -> Option<R> {
        let End { host, place } = (*self.ends.get(slot.index())?)?;
        self.hosts.get_mut(&host).map(|at| act(at, place))
    }

    /// A packet has arrived.
    pub fn receive(&mut self, slot: Slot, now: Time, arrived: &Arrived) {
        let Arrived { seq, payload, own: rtt, opens, closes, .. } = *arrived;
        self.with(slot, |at, place| match () {
            () if opens => at.law.connect(place),
            () => {
                at.law.receive(now, place, &Arrival { seq, payload, rtt });
                if closes {
                    at.law.close(place);
                }
            }
        });
    }

    /// The end in a slot opens its connection.
    pub fn connect(&mut self, slot: Slot) {
        self.with(slot, |at, place| at.law.connect(place));
    }

    /// The end in a slot sends data.
    pub fn send(&mut self, slot: Slot, now: Time) {
        self.with(slot, |at, place| at.law.send(now, place));
    }

    /// The end in a slot has sent a segment.
    pub fn announce(&mut self, slot: Slot) {
        self.with(slot, |at, place| at.law.announce(place));
    }

    /// The next end at a host that has to announce its grant.
    pub fn next_woken(&mut self, host: HostId) -> Option<Slot> {
        let at = self.hosts.get_mut(&host.0)?;
        at.law.next_woken().map(|place| at.slots[place as usize])
    }

    /// A deadline before all that the event queue has for this host.
    pub fn next_deadline(&mut self, host: HostId) -> Option<Time> {
        let at = self.hosts.get_mut(&host.0)?;
        let deadline = at.law.deadline();
        let is_earlier = deadline < at.armed;
        at.armed = at.armed.min(deadline);
        is_earlier.then_some(deadline)
    }

    /// A deadline that the event queue had has come.
    pub fn expire(&mut self, host: HostId, now: Time) {
        if let Some(at) = self.hosts.get_mut(&host.0).filter(|at| at.armed <= now) {
            at.armed = Time::NEVER;
            at.law.expire(now);
        }
    }

    /// The right edge that is granted to the end in a slot.
    pub fn edge(&self, slot: Slot) -> Option<u32> {
        let End { host, place } = (*self.ends.get(slot.index())?)?;
        Some(self.hosts.get(&host)?.law.edge(place))
    }
}
