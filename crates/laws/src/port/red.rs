//! Random early detection: drop or mark with a probability that rises with the queue.
//! Sources: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (ToN 1993), sections 4 and 11;
//!          Floyd, "Recommendation on using the gentle variant of RED" (2000).
//! Law:     avg <- (1 - w) avg + w q, and over an idle time of m packets (1 - w)^m avg; p_b rises from 0 at min_th to
//!          max_p at max_th (gentle: on to 1 at twice max_th); p_a = p_b / (1 - count p_b), count the packets since the
//!          last drop or mark; above max_th (gentle: twice that) always.
//! Units:   avg in 1/65536 of a byte or packet, as min_th is; w in 1/2^32; probabilities in 1/65536.
//! Owns:    avg, count.
//! Departs: instantaneous takes q for avg, as the papers on data centres configure it. Idle time is measured in packets
//!          of the size that has just come.
//! Checked: vectors/red.json; tests/trajectories/red.txt.

use fanin_units::{QueueSize, Rate, Time};
use rand_core::Rng;

use super::{Congested, Header, Queue};

/// Settings.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Below it, nothing; in the unit of `max_th`.
    pub min_th: QueueSize,
    /// At it, `max_p`; not under `min_th`, and above zero.
    pub max_th: QueueSize,
    /// The probability at `max_th`, at most 65536.
    pub max_p_q16: u32,
    /// The weight of a new sample.
    pub weight_q32: u32,
    /// Take the instantaneous queue in place of the average.
    pub instantaneous: bool,
    /// Rise from `max_p` to 1 between `max_th` and twice that.
    pub gentle: bool,
    /// Mark ECN-capable packets in place of dropping them.
    pub ecn: bool,
    /// The link's rate, for the length of an idle time in packets.
    pub rate: Rate,
}

/// One port's state.
#[derive(Clone, Copy, Debug)]
pub struct Red {
    params: Params,
    avg_q16: u64,
    /// Packets since the last drop or mark while the average was above min_th; `None` below it.
    count: Option<u32>,
}

impl Red {
    /// The state of an empty port.
    pub fn new(params: Params) -> Red {
        Red { params, avg_q16: 0, count: None }
    }

    /// The average queue, in 1/65536 of a byte or packet.
    pub fn avg_q16(&self) -> u64 {
        self.avg_q16
    }

    /// What a packet meets.
    pub fn enqueue(&mut self, now: Time, queue: &Queue, header: &Header, rng: &mut impl Rng) -> Congested {
        let (min_th, max_th, length) = match (self.params.min_th, self.params.max_th) {
            (QueueSize::Bytes(low), QueueSize::Bytes(high)) => (low, high, queue.bytes),
            (low, high) => (packets(low), packets(high), queue.packets.into()),
        };
        self.average(now, length, queue.idle_since, header.bytes);
        let Some(p_b_q16) = self.probability_q16(min_th << 16, max_th << 16) else {
            self.count = None;
            return Congested::No;
        };
        let count = self.count.map_or(0, |count| count + 1);
        if p_b_q16 < 65_536 {
            // p_a = p_b / (1 - count p_b), reached for sure once count p_b >= 1.
            let spent = u64::from(count) * p_b_q16;
            let draw = u64::from(rng.next_u32() >> 16);
            let hit = spent >= 65_536 || draw * (65_536 - spent) < p_b_q16 << 16;
            if !hit {
                self.count = Some(count);
                return Congested::No;
            }
        }
        self.count = Some(0);
        if self.params.ecn { Congested::Mark } else { Congested::Drop }
    }

    fn average(&mut self, now: Time, length: u64, idle_since: Option<Time>, bytes: u32) {
        if self.params.instantaneous {
            self.avg_q16 = length << 16;
            return;
        }
        let keep_q32 = (1u64 << 32) - u64::from(self.params.weight_q32);
        match idle_since {
            Some(since) if length == 0 => {
                let packet = self.params.rate.time_for(bytes.into()).0.max(1);
                self.avg_q16 = scale_q32(self.avg_q16, power_q32(keep_q32, now.since(since).0 / packet));
            }
            _ => {
                let sample = u128::from(length << 16) * u128::from(self.params.weight_q32);
                self.avg_q16 = scale_q32(self.avg_q16, keep_q32) + (sample >> 32) as u64;
            }
        }
    }

    /// p_b, or `None` below min_th. Thresholds in 1/65536.
    fn probability_q16(&self, min_th: u64, max_th: u64) -> Option<u64> {
        let (avg, max_p) = (self.avg_q16, u64::from(self.params.max_p_q16));
        // p rises over a span of at most 2^56 by at most 2^16.
        let rise = |from: u64, span: u64, by: u64| (u128::from(avg - from) * u128::from(by) / u128::from(span)) as u64;
        match avg {
            _ if avg < min_th => None,
            _ if avg < max_th => Some(rise(min_th, max_th - min_th, max_p)),
            _ if self.params.gentle && avg < 2 * max_th => Some(max_p + rise(max_th, max_th, 65_536 - max_p)),
            _ => Some(65_536),
        }
    }
}

fn packets(size: QueueSize) -> u64 {
    match size {
        QueueSize::Packets(packets) => packets.into(),
        QueueSize::Bytes(bytes) => bytes,
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
