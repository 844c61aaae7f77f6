//! Receive windows set by hosts, below their endpoints: an outgoing segment carries the smaller window.

mod arrived;
mod grants;
mod ictcp;

use fanin_fabric::{Fabric, HostId};
use fanin_transport::{Bits, Offer};
use fanin_units::Time;

use crate::network::{ReceiveWindows, Receiving};
use crate::packet::InFlight;
use crate::slot::Slot;
use arrived::Arrived;
use grants::Grants;
use ictcp::Ictcp;

/// The algorithm of all hosts of a run.
enum Law {
    Ictcp(Ictcp),
    Grants(Grants),
}

/// All hosts of a run whose scheme has a receiver algorithm.
pub(crate) struct Receivers {
    law: Law,
}

impl Receivers {
    /// Hosts without connections.
    pub fn new(windows: ReceiveWindows) -> Receivers {
        let ReceiveWindows { law, mss, window } = windows;
        let law = match law {
            Receiving::Ictcp(settings) => Law::Ictcp(Ictcp::new(settings, mss, window)),
            Receiving::Grants(settings) => Law::Grants(Grants::new(settings, mss)),
        };
        Receivers { law }
    }

    /// Open a connection at a host, in a slot that may be reused.
    pub fn open(&mut self, slot: Slot, host: HostId, fabric: &Fabric) {
        let rate = fabric.host_rate(host);
        match &mut self.law {
            Law::Ictcp(law) => law.open(slot, host, rate),
            Law::Grants(law) => law.open(slot, host, rate),
        }
    }

    /// A packet has arrived for an endpoint whose own packets had this round trip, and takes `bytes` on the wire.
    pub fn receive(&mut self, now: Time, packet: &InFlight, bytes: u32, own: Time) {
        let (body, bits) = (&packet.packet, packet.packet.bits);
        let arrived = Arrived {
            bytes,
            payload: body.payload.into(),
            seq: body.body[0],
            opens: bits.any(Bits::OPENS),
            closes: bits.any(Bits::CLOSES | Bits::BREAKS),
            own,
        };
        match &mut self.law {
            Law::Ictcp(law) => law.receive(packet.to, now, &arrived),
            Law::Grants(law) => law.receive(packet.to, now, &arrived),
        }
    }

    /// The end in a slot is about to open its connection.
    pub fn connect(&mut self, slot: Slot) {
        if let Law::Grants(law) = &mut self.law {
            law.connect(slot);
        }
    }

    /// The end in a slot is about to send data.
    pub fn send(&mut self, slot: Slot, now: Time) {
        if let Law::Grants(law) = &mut self.law {
            law.send(slot, now);
        }
    }

    /// The end in a slot has sent a segment.
    pub fn sent(&mut self, slot: Slot) {
        if let Law::Grants(law) = &mut self.law {
            law.announce(slot);
        }
    }

    /// The next end at a host that has to send an ACK for its grant.
    pub fn next_woken(&mut self, host: HostId) -> Option<Slot> {
        match &mut self.law {
            Law::Ictcp(_) => None,
            Law::Grants(law) => law.next_woken(host),
        }
    }

    /// When to call `expire` for a host, if no call is due before.
    pub fn next_deadline(&mut self, host: HostId) -> Option<Time> {
        match &mut self.law {
            Law::Ictcp(_) => None,
            Law::Grants(law) => law.next_deadline(host),
        }
    }

    /// A deadline of a host has come.
    pub fn expire(&mut self, host: HostId, now: Time) {
        if let Law::Grants(law) = &mut self.law {
            law.expire(host, now);
        }
    }

    /// Limit of the window of the endpoint in a slot.
    pub fn offer(&self, slot: Slot) -> Offer {
        match &self.law {
            Law::Ictcp(law) => Offer::window(law.window(slot)),
            Law::Grants(law) => law.edge(slot).map_or(Offer::UNLIMITED, Offer::edge),
        }
    }
}
