//! ECN ramp: mark departing packets with a probability that rises with the queue that they leave behind.
//! Sources: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), section 5.1, figure 5; marking at departure
//!          and thresholds by the link's rate: Li et al., HPCC (SIGCOMM 2019), section 5.1.
//! Law:     mark never while q <= k_min, always above k_max, between them with probability p_max (q - k_min) / (k_max - k_min), where q is
//!          the instantaneous queue behind the packet. With k_min = k_max it is a threshold.
//! Units:   bytes on the wire; packets count as full ones. Probabilities are compared in 1/2^32.
//! Owns:    nothing.
//! Departs: a packet that is not ECN-capable passes, since ports of a lossless network do not drop.
//! Checked: vectors/ecn_ramp.json; tests/trajectories/ecn_ramp.txt.

use alloc::format;

use fanin_units::{QueueSize, Rate, Share, Time};
use rand_core::Rng;

use super::manage::{Congested, Leaving, Manage, Place};
use crate::settings::{Refusal, params};

params! {
    /// Marking of departing packets for DCQCN.
    ecn_ramp {
        /// No marks up to this queue; "auto": 4 kB for each Gbit/s of the link, 400 kB at 100 Gbit/s.
        k_min: Option<QueueSize> = None,
        /// All packets are marked above this queue, at least k_min; "auto": four times the automatic k_min.
        k_max: Option<QueueSize> = None,
        /// Probability at k_max.
        p_max: Share = Share::of(1, 5),
    }
    refuses |ramp| {
        let (low, high) = (ramp.k_min?, ramp.k_max?);
        let falls = match (low, high) {
            (QueueSize::Bytes(low), QueueSize::Bytes(high)) => low > high,
            (QueueSize::Packets(low), QueueSize::Packets(high)) => low > high,
            _ => false,
        };
        let what = format!("a k_min of {low} and a k_max of {high}: use a k_max of at least k_min");
        falls.then_some(Refusal { paths: &["ecn_ramp.k_min", "ecn_ramp.k_max"], what })
    };
}

/// One port's state: its thresholds, bytes.
#[derive(Clone, Copy, Debug)]
pub struct EcnRamp {
    k_min: u64,
    k_max: u64,
    p_max: Share,
}

/// Default of k_min.
fn by_rate(rate: Rate) -> u64 {
    rate.0 / 250_000
}

impl Params {
    /// k_min and k_max at this place, bytes.
    pub fn thresholds(&self, place: &Place) -> (u64, u64) {
        let bytes = |size: Option<QueueSize>, auto: u64| size.map_or(auto, |size| place.in_bytes(size));
        (bytes(self.k_min, by_rate(place.rate)), bytes(self.k_max, 4 * by_rate(place.rate)))
    }
}

impl EcnRamp {
    /// The state of an empty port.
    pub fn start(params: &Params, place: &Place) -> Option<EcnRamp> {
        let (k_min, k_max) = params.thresholds(place);
        Some(EcnRamp::between(k_min, k_max, params.p_max))
    }

    /// A ramp between two queues, bytes.
    pub(super) fn between(k_min: u64, k_max: u64, p_max: Share) -> EcnRamp {
        EcnRamp { k_min, k_max: k_max.max(k_min + 1), p_max }
    }
}

impl Manage for EcnRamp {
    const LOOKS_AT_DEPARTURES: bool = true;

    fn dequeue(&mut self, _now: Time, leaving: &Leaving, rng: &mut impl Rng) -> Congested {
        let (queue, span) = (leaving.behind, self.k_max - self.k_min);
        if !leaving.ect || queue <= self.k_min {
            return Congested::No;
        }
        if queue > self.k_max {
            return Congested::Mark;
        }
        let p_q32 = u128::from(self.p_max.part_of(1 << 32)) * u128::from(queue - self.k_min) / u128::from(span);
        let marks = u128::from(rng.next_u64() >> 32) < p_q32;
        if marks { Congested::Mark } else { Congested::No }
    }
}
