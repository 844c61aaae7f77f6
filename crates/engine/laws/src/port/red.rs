//! Random early detection: drop or mark with a probability that rises with the queue.
//! Sources: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (ToN 1993), sections 4 and 11;
//!          Floyd, "Recommendation on using the gentle variant of RED" (2000); for thresholds from a delay, Floyd,
//!          Gummadi and Shenker, "Adaptive RED" (2001), section 4.
//! Law:     avg <- (1 - w) avg + w q, and over an idle time of m packets (1 - w)^m avg; p_b rises from 0 at min_th to
//!          max_p at max_th (gentle: on to 1 at twice max_th); p_a = p_b / (1 - count p_b), count the packets since the
//!          last drop or mark (wait: 0 while count p_b < 1, then p_b / (2 - count p_b)); above max_th (gentle: twice
//!          that) always. In byte mode q is in bytes, count in mean packets, and p_a is proportional to the packet's size.
//! Units:   avg in 1/65536 of a byte or packet, as min_th is; w in 1/2^32; probabilities in 1/65536.
//! Owns:    avg, count.
//! Departs: wait and byte mode's count follow ns-2. instantaneous uses q as avg, as the papers on data centres configure
//!          it. Idle time is measured in packets of the arriving packet's size.
//! Checked: vectors/red.json; tests/trajectories/red.txt.

use alloc::format;
use core::num::NonZeroU32;

use fanin_units::{Bytes, QueueSize, Rate, Share, Time};
use rand_core::Rng;

use super::manage::{Congested, Header, Manage, Place, Queue};
use crate::row::Shown;
use crate::settings::{Refusal, params};

params! {
    /// Random early detection.
    red {
        /// No drops or marks below this average queue.
        #[needs(|red| red.target_delay.is_none(), "the thresholds follow from `red.target_delay`")]
        min_th: QueueSize = QueueSize::Packets(15),
        /// All packets are dropped or marked above this average queue (with gentle: above twice this).
        #[needs(|red| red.target_delay.is_none(), "the thresholds follow from `red.target_delay`")]
        max_th: QueueSize = QueueSize::Packets(25),
        /// Derive the thresholds from each link's rate, replacing min_th and max_th (Adaptive RED): half of what the link sends in this time, and three times that. RED is off if the buffer is smaller than the upper threshold.
        #[range(Time(1)..=Time::from_secs(100))]
        target_delay: Option<Time> = None,
        /// Packet size in which target_delay, and in byte mode every threshold in packets, is counted.
        #[needs(|red| red.byte_mode || red.target_delay.is_some(), "only `red.byte_mode` and `red.target_delay` use it")]
        #[range(Bytes(1)..=Bytes(9_000))]
        mean_packet: Bytes = Bytes(500),
        /// Probability at max_th.
        max_p: Share = Share::of(1, 50),
        /// Weight of a new sample in the average queue.
        #[needs(|red| !red.instantaneous, "`red.instantaneous` uses no average")]
        weight: Share = Share::of(1, 500),
        /// Use the instantaneous queue instead of the average.
        instantaneous: bool = false,
        /// Rise from max_p to 1 between max_th and twice max_th.
        gentle: bool = true,
        /// Pass at least 1/p packets after each drop or mark (ns-2); off: p / (1 - n p) for the n-th packet after it (Floyd and Jacobson).
        wait: bool = false,
        /// Byte mode: count the queue in bytes; a packet of twice mean_packet has twice the probability (ns-2). Off: every packet has the same probability.
        byte_mode: bool = false,
    }
    refuses thresholds_and_weight;
}

fn thresholds_and_weight(red: &Params) -> Option<Refusal> {
    match (red.min_th, red.max_th) {
        _ if red.target_delay.is_some() => {}
        (QueueSize::Bytes(low), QueueSize::Bytes(high)) if low <= high && high > 0 => {}
        (QueueSize::Packets(low), QueueSize::Packets(high)) if low <= high && high > 0 => {}
        (low, high) => {
            let what = format!(
                "RED's min_th {low} and max_th {high}: use packets for both or bytes for both, with min_th at most max_th"
            );
            return Some(Refusal { paths: &["red.min_th", "red.max_th"], what });
        }
    }
    let what = || "a weight of zero never changes RED's average; use a larger weight".into();
    (red.weight.in_q(32) == 0 && !red.instantaneous).then(|| Refusal { paths: &["red.weight"], what: what() })
}

/// No drops or marks below `min_q16`; `max_q16` is at least `min_q16`, and above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// In 1/65536 of a byte or packet.
    pub min_q16: u64,
    /// In the same unit.
    pub max_q16: u64,
    /// Queue in bytes, else in packets.
    pub in_bytes: bool,
}

impl Thresholds {
    /// Thresholds that are both in bytes or both in packets.
    pub fn new(min_th: QueueSize, max_th: QueueSize) -> Thresholds {
        let count = |size: QueueSize| match size {
            QueueSize::Packets(packets) => packets.into(),
            QueueSize::Bytes(bytes) => bytes,
        };
        let in_bytes = matches!((min_th, max_th), (QueueSize::Bytes(_), QueueSize::Bytes(_)));
        Thresholds { min_q16: count(min_th) << 16, max_q16: count(max_th) << 16, in_bytes }
    }

    /// Thresholds for a queueing delay of `target` on this link: half of what the link sends in that time, in packets of
    /// `mean_packet` bytes, at least five; and three times that (Adaptive RED, section 4).
    pub fn of_delay(target: Time, rate: Rate, mean_packet: u64) -> Thresholds {
        const PS_PER_S: u128 = 1_000_000_000_000;
        let bits_q16 = (u128::from(target.0) * u128::from(rate.0)) << 16;
        let half_q16 = bits_q16 / (PS_PER_S * 16 * u128::from(mean_packet.max(1)));
        let min_q16 = (half_q16.min(1 << 60) as u64).max(5 << 16);
        Thresholds { min_q16, max_q16: 3 * min_q16, in_bytes: false }
    }

    /// The same in bytes, with `mean_packet` bytes per packet.
    pub fn in_bytes(self, mean_packet: u64) -> Thresholds {
        let [min_q16, max_q16] =
            [self.min_q16, self.max_q16].map(|q16| q16 * if self.in_bytes { 1 } else { mean_packet });
        Thresholds { min_q16, max_q16, in_bytes: true }
    }

    /// Whether a queue of at most `limit` reaches the upper threshold; `mean_packet` bytes per packet if units differ.
    pub fn fit_within(&self, limit: QueueSize, mean_packet: u64) -> bool {
        let most = match (limit, self.in_bytes) {
            (QueueSize::Packets(packets), false) => packets.into(),
            (QueueSize::Bytes(bytes), true) => bytes,
            (QueueSize::Packets(packets), true) => u64::from(packets) * mean_packet,
            (QueueSize::Bytes(bytes), false) => bytes / mean_packet.max(1),
        };
        u128::from(self.max_q16) <= u128::from(most) << 16
    }
}

/// One port's state.
#[derive(Clone, Copy, Debug)]
pub struct Red {
    /// The range in which the probability rises to max_p.
    thresholds: Thresholds,
    max_p_q16: u32,
    weight_q32: u32,
    instantaneous: bool,
    gentle: bool,
    wait: bool,
    /// Byte mode: the size of packet that has exactly the probability. The thresholds are in bytes.
    byte_mode: Option<NonZeroU32>,
    /// Mark ECN-capable packets instead of dropping them.
    ecn: bool,
    /// The link's rate, to count an idle time in packets.
    rate: Rate,
    avg_q16: u64,
    /// Packets (bytes in byte mode) since the last drop or mark while the average was above min_th; `None` below it.
    count: Option<u32>,
}

impl Manage for Red {
    fn enqueue(&mut self, now: Time, queue: &Queue, header: &Header, rng: &mut impl Rng) -> Congested {
        let Thresholds { min_q16, max_q16, in_bytes } = self.thresholds;
        let length = if in_bytes { queue.bytes } else { queue.packets.into() };
        self.average(now, length, queue.idle_since, header.bytes);
        let Some(p_b_q16) = self.probability_q16(min_q16, max_q16) else {
            self.count = None;
            return Congested::No;
        };
        let size = if self.byte_mode.is_some() { header.bytes } else { 1 };
        let count = self.count.map_or(0, |count| count.saturating_add(size));
        if p_b_q16 < 65_536 && !self.hits(p_b_q16, count, size, rng) {
            self.count = Some(count);
            return Congested::No;
        }
        self.count = Some(0);
        if self.ecn { Congested::Mark } else { Congested::Drop }
    }

    /// The average queue, in bytes or packets.
    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "avg", value: self.avg_q16, bits: 16 })
    }
}

impl Red {
    /// The state of an empty port; `None` if the buffer ends below the upper threshold that follows from a delay at the link's
    /// rate: RED has no effect then.
    pub fn start(params: &Params, place: &Place) -> Option<Red> {
        let mean_packet = params.mean_packet.0;
        let thresholds = match params.target_delay {
            None => Thresholds::new(params.min_th, params.max_th),
            Some(target) => Thresholds::of_delay(target, place.rate, mean_packet),
        };
        let thresholds = if params.byte_mode { thresholds.in_bytes(mean_packet) } else { thresholds };
        if params.target_delay.is_some() && !thresholds.fit_within(place.buffer, mean_packet) {
            return None;
        }
        Some(Red {
            thresholds,
            max_p_q16: params.max_p.in_q(16),
            weight_q32: params.weight.in_q(32),
            instantaneous: params.instantaneous,
            gentle: params.gentle,
            wait: params.wait,
            byte_mode: NonZeroU32::new(mean_packet as u32).filter(|_| params.byte_mode),
            ecn: place.ecn,
            rate: place.rate,
            avg_q16: 0,
            count: None,
        })
    }

    /// Draw against p_a; certain once count p_b >= 1 (wait: 2).
    fn hits(&self, p_b_q16: u64, count: u32, size: u32, rng: &mut impl Rng) -> bool {
        let mean = self.byte_mode.map_or(1, NonZeroU32::get);
        let spent = u64::from(count / mean) * p_b_q16;
        let (from, to): (u64, u64) = if self.wait { (65_536, 131_072) } else { (0, 65_536) };
        let draw = u64::from(rng.next_u32() >> 16);
        let [left, p_b] = [draw * to.saturating_sub(spent), p_b_q16 << 16].map(u128::from);
        spent >= to || (spent >= from && left * u128::from(mean) < p_b * u128::from(size))
    }

    fn average(&mut self, now: Time, length: u64, idle_since: Option<Time>, bytes: u32) {
        if self.instantaneous {
            self.avg_q16 = length << 16;
            return;
        }
        let keep_q32 = (1u64 << 32) - u64::from(self.weight_q32);
        match idle_since {
            Some(since) if length == 0 => {
                let packet = self.rate.time_for(bytes.into()).0.max(1);
                self.avg_q16 = scale_q32(self.avg_q16, power_q32(keep_q32, now.since(since).0 / packet));
            }
            _ => {
                let sample = u128::from(length << 16) * u128::from(self.weight_q32);
                self.avg_q16 = scale_q32(self.avg_q16, keep_q32) + (sample >> 32) as u64;
            }
        }
    }

    /// p_b, or `None` below min_th. Thresholds in 1/65536.
    fn probability_q16(&self, min_th: u64, max_th: u64) -> Option<u64> {
        let (avg, max_p) = (self.avg_q16, u64::from(self.max_p_q16));
        // p rises over a span of at most 2^56 by at most 2^16.
        let rise = |from: u64, span: u64, by: u64| (u128::from(avg - from) * u128::from(by) / u128::from(span)) as u64;
        match avg {
            _ if avg < min_th => None,
            _ if avg < max_th => Some(rise(min_th, max_th - min_th, max_p)),
            _ if self.gentle && avg < 2 * max_th => Some(max_p + rise(max_th, max_th, 65_536 - max_p)),
            _ => Some(65_536),
        }
    }
}

fn scale_q32(value: u64, factor_q32: u64) -> u64 {
    ((u128::from(value) * u128::from(factor_q32)) >> 32) as u64
}

/// `base` to the power of `exponent`, `base` at most one.
fn power_q32(mut base_q32: u64, mut exponent: u64) -> u64 {
    let mut power = 1u64 << 32;
    while exponent > 0 && power > 0 {
        if exponent & 1 == 1 {
            power = scale_q32(power, base_q32);
        }
        base_q32 = scale_q32(base_q32, base_q32);
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_by_delay_match_the_paper() {
        // Latency in mixed Hadoop clusters, Table III, in packets; NO AQM if a buffer of 2,000 is smaller.
        let table = [
            (100, [12.5, 37.5], Some([125.0, 375.0])),
            (250, [31.25, 93.75], Some([312.5, 937.5])),
            (500, [62.5, 187.5], Some([625.0, 1875.0])),
            (1000, [125.0, 375.0], None),
            (2000, [250.0, 750.0], None),
            (4000, [500.0, 1500.0], None),
        ];
        let of = |us: u64, gbit: u64| {
            let found = Thresholds::of_delay(Time::from_micros(us), Rate(gbit * 1_000_000_000), 500);
            let shown = [found.min_q16, found.max_q16].map(|q16| q16 as f64 / 65_536.0);
            found.fit_within(QueueSize::Packets(2000), 500).then_some(shown)
        };
        let bytes = Thresholds::of_delay(Time::from_millis(1), Rate(1_000_000_000), 500).in_bytes(500);
        assert_eq!(
            [bytes.min_q16 >> 16, bytes.max_q16 >> 16],
            [62_500, 187_500],
            "in bytes, half and three halves of 1 ms"
        );
        for (us, slow, fast) in table {
            assert_eq!((of(us, 1), of(us, 10)), (Some(slow), fast), "{us} us");
        }
    }
}
