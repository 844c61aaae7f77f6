//! TIMELY: a sender follows the gradient of its round-trip times.
//! Sources: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter" (SIGCOMM 2015), section 4.3, algorithm 1.
//! Law:     once a round trip, d <- (1 - alpha) d + alpha (rtt - last rtt), gradient = d / min_rtt. Below low: rate + additive. Above high:
//!          rate (1 - beta (1 - high / rtt)). Else, if gradient <= 0: rate + additive, after hyper_after increases in a row + hyper;
//!          if above 0: rate (1 - beta gradient).
//! Units:   rates in bit/s, times in ps, all rounded down; gradient in 1/65536.
//! Owns:    rate, d, the last round-trip time. The endpoint measures round trips from a packet's departure.
//! Departs: hyperactive increase also applies below low, and is an increase of its own size instead of five additive ones, as in the
//!          simulator of HPCC's authors.
//! Checked: vectors/timely.json; tests/trajectories/timely.txt.

use fanin_units::{Rate, Share, Time};

use super::control::{Ack, Control, Place, share_of};
use crate::row::Shown;
use crate::settings::params;

params! {
    /// TIMELY.
    timely {
        /// Weight of a new sample in the smoothed difference of round-trip times.
        alpha: Share = Share::of(7, 8),
        /// Factor of decreases.
        beta: Share = Share::of(4, 5),
        /// Below this round-trip time the rate rises.
        low: Time = Time::from_micros(50),
        /// Above this round-trip time the rate falls.
        high: Time = Time::from_micros(500),
        /// Round-trip time by which differences are divided.
        #[range(Time(1_000)..)]
        min_rtt: Time = Time::from_micros(20),
        /// Increase, as a share of the link's rate: 100 Mbit/s at 100 Gbit/s.
        additive: Share = Share::of(1, 1_000),
        /// Increase after hyper_after increases in a row, likewise.
        hyper: Share = Share::of(1, 200),
        /// Increases in a row before hyperactive ones.
        hyper_after: u32 = 5,
        /// Least rate, as a share of the link's.
        #[range(Share::of(1, 1_000_000).., "a rate of zero never ends")]
        min_rate: Share = Share::of(1, 100),
    }
}

/// One sender's state.
#[derive(Clone, Copy, Debug)]
pub struct Timely {
    settings: Params,
    line: u64,
    rate: u64,
    last: Time,
    /// Smoothed difference of round-trip times, ps.
    difference: i64,
    increases: u32,
    /// The first byte of the next round trip; zero before the first ACK.
    round_ends: u64,
}

impl Timely {
    /// The state of a new connection, which begins at its link's rate.
    pub fn start(params: &Params, place: &Place) -> Timely {
        Timely {
            settings: *params,
            line: place.line.0,
            rate: place.line.0,
            last: Time::ZERO,
            difference: 0,
            increases: 0,
            round_ends: 0,
        }
    }

    /// The gradient in 1/65536, after the round trip of this time.
    fn gradient_q16(&mut self, rtt: Time) -> i128 {
        let alpha_q16 = i128::from(self.settings.alpha.in_q(16));
        let sample = i128::from(rtt.0) - i128::from(self.last.0);
        let smoothed = ((1 << 16) - alpha_q16) * i128::from(self.difference) + alpha_q16 * sample;
        self.difference = (smoothed >> 16) as i64;
        (i128::from(self.difference) << 16) / i128::from(self.settings.min_rtt.0)
    }

    fn increase(&mut self) {
        let Params { additive, hyper, hyper_after, .. } = self.settings;
        let by = if self.increases < hyper_after { additive } else { hyper };
        self.rate = (self.rate + share_of(by, Rate(self.line))).min(self.line);
        self.increases += 1;
    }

    /// Takes this share off the rate, in 1/65536, at most all of it.
    fn decrease(&mut self, share_q16: u128) {
        let off = (u128::from(self.rate) * share_q16.min(1 << 16)) >> 16;
        self.rate = (self.rate - off as u64).max(share_of(self.settings.min_rate, Rate(self.line)));
        self.increases = 0;
    }
}

impl Control for Timely {
    fn acknowledge(&mut self, ack: &Ack<'_>) {
        if ack.acked <= self.round_ends {
            return;
        }
        if self.round_ends > 0 {
            let Params { low, high, beta, .. } = self.settings;
            let (gradient_q16, beta_q16) = (self.gradient_q16(ack.rtt), u128::from(beta.in_q(16)));
            if ack.rtt < low {
                self.increase();
            } else if ack.rtt > high {
                let beyond_q16 = (1 << 16) - (u128::from(high.0) << 16) / u128::from(ack.rtt.0);
                self.decrease((beta_q16 * beyond_q16) >> 16);
            } else if gradient_q16 <= 0 {
                self.increase();
            } else {
                self.decrease((beta_q16 * gradient_q16.unsigned_abs()) >> 16);
            }
        }
        (self.round_ends, self.last) = (ack.next, ack.rtt);
    }

    fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "difference_ns", value: (self.difference.max(0) / 1_000) as u64, bits: 0 })
    }
}
