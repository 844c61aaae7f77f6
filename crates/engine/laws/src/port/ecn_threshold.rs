//! Threshold marking: mark every packet that arrives to more than K in the queue.
//! Sources: Alizadeh et al., SIGCOMM 2010, section 3.1, item 1, and, for K, sections 3.4 and 3.5; RFC 8257, section 3.1; RFC 3168, section 5.
//! Law:     mark if queue > K, where queue is the instantaneous queue at the packet's arrival.
//! Units:   bytes on the wire, or packets of any size.
//! Owns:    nothing.
//! Departs: nowhere. A packet that is not ECN-capable is dropped instead of marked.
//! Checked: vectors/ecn_threshold.json; tests/trajectories/ecn_threshold.txt; its own tests, for K.

use fanin_units::{QueueSize, Rate, Time};
use rand_core::Rng;

use super::manage::{Congested, Header, Manage, Place, Queue};
use crate::settings::params;

params! {
    /// Marking above a threshold of the instantaneous queue, for DCTCP.
    ecn_threshold {
        /// K: a packet that arrives to a longer queue is marked, or dropped if it is not ECN-capable. "auto" derives K from the link rate: 20 packets up to 1 Gbit/s plus 5 for each further Gbit/s (65 at 10 Gbit/s), as in the DCTCP paper, of 1,538 B on the wire each, so that fewer larger ones; at most half of the port's buffer, but at least 20.
        k: Option<QueueSize> = None,
    }
}

/// Default K. The paper has 20 packets at 1 Gbit/s and 65 at 10 Gbit/s; this is the line through both, in bytes, so that larger packets are
/// fewer. K is at most half of the buffer, since a queue that cannot exceed K is never marked, and at least 20, to leave space for bursts.
pub fn by_rate(rate: Rate, buffer: QueueSize, full_packet: u64) -> QueueSize {
    const GBIT: u64 = 1_000_000_000;
    /// Bytes on the wire of the paper's packets.
    const PACKET: u64 = 1_538;
    let line = 20 + rate.0.saturating_sub(GBIT) / (GBIT / 5);
    let line = if full_packet > PACKET { line.saturating_mul(PACKET) / full_packet } else { line };
    let half = match buffer {
        QueueSize::Packets(packets) => u64::from(packets) / 2,
        QueueSize::Bytes(bytes) => bytes / 2 / full_packet,
    };
    QueueSize::Packets(line.min(half).clamp(20, u32::MAX.into()) as u32)
}

/// One port's state: its threshold.
#[derive(Clone, Copy, Debug)]
pub struct EcnThreshold {
    k: QueueSize,
}

impl EcnThreshold {
    /// The state of an empty port.
    pub fn start(params: &Params, place: &Place) -> Option<EcnThreshold> {
        let k = params.k.unwrap_or_else(|| by_rate(place.rate, place.buffer, place.full_packet));
        Some(EcnThreshold { k })
    }
}

impl Manage for EcnThreshold {
    #[inline]
    fn enqueue(&mut self, _now: Time, queue: &Queue, _header: &Header, _rng: &mut impl Rng) -> Congested {
        let above = match self.k {
            QueueSize::Bytes(k) => queue.bytes > k,
            QueueSize::Packets(k) => queue.packets > k,
        };
        if above { Congested::Mark } else { Congested::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_grows_with_the_link_rate() {
        let k = |mbit: u64, buffer| by_rate(Rate(mbit * 1_000_000), buffer, 1_500);
        let roomy = QueueSize::Packets(10_000);
        for (mbit, packets) in [(100, 20), (1_000, 20), (2_500, 27), (10_000, 65), (25_000, 140), (100_000, 515)] {
            assert_eq!(k(mbit, roomy), QueueSize::Packets(packets), "{mbit} Mbit/s");
        }
        // 515 packets of 1,538 B in packets of 9,038.
        assert_eq!(by_rate(Rate(100_000_000_000), roomy, 9_038), QueueSize::Packets(87));
        assert_eq!(k(10_000, QueueSize::Packets(100)), QueueSize::Packets(50));
        assert_eq!(k(10_000, QueueSize::Bytes(65_536)), QueueSize::Packets(21));
        assert_eq!(k(10_000, QueueSize::Packets(30)), QueueSize::Packets(20));
        assert_eq!(by_rate(Rate(u64::MAX), QueueSize::Bytes(u64::MAX), 1), QueueSize::Packets(u32::MAX));
    }

    #[test]
    fn ports_derive_k_unless_set() {
        let place =
            Place { rate: Rate(10_000_000_000), buffer: QueueSize::Packets(250), full_packet: 1_500, ecn: true };
        let k = |k| EcnThreshold::start(&Params { k }, &place).map(|port| port.k);
        assert_eq!(k(None), Some(QueueSize::Packets(65)));
        assert_eq!(k(Some(QueueSize::Packets(20))), Some(QueueSize::Packets(20)));
    }
}
