//! ICTCP at the hosts of a run: windows by connection.

use std::collections::BTreeMap;

use fanin_fabric::HostId;
use fanin_laws::receiver::ictcp::{Connection, Host, Params};
use fanin_units::{Rate, Time};

use super::arrived::Arrived;
use crate::slot::Slot;

/// A receiver's estimate of its round trip from received data: the least time in which more arrived than it had advertised,
/// whose last part must be a response to an ACK sent in the meantime.
#[derive(Clone, Copy)]
struct RoundTrip {
    least: Time,
    began: Time,
    /// Bytes that may still arrive before that.
    left: u32,
}

impl RoundTrip {
    const UNKNOWN: RoundTrip = RoundTrip { least: Time::NEVER, began: Time::NEVER, left: 0 };

    /// Count data received under this window.
    fn note(&mut self, now: Time, payload: u32, window: u32) {
        if self.began != Time::NEVER && payload <= self.left {
            self.left -= payload;
            return;
        }
        if self.began != Time::NEVER {
            self.least = self.least.min(now.since(self.began));
        }
        (self.began, self.left) = (now, window);
    }

    /// The round trip of its own packets, which may be small, is a lower bound.
    fn known(&self, own: Time) -> Time {
        if self.least == Time::NEVER { own } else { self.least.max(own) }
    }
}

/// One end of a connection: its host, and its window.
struct End {
    host: u32,
    connection: Connection,
    round_trip: RoundTrip,
}

/// All hosts of a run.
pub(super) struct Ictcp {
    settings: Params,
    mss: u32,
    /// The endpoints' own window.
    window: u32,
    /// Hosts with connections.
    hosts: BTreeMap<u32, Host>,
    /// By slot.
    ends: Vec<Option<End>>,
}

impl Ictcp {
    /// Hosts without connections.
    pub fn new(settings: Params, mss: u32, window: u32) -> Ictcp {
        Ictcp { settings, mss, window, hosts: BTreeMap::new(), ends: Vec::new() }
    }

    /// Open a connection at a host on a link of this rate, in a slot that may be reused.
    pub fn open(&mut self, slot: Slot, host: HostId, rate: Rate) {
        if self.ends.len() <= slot.index() {
            self.ends.resize_with(slot.index() + 1, || None);
        }
        if let Some(over) = self.ends[slot.index()].take()
            && let Some(host) = self.hosts.get_mut(&over.host)
        {
            over.connection.close(host);
        }
        let new = || Host::new(&self.settings, rate, self.mss);
        let law = self.hosts.entry(host.0).or_insert_with(new);
        let connection = Connection::new(law, self.window);
        self.ends[slot.index()] = Some(End { host: host.0, connection, round_trip: RoundTrip::UNKNOWN });
    }

    /// A packet has arrived.
    pub fn receive(&mut self, slot: Slot, now: Time, arrived: &Arrived) {
        if let Some(End { host, connection, round_trip }) = &mut self.ends[slot.index()]
            && let Some(host) = self.hosts.get_mut(host)
        {
            if arrived.payload > 0 {
                round_trip.note(now, arrived.payload, connection.window());
            }
            connection.receive(host, now, arrived.bytes, arrived.payload, round_trip.known(arrived.own));
        }
    }

    /// Maximum window of the endpoint in a slot.
    pub fn window(&self, slot: Slot) -> u32 {
        self.ends[slot.index()].as_ref().map_or(u32::MAX, |end| end.connection.window())
    }
}
