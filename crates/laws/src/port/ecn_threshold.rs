//! Threshold marking: mark every packet that finds more than K in the queue.
//! Sources: Alizadeh et al., SIGCOMM 2010, section 3.1, item 1; RFC 8257, section 3.1; RFC 3168, section 5.
//! Law:     mark if queue > K, where the queue is the instantaneous one that the packet finds.
//! Units:   bytes on the wire, or packets of any size.
//! Owns:    nothing.
//! Departs: nowhere. A packet that is not ECN-capable is dropped in place of the mark.
//! Checked: vectors/ecn_threshold.json; tests/trajectories/ecn_threshold.txt.

use fanin_units::{QueueSize, Time};
use rand_core::Rng;

use super::manage::{Congested, Header, Manage, Place, Queue};
use crate::settings::params;

params! {
    /// Marking above a threshold of the instantaneous queue, as DCTCP needs it.
    ecn_threshold {
        /// K: a packet that finds more than this in the queue is marked, or dropped where it is not ECN-capable.
        k: QueueSize = QueueSize::Packets(20),
    }
}

/// One port's state: its threshold.
#[derive(Clone, Copy, Debug)]
pub struct EcnThreshold {
    k: QueueSize,
}

impl EcnThreshold {
    /// The state of an empty port.
    pub fn start(params: &Params, _place: &Place) -> Option<EcnThreshold> {
        Some(EcnThreshold { k: params.k })
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
