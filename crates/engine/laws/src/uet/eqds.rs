//! EQDS: a receiver grants credit to its senders in turn, at the rate of its link.
//! Sources: Olteanu et al., "An edge-queued datagram service for all datacenter traffic" (NSDI 2022); constants of
//!          uet-htsim, commit 40ccb05.
//! Law:     a sender begins with a window's credit, which ends with the receiver's first packet. Each packet says up to where the
//!          sender wants credit: granted + min(backlog, window) - credit, rounded up to a quantum. A receiver grants a turn's bytes, never
//!          beyond the want, and takes as long as they last at 99 % of its link's rate. When all are satisfied, it grants up to a
//!          window in advance. A sender whose grants are lost asks again, and the receiver repeats their total.
//! Units:   bytes on the wire; grants and wants count from the connection's start.
//! Owns:    at the sender credit and grants; at the receiver grants and wants. Hosts keep the order of turns.
//! Departs: a sender drops the rest of its first credit at the receiver's first packet, as RCCC does; EQDS gives it back by later wants.
//! Checked: vectors/eqds.json; tests/trajectories/eqds.txt.

use fanin_units::Bytes;

use super::place::Place;
use super::turn::Turn;
use crate::settings::params;

params! {
    /// EQDS, credit from the receiver's edge.
    eqds {
        /// Credit at the start of a message, in full packets, and the most that is granted.
        #[range(1..=100_000)]
        window: u32 = 64,
        /// Credit of a turn.
        #[range(Bytes(64)..=Bytes(1_000_000))]
        grant: Bytes = Bytes(4_096),
    }
}

impl Params {
    /// The form that its law takes.
    pub fn granting(&self, place: &Place) -> Granting {
        Granting { window: u64::from(self.window) * u64::from(place.packet), grant: self.grant.0, place: *place }
    }
}

/// Wants are rounded up to a multiple of this.
const QUANTUM: u64 = 256;

/// Settings of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Granting {
    /// Largest credit.
    pub window: u64,
    /// Credit of a turn.
    pub grant: u64,
    /// The network.
    pub place: Place,
}

/// A sender's state.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    window: u64,
    /// A packet may be sent with any credit, so that it may become negative.
    credit: i64,
    /// The receiver has not answered yet.
    speculates: bool,
    granted: u64,
}

impl Sender {
    /// A new one.
    pub fn new(window: u64) -> Sender {
        Sender { window, credit: window as i64, speculates: true, granted: 0 }
    }

    /// Whether it may send.
    pub fn may_send(&self) -> bool {
        self.credit > 0
    }

    /// Credit that is left.
    pub fn credit(&self) -> u64 {
        self.credit.max(0) as u64
    }

    /// Sends a packet of this size.
    pub fn spend(&mut self, bytes: u64) {
        self.credit -= bytes as i64;
    }

    /// The receiver has answered: credit comes from it alone.
    pub fn heard(&mut self) {
        if self.speculates {
            (self.speculates, self.credit) = (false, self.credit.min(0));
        }
    }

    /// All that the receiver has granted.
    pub fn grant(&mut self, granted: u64) {
        if granted > self.granted {
            let credit = self.credit + (granted - self.granted) as i64;
            (self.credit, self.granted) = (credit.min(self.window as i64), granted);
        }
    }

    /// Up to where it wants grants, with these bytes to send in packets of a size.
    pub fn wants(&self, backlog: u64, packet: u64) -> u64 {
        let mut more = backlog.min(self.window) as i64 - self.credit;
        if self.speculates && backlog > 0 {
            // A short message asks for a packet's credit at least.
            more = more.max(packet as i64);
        }
        (self.granted as i64 + more).max(0).unsigned_abs().next_multiple_of(QUANTUM)
    }
}

/// A receiver's state.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    settings: Granting,
    granted: u64,
    wanted: u64,
    /// The sender asks again for credit that it was granted.
    repeats: bool,
}

impl Receiver {
    /// A new one.
    pub fn new(settings: Granting) -> Receiver {
        Receiver { settings, granted: 0, wanted: 0, repeats: false }
    }

    /// A packet says up to where its sender wants grants.
    pub fn wants(&mut self, up_to: u64) {
        self.wanted = self.wanted.max(up_to);
    }

    /// A sender without credit asks again for grants up to here: those that were sent are lost, and grants count from the start.
    pub fn wants_again(&mut self, up_to: u64) {
        self.wants(up_to);
        self.repeats |= up_to <= self.granted;
    }

    /// Whether its sender wants more credit, or its earlier grants once more.
    pub fn owes(&self) -> bool {
        self.repeats || self.wanted > self.granted
    }

    /// Whether it may still grant in advance.
    pub fn may_advance(&self) -> bool {
        !self.owes() && self.granted - self.wanted < self.settings.window
    }

    /// Takes its turn: grants by the sender's want, or in advance.
    pub fn turn(&mut self, in_advance: bool) -> Turn {
        self.repeats = false;
        let before = self.granted;
        let limit = if in_advance { u64::MAX } else { self.wanted.max(before) };
        self.granted = (before + self.settings.grant).min(limit);
        let granted = match self.granted - before {
            // Turns without credit are not free either.
            0 => 4 * QUANTUM,
            bytes => bytes,
        };
        Turn { granted: self.granted, takes: self.settings.place.paced(granted) }
    }
}
