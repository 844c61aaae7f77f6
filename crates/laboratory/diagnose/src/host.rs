//! Hosts: properties of their TCP stacks, and arrivals at each.

use std::collections::BTreeMap;

use crate::chance::Chance;
use crate::ids::Numbering;
use crate::level::Levels;
use crate::samples::Samples;
use crate::train::{Row, Train};

/// Maximum number of hosts to distinguish; all others count as one.
const MOST: usize = 1 << 17;
/// The minimum timeout: the shortest in the largest cluster of similar timeouts, which a lower bound on all timeouts produces.
pub(crate) fn usual_timeout(timeouts: &[u64]) -> Option<u64> {
    let mut sorted = timeouts.to_vec();
    sorted.sort_unstable();
    let (mut most, mut best, mut end) = (0, None, 0);
    for begin in 0..sorted.len() {
        while end < sorted.len() && sorted[end] <= sorted[begin] + sorted[begin] / 8 {
            end += 1;
        }
        if end - begin > most {
            (most, best) = (end - begin, Some(sorted[begin + (end - begin) / 10]));
        }
    }
    // If a timer's retransmission is lost as well, the doubled timer follows (RFC 6298, 5.5): three timeouts in all.
    let single = |best: u64| sorted.iter().copied().find(|took| took.abs_diff(best / 3) <= best / 24);
    best.map(|best| single(best).unwrap_or(best))
}

/// Votes of connections on where a capture was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Places {
    pub at_asker: u64,
    pub between: u64,
    pub at_server: u64,
}

/// A loss on the way to a host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loss {
    /// The server's number.
    pub server: u32,
    /// The row of packets when it was detected, if packets came in between, and the time since the flow's request.
    pub row: Option<Row>,
    pub asked: u64,
    /// When a packet beside it entered the queue, and how many packets were lost in a row.
    pub entered: Option<u64>,
    pub packets: u32,
}

/// A retransmission of the oldest segment after idle time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timer {
    /// Since the last ACK of new data, or the request.
    pub took: u64,
    /// Since the connection's last packet from the server.
    pub idle: u64,
    /// Whether the client's last ACK had a SACK block: then RACK's reordering timer may have been running (RFC 8985, 6.3).
    pub selective: bool,
}

/// A host.
#[derive(Default)]
pub(crate) struct Host {
    pub address: u128,
    pub train: Train,
    /// Options of its SYNs.
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub syns: u64,
    pub may_sack: bool,
    pub stamps: bool,
    /// Its SYN requested ECN, or its SYN-ACK agreed.
    pub ecn: bool,
    /// Segments that it sent with an ECN codepoint, and marked ones that it received.
    pub capable: u64,
    pub marked: u64,
    /// Segments with payload that it sent, those larger than a packet, and the largest payload.
    pub data: u64,
    pub merged: u64,
    pub largest: u32,
    /// Pure ACKs that it sent, the bytes they acknowledged, and their delays.
    pub acks: u64,
    pub acknowledged: u64,
    pub kept_back: Samples,
    /// Number of zero windows.
    pub shut: u64,
    /// Maximum bytes that it sent on a new connection before any ACK could arrive.
    pub first_window: Option<u64>,
    /// Retransmissions of the oldest segment after idle time.
    pub timeouts: Vec<Timer>,
    /// As a client: round trip of handshakes, time to the first byte of responses, and the same for responses that found its link idle.
    pub round_trip: Option<u64>,
    pub firsts: Samples,
    pub idle_firsts: Samples,
    /// Minimum queueing delays of packets to it, beyond a round trip.
    pub waited: Samples,
    /// Delays in a router that was captured on both sides.
    pub inside: Samples,
    pub losses: Vec<Loss>,
    /// Delays of packets to it in queues.
    pub levels: Levels,
    /// The usual payload of its full packets, by a majority vote: the size and its lead.
    pub usual: (u32, u32),
    /// How it numbers the packets that it sends.
    pub numbering: Numbering,
    /// Arrivals and holes, for the detection of random losses.
    pub chance: Chance,
    pub places: Places,
    /// Bytes of packets that it had requested, and that others pushed.
    pub asked_for: u64,
    pub pushed: u64,
    /// Segments to it that were retransmitted, and that were out of order.
    pub lost: u64,
    pub reordered: u64,
    /// Segments that it sent and that arrived after later ones, or twice, for any reason.
    pub behind: u64,
}

impl Host {
    /// Records a payload for the usual size.
    pub fn sized(&mut self, payload: u32) {
        /// Smaller ones are ends of messages.
        const FULL: u32 = 500;
        let (size, lead) = &mut self.usual;
        match () {
            () if payload < FULL => {}
            () if *size == payload => *lead = lead.saturating_add(1),
            () if *lead == 0 => (*size, *lead) = (payload, 1),
            () => *lead -= 1,
        }
    }
}

/// All hosts, by number.
#[derive(Default)]
pub(crate) struct Hosts {
    numbers: BTreeMap<u128, u32>,
    pub all: Vec<Host>,
}

impl Hosts {
    pub fn number(&mut self, address: u128) -> u32 {
        if let Some(&number) = self.numbers.get(&address) {
            return number;
        }
        if self.all.len() >= MOST {
            return MOST as u32 - 1;
        }
        let number = self.all.len() as u32;
        self.numbers.insert(address, number);
        self.all.push(Host { address, ..Host::default() });
        number
    }

    pub fn get(&mut self, number: u32) -> &mut Host {
        &mut self.all[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_timeout_is_not_the_minimum() {
        assert_eq!(usual_timeout(&[30_020, 10_020, 30_030]), Some(10_020));
        assert_eq!(usual_timeout(&[30_020, 30_030]), Some(30_020));
        assert_eq!(usual_timeout(&[30_020, 30_030, 12_500]), Some(30_020));
    }
}
