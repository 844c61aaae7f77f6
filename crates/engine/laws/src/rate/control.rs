//! Interface of a rate-based algorithm.

use fanin_units::{Rate, Share, Time};

use crate::row::Shown;

/// Where a sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Rate of its host's link, the largest that it may send at.
    pub line: Rate,
    /// Round-trip time of a full packet over an idle network.
    pub rtt: Time,
}

/// Telemetry of one port, written as a packet leaves its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// When the packet left.
    pub at: Time,
    /// Bytes that the port has sent before it.
    pub sent: u64,
    /// Bytes queued behind it.
    pub queue: u64,
    /// The link's rate, bit/s.
    pub rate: u64,
}

/// Contents of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// The time.
    pub now: Time,
    /// First byte that the receiver has not got.
    pub acked: u64,
    /// First byte that has not been sent.
    pub next: u64,
    /// Payload of a full packet, bytes.
    pub packet: u32,
    /// Time since the acknowledged packet was sent.
    pub rtt: Time,
    /// The packet was marked: the ACK is a congestion notification (CNP).
    pub marked: bool,
    /// The ports that the packet passed, if they write telemetry.
    pub hops: &'a [Hop],
}

/// A rate-based algorithm: the rate at which a sender's packets leave.
pub trait Control {
    /// Takes an ACK.
    fn acknowledge(&mut self, ack: &Ack<'_>);

    /// A packet of this size has left.
    fn sent(&mut self, _now: Time, _bytes: u32) {}

    /// When [`expire`](Control::expire) is due; `NEVER` if at no time.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// When a timer may next raise the rate; `NEVER` if none does. A timer that lowers it may be served late, before the rate is next used,
    /// with the time at which it was due.
    fn rises_at(&self) -> Time {
        self.deadline()
    }

    /// Its timers are due.
    fn expire(&mut self, _now: Time) {}

    /// The rate.
    fn rate(&self) -> Rate;

    /// State to display.
    fn shown(&self) -> Option<Shown> {
        None
    }
}

/// A share of a rate; at least 1 bit/s.
pub(super) fn share_of(share: Share, line: Rate) -> u64 {
    share.part_of(line.0).max(1)
}
