//! The round-trip estimator and the retransmission timeout (RFC 6298), the spread of samples as the RFC has it, or as Linux does.

use fanin_units::Time;

use crate::params::{Params, RtoFloor, RttVariance};

/// SRTT, RTTVAR and the timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    srtt: Time,
    rttvar: Time,
    rto: Time,
    backoff: u32,
    recent: Recent,
}

/// Linux's mean deviation, and its largest of the round trip that ends with the acknowledgement of `until`; microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    deviation: u32,
    largest: u32,
    until: u64,
}

impl Rtt {
    /// Before the first sample (2.1).
    pub fn new(params: &Params) -> Rtt {
        Rtt { srtt: Time::ZERO, rttvar: Time::ZERO, rto: params.rto_initial, backoff: 0, recent: Recent::default() }
    }

    /// Takes a sample (2.2, 2.3) as `una` of `nxt` are acknowledged; the timeout is computed anew, without backoff.
    pub fn sample(&mut self, params: &Params, r: Time, una: u64, nxt: u64) {
        let floor = if params.rto_floor == RtoFloor::Variance { params.rto_min } else { Time::ZERO };
        let first = self.srtt == Time::ZERO;
        match params.rtt_variance {
            RttVariance::Linux => self.largest_of_a_round_trip(r, floor, una, nxt),
            RttVariance::Rfc6298 if first => self.rttvar = Time(r.0 / 2),
            RttVariance::Rfc6298 => {
                let delta = self.srtt.0.abs_diff(r.0);
                self.rttvar = Time(self.rttvar.0 - self.rttvar.0 / 4 + delta / 4);
            }
        }
        self.srtt = if first { r } else { Time(self.srtt.0 - self.srtt.0 / 8 + r.0 / 8) };
        let spread = self.rttvar.saturating_mul(4).max(params.rto_clock).max(floor);
        let rto = self.srtt.saturating_add(spread).max(params.rto_min);
        self.rto = params.in_ticks(rto).min(params.rto_max);
        self.backoff = 0;
    }

    /// Linux 6.1, tcp_rtt_estimator(): RTTVAR is the largest mean deviation of a round trip, and comes down by a quarter a round trip;
    /// the deviation moves by a quarter a sample, by a 32nd as samples come down. Four of the least deviation are `floor`.
    #[cold]
    fn largest_of_a_round_trip(&mut self, r: Time, floor: Time, una: u64, nxt: u64) {
        let micros = |time: Time| u32::try_from(time.0 / Time::from_micros(1).0).unwrap_or(u32::MAX);
        let least = micros(floor) / 4;
        let mut rttvar = micros(self.rttvar);
        let recent = &mut self.recent;
        if self.srtt == Time::ZERO {
            let deviation = micros(r) / 2;
            (rttvar, *recent) = (deviation.max(least), Recent { deviation, largest: deviation.max(least), until: nxt });
        } else {
            let error = micros(Time(self.srtt.0.abs_diff(r.0)));
            recent.deviation = match error.checked_sub(recent.deviation) {
                Some(above) => recent.deviation + above / if r < self.srtt { 32 } else { 4 },
                None => recent.deviation - (recent.deviation - error) / 4,
            };
            recent.largest = recent.largest.max(recent.deviation);
            rttvar = rttvar.max(recent.largest);
            if una > recent.until {
                rttvar -= (rttvar - recent.largest) / 4;
                (recent.until, recent.largest) = (nxt, least);
            }
        }
        self.rttvar = Time::from_micros(rttvar.into());
    }

    /// Doubles the timeout (5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// Forgets the backoff.
    pub fn forget_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Whether the timer has fired since the last ACK of new data.
    pub fn backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// The timeout, with its backoff, up to the maximum (2.5).
    #[inline]
    pub fn timeout(&self, params: &Params) -> Time {
        match self.backoff {
            0 => self.rto,
            _ => self.backed_off_from(self.rto, params),
        }
    }

    /// Another timeout under the same backoff: a SYN's.
    pub fn backed_off_from(&self, timeout: Time, params: &Params) -> Time {
        timeout.saturating_mul(1 << self.backoff).min(params.rto_max)
    }

    /// The smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Time {
        self.srtt
    }
}
