//! HPCC: a sender keeps each link on its path at a target utilisation, which ports report in every packet.
//! Sources: Li et al., "HPCC: High Precision Congestion Control" (SIGCOMM 2019), section 3, algorithm 1.
//! Law:     per hop u = sent / (C dt) + min(q, q before) / (C T); of the hop with the largest u, tau = min(dt, T):
//!          U <- U (1 - tau / T) + u tau / T. If U / eta >= 1, or after max_stage increases: rate <- reference eta / U + increase; else
//!          rate <- reference + increase. Once a round trip, the reference becomes the rate. The window is the rate times T.
//! Units:   rates in bit/s, rounded down; U in 1/65536.
//! Owns:    rate, reference, U and the last report of each hop. The endpoint keeps the window.
//! Departs: the paper states the window and derives the rate; here it is the other way round, as in the authors' simulator. Paths have at
//!          most five ports that report; further ones are left out.
//! Checked: vectors/hpcc.json; tests/trajectories/hpcc.txt.

use fanin_units::{Rate, Share, Time};

use super::control::{Ack, Control, Hop, Place, share_of};
use crate::row::Shown;
use crate::settings::params;

params! {
    /// HPCC.
    hpcc {
        /// Target utilisation of links, eta.
        #[range(Share::of(1, 100)..)]
        target: Share = Share::of(19, 20),
        /// Additive increases in a row before the rate is set anew by the utilisation, maxStage: 5 in the paper, 0 in its simulator's scripts.
        #[range(0..=100)]
        max_stage: u32 = 5,
        /// Additive increase, as a share of the link's rate: 50 Mbit/s at 100 Gbit/s.
        increase: Share = Share::of(1, 2_000),
        /// Least rate, as a share of the link's.
        #[range(Share::of(1, 1_000_000).., "a rate of zero never ends")]
        min_rate: Share = Share::of(1, 100),
    }
}

/// Ports of a path whose reports are used.
pub const HOPS: usize = 5;
const ONE_Q16: u64 = 1 << 16;
/// Bits per byte times picoseconds per second.
const BITS_PS: u128 = 8 * 1_000_000_000_000;

/// One sender's state.
#[derive(Clone, Copy, Debug)]
pub struct Hpcc {
    settings: Params,
    line: u64,
    rtt: Time,
    rate: u64,
    reference: u64,
    utilisation_q16: u64,
    stage: u32,
    /// The first byte of the next round trip; zero before the first ACK.
    round_ends: u64,
    hops: [Hop; HOPS],
}

impl Hpcc {
    /// The state of a new connection, which begins at its link's rate.
    pub fn start(params: &Params, place: &Place) -> Hpcc {
        Hpcc {
            settings: *params,
            line: place.line.0,
            rtt: place.rtt,
            rate: place.line.0,
            reference: place.line.0,
            utilisation_q16: ONE_Q16,
            stage: 0,
            round_ends: 0,
            hops: [Hop::default(); HOPS],
        }
    }

    /// MeasureInflight of algorithm 1.
    fn measure(&mut self, hops: &[Hop]) {
        let (mut largest_q16, mut span) = (0, 0);
        for (last, hop) in self.hops.iter().zip(hops) {
            let dt = hop.at.since(last.at).0.max(1);
            let per = |bytes: u64, time: u64| {
                ((u128::from(bytes) * BITS_PS) << 16) / (u128::from(hop.rate.max(1)) * u128::from(time))
            };
            let queue = hop.queue.min(last.queue);
            let u_q16 = per(hop.sent.saturating_sub(last.sent), dt) + per(queue, self.rtt.0.max(1));
            if u_q16 > largest_q16 {
                (largest_q16, span) = (u_q16, dt);
            }
        }
        let (whole, tau) = (u128::from(self.rtt.0.max(1)), u128::from(span.min(self.rtt.0)));
        let kept = u128::from(self.utilisation_q16) * (whole - tau);
        self.utilisation_q16 = ((kept + largest_q16 * tau) / whole).min(u128::from(u32::MAX)) as u64;
    }

    /// ComputeWind of algorithm 1, as a rate.
    fn compute(&mut self, round: bool) {
        let eta_q16 = u64::from(self.settings.target.in_q(16));
        let increase = share_of(self.settings.increase, Rate(self.line));
        let resets = self.utilisation_q16 >= eta_q16 || self.stage >= self.settings.max_stage;
        let rate = match resets {
            true => {
                let scaled = u128::from(self.reference) * u128::from(eta_q16) / u128::from(self.utilisation_q16.max(1));
                scaled.min(u128::from(self.line)) as u64 + increase
            }
            false => self.reference + increase,
        };
        self.rate = rate.clamp(share_of(self.settings.min_rate, Rate(self.line)), self.line);
        if round {
            self.reference = self.rate;
            self.stage = if resets { 0 } else { self.stage + 1 };
        }
    }
}

impl Control for Hpcc {
    fn acknowledge(&mut self, ack: &Ack<'_>) {
        let round = ack.acked > self.round_ends;
        if self.round_ends > 0 && !ack.hops.is_empty() {
            self.measure(ack.hops);
            self.compute(round);
        }
        for (last, hop) in self.hops.iter_mut().zip(ack.hops) {
            *last = *hop;
        }
        if round {
            self.round_ends = ack.next;
        }
    }

    fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "utilisation", value: self.utilisation_q16, bits: 16 })
    }
}
