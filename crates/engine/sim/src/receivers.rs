//! Receive windows set by hosts, below their endpoints: an outgoing segment carries the smaller window.

use std::collections::BTreeMap;

use fanin_fabric::{Fabric, HostId};
use fanin_laws::receiver::ictcp::{Connection, Host};
use fanin_units::Time;

use crate::network::ReceiveWindows;
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

/// All hosts of a run whose scheme has a receiver algorithm.
pub(crate) struct Receivers {
    windows: ReceiveWindows,
    /// Hosts with connections.
    hosts: BTreeMap<u32, Host>,
    /// By slot.
    ends: Vec<Option<End>>,
}

impl Receivers {
    /// Hosts without connections.
    pub fn new(windows: ReceiveWindows) -> Receivers {
        Receivers { windows, hosts: BTreeMap::new(), ends: Vec::new() }
    }

    /// Open a connection at a host, in a slot that may be reused.
    pub fn open(&mut self, slot: Slot, host: HostId, fabric: &Fabric) {
        if self.ends.len() <= slot.index() {
            self.ends.resize_with(slot.index() + 1, || None);
        }
        if let Some(over) = self.ends[slot.index()].take()
            && let Some(host) = self.hosts.get_mut(&over.host)
        {
            over.connection.close(host);
        }
        let ReceiveWindows { settings, mss, window } = &self.windows;
        let new = || Host::new(settings, fabric.host_rate(host), *mss);
        let law = self.hosts.entry(host.0).or_insert_with(new);
        let connection = Connection::new(law, *window);
        self.ends[slot.index()] = Some(End { host: host.0, connection, round_trip: RoundTrip::UNKNOWN });
    }

    /// A packet of `bytes` on the wire has arrived for an endpoint whose own packets had this round trip.
    pub fn receive(&mut self, slot: Slot, now: Time, bytes: u32, payload: u32, own: Time) {
        if let Some(End { host, connection, round_trip }) = &mut self.ends[slot.index()]
            && let Some(host) = self.hosts.get_mut(host)
        {
            if payload > 0 {
                round_trip.note(now, payload, connection.window());
            }
            connection.receive(host, now, bytes, payload, round_trip.known(own));
        }
    }

    /// Maximum window of the endpoint in a slot.
    pub fn window(&self, slot: Slot) -> u32 {
        self.ends[slot.index()].as_ref().map_or(u32::MAX, |end| end.connection.window())
    }
}
