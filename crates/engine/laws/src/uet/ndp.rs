//! NDP: a receiver pulls a packet for each one that came, whole or trimmed.
//! Sources: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance" (SIGCOMM 2017),
//!          section 3.
//! Law:     a sender begins with a window of packets. Each packet that arrives, whole or as a header, is worth a pull; a host's receivers
//!          send theirs in turn, one in the time of a full packet at 99 % of the link's rate. A pull is worth a packet: first those that were
//!          trimmed, then new ones.
//! Units:   packets; pulls count from the connection's start.
//! Owns:    at the sender packets that it may send; at the receiver pulls. Hosts keep the order of turns.
//! Departs: nothing; return-to-sender is not modelled: headers that do not fit are dropped.
//! Checked: vectors/ndp.json; tests/trajectories/ndp.txt.

use fanin_units::Bytes;

use super::place::Place;
use super::turn::Turn;
use crate::settings::params;

params! {
    /// NDP, pulls from the receiver.
    ndp {
        /// Packets that are sent before the first pull.
        #[range(1..=100_000)]
        window: u32 = 15,
        /// Payload of a full packet.
        #[range(Bytes(64)..=Bytes(16_384))]
        payload: Bytes = Bytes(8_936),
    }
}

/// A sender's state.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    window: u64,
    /// Packets that it may send.
    packets: u64,
    pulls: u64,
    /// Payload of a packet, bytes.
    payload: u64,
}

impl Sender {
    /// A new one.
    pub fn new(params: &Params) -> Sender {
        let window = params.window.into();
        Sender { window, packets: window, pulls: 0, payload: params.payload.0 }
    }

    /// Whether it may send.
    pub fn may_send(&self) -> bool {
        self.packets > 0
    }

    /// Packets that it may send.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Their payload in bytes.
    pub fn bytes(&self) -> u64 {
        self.packets * self.payload
    }

    /// Sends a packet.
    pub fn spend(&mut self) {
        self.packets -= 1;
    }

    /// The receiver has pulled this number in all.
    pub fn pull(&mut self, pulls: u64) {
        if pulls > self.pulls {
            (self.packets, self.pulls) = (self.packets + pulls - self.pulls, pulls);
        }
    }

    /// A message begins while nothing is in flight: it has a first window, too.
    pub fn begin(&mut self) {
        self.packets = self.window;
    }
}

/// A receiver's state.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    place: Place,
    /// Pulls sent, and those that packets were worth.
    pulls: u64,
    worth: u64,
}

impl Receiver {
    /// A new one.
    pub fn new(place: &Place) -> Receiver {
        Receiver { place: *place, pulls: 0, worth: 0 }
    }

    /// A packet has arrived, whole or as a header.
    pub fn arrived(&mut self) {
        self.worth += 1;
    }

    /// Everything has arrived: no further pull is worth anything.
    pub fn complete(&mut self) {
        self.worth = self.pulls;
    }

    /// Whether it has pulls to send.
    pub fn owes(&self) -> bool {
        self.worth > self.pulls
    }

    /// Takes its turn.
    pub fn turn(&mut self) -> Turn {
        self.pulls += 1;
        let bytes = u64::from(self.place.packet) + u64::from(self.place.header);
        Turn { granted: self.pulls, takes: self.place.paced(bytes) }
    }
}
