//! RDMA in captures: RoCEv2 (InfiniBand Architecture Specification 1.4, annex A17), Ultra Ethernet (Specification 1.0, section 3.5), and
//! pause frames (IEEE 802.1Q, 36). Counts and bursts only: rounds are not followed.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnosis::RdmaFound;
use crate::dissect::{Datagram, Transport};
use crate::words::{name_of, seconds};

/// Width of a piece of time in which the senders to a receiver count as concurrent.
const PIECE: u64 = 1_000_000;
/// Packet numbers of RoCE have 24 bits.
const NUMBERS: u32 = 1 << 24;
/// Maximum number of directions whose packet numbers are followed.
const MOST: usize = 1 << 16;
/// Operations of RoCE: an acknowledgement, and a congestion notification.
const ACKNOWLEDGE: u8 = 0x11;
const NOTIFY: u8 = 0x81;
/// Kinds of syndromes: a negative acknowledgement, of a receiver that is not ready, and of a missing packet.
const NOT_READY: u8 = 1;
const MISSING: u8 = 3;
/// Types of Ultra Ethernet's packets: requests, and a negative acknowledgement. Flag of a request that was sent before.
const REQUESTS: [u8; 2] = [2, 3];
const NACK: u8 = 10;
const AGAIN: u8 = 1 << 4;

/// RDMA's packets of a capture.
#[derive(Debug, Default)]
pub(crate) struct Rdma {
    packets: [u64; 2],
    bytes: u64,
    marked: u64,
    notifications: u64,
    missing: u64,
    not_ready: u64,
    again: u64,
    pauses: u64,
    hosts: BTreeSet<u128>,
    /// The next packet number by source, destination and queue pair.
    next: BTreeMap<(u128, u128, u32), u32>,
    /// The current piece of time of each receiver: its number, its senders, its bytes.
    pieces: BTreeMap<u128, (u64, BTreeSet<u128>, u64)>,
    /// The busiest receiver's piece: senders, bytes, the receiver.
    peak: (usize, u64, u128),
    first: Option<u64>,
    last: u64,
}

impl Rdma {
    /// Counts a pause frame.
    pub fn pause(&mut self) {
        self.pauses += 1;
    }

    /// Counts a packet.
    pub fn see(&mut self, now: u64, packet: &Datagram) {
        self.first.get_or_insert(now);
        self.last = now;
        self.packets[usize::from(packet.transport == Transport::UltraEthernet)] += 1;
        self.bytes += u64::from(packet.bytes);
        self.marked += u64::from(packet.ecn == 3);
        self.hosts.extend([packet.from, packet.to]);
        match packet.transport {
            Transport::Roce => self.roce(now, packet),
            Transport::UltraEthernet => self.ultra(now, packet),
        }
    }

    fn roce(&mut self, now: u64, packet: &Datagram) {
        match packet.operation {
            NOTIFY => self.notifications += 1,
            ACKNOWLEDGE => match packet.detail >> 5 {
                MISSING => self.missing += 1,
                NOT_READY => self.not_ready += 1,
                _ => {}
            },
            _ => {
                let key = (packet.from, packet.to, packet.queue);
                let after = packet.number.wrapping_add(1) % NUMBERS;
                if let Some(next) = self.next.get_mut(&key) {
                    // Behind, in the half of the numbers before the next.
                    let behind = next.wrapping_sub(packet.number) % NUMBERS;
                    match behind {
                        1..0x80_0000 => self.again += 1,
                        _ => *next = after,
                    }
                } else if self.next.len() < MOST {
                    self.next.insert(key, after);
                }
                self.arrival(now, packet);
            }
        }
    }

    fn ultra(&mut self, now: u64, packet: &Datagram) {
        match packet.operation {
            NACK => self.missing += 1,
            kind if REQUESTS.contains(&kind) => {
                self.again += u64::from(packet.detail & AGAIN != 0);
                self.arrival(now, packet);
            }
            _ => {}
        }
    }

    /// Data for a receiver.
    fn arrival(&mut self, now: u64, packet: &Datagram) {
        if self.pieces.len() >= MOST && !self.pieces.contains_key(&packet.to) {
            return;
        }
        let (piece, senders, bytes) = self.pieces.entry(packet.to).or_default();
        if *piece != now / PIECE {
            (*piece, *bytes) = (now / PIECE, 0);
            senders.clear();
        }
        senders.insert(packet.from);
        *bytes += u64::from(packet.bytes);
        self.peak = self.peak.max((senders.len(), *bytes, packet.to));
    }

    /// The findings, if there was any such packet.
    pub fn found(&self) -> Option<RdmaFound> {
        let [roce, ultra_ethernet] = self.packets;
        if roce + ultra_ethernet + self.pauses == 0 {
            return None;
        }
        let (fan_in, bytes, receiver) = self.peak;
        Some(RdmaFound {
            roce,
            ultra_ethernet,
            bytes: self.bytes,
            hosts: self.hosts.len() as u64,
            span_s: seconds(self.last.saturating_sub(self.first.unwrap_or(self.last))),
            marked: self.marked,
            notifications: self.notifications,
            missing: self.missing,
            not_ready: self.not_ready,
            sent_again: self.again,
            pauses: self.pauses,
            fan_in: fan_in as u32,
            burst_mbps: bytes as f64 * 8.0 / 1e3,
            receiver: (fan_in > 0).then(|| name_of(receiver)),
        })
    }
}

impl RdmaFound {
    /// The findings in words, for a verdict.
    pub(crate) fn says(&self) -> String {
        let kind = match (self.roce, self.ultra_ethernet) {
            (0, 0) => "pause frames alone".to_owned(),
            (roce, 0) => format!("RDMA (RoCEv2), {roce} packets"),
            (0, ultra) => format!("Ultra Ethernet, {ultra} packets"),
            (roce, ultra) => format!("RDMA (RoCEv2), {roce} packets, and Ultra Ethernet, {ultra}"),
        };
        let receiver = self.receiver.as_ref().map_or(String::new(), |receiver| {
            format!("; at most {} senders to {receiver} within 1 ms, at {:.0} Mbit/s", self.fan_in, self.burst_mbps)
        });
        format!(
            "no verdict: {kind} between {} hosts: {} congestion notifications, {} packets with a CE mark, {} negative acknowledgements of missing \
             packets and {} of receivers that were not ready, {} packets sent again, {} pause frames{receiver}",
            self.hosts, self.notifications, self.marked, self.missing, self.not_ready, self.sent_again, self.pauses
        )
    }

    /// The next steps.
    pub(crate) fn steps(&self) -> Vec<String> {
        let incast = self.fan_in > 1 && self.notifications + self.marked + self.missing + self.sent_again > 0;
        let seen = match incast {
            true => format!(
                "Up to {} senders shared a receiver's link while its queue marked or lost packets, as with incast: fanin advise on a scenario with \
                 rdma or uet schemes ranks DCQCN's parameters, marking and buffers (fanin new roce).",
                self.fan_in
            ),
            false => format!(
                "{} packets show no congestion at a receiver: record at the slow receiver's port.",
                self.roce + self.ultra_ethernet
            ),
        };
        let counters = format!(
            "Losses and pauses that these {} packets cannot show are in counters: ethtool -S DEVICE (rx_prio*_pause, tx_prio*_pause, rx_discards_phy) \
             and rdma statistic show link DEVICE/1 (out_of_sequence, packet_seq_err, rnr_nak_retry_err, np_cnp_sent, rp_cnp_handled), before and after.",
            self.roce + self.ultra_ethernet
        );
        vec![seen, counters]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(from: u128, operation: u8, detail: u8, number: u32) -> Datagram {
        let transport = Transport::Roce;
        Datagram { transport, from, to: 1, operation, detail, queue: 7, number, bytes: 1_082, ecn: 2 }
    }

    #[test]
    fn counts_numbers_that_return_and_concurrent_senders() {
        let mut rdma = Rdma::default();
        for (at, from, number) in
            [(1, 2, 0xff_fffe), (2, 2, 0xff_ffff), (3, 2, 0), (4, 3, 9), (5, 2, 0xff_ffff), (6, 4, 9)]
        {
            rdma.see(at * 100_000, &packet(from, 1, 0, number));
        }
        rdma.see(700_000, &packet(5, ACKNOWLEDGE, 0x60, 3));
        rdma.see(800_000, &packet(5, NOTIFY, 0, 0));
        rdma.see(2_500_000, &packet(5, 1, 0, 4));
        let found = rdma.found().unwrap();
        assert_eq!((found.roce, found.sent_again, found.missing, found.notifications), (9, 1, 1, 1));
        assert_eq!((found.fan_in, found.hosts), (3, 5));
    }
}
