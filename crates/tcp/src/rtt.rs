//! The round-trip estimator and the retransmission timeout (RFC 6298), the spread of samples as the RFC has it, or as Linux does.

use fanin_units::Time;

use crate::params::{Params, RtoFloor, RttVariance};

/// SRTT, RTTVAR and the timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    srtt: Time,
    rttvar: Time,
    /// The timeout; of Linux's variance, which leaves it to be worked out as it is asked for, the mean deviation and its largest of the
    /// round trip, microseconds in either half: an endpoint lies in eight lines of a cache.
    kept: u64,
    /// The round trip ends with the acknowledgement of this: its lower half.
    until: u32,
    backoff: u8,
}

impl Rtt {
    /// Before the first sample (2.1).
    pub fn new(params: &Params) -> Rtt {
        Rtt { srtt: Time::ZERO, rttvar: Time::ZERO, kept: params.rto_initial.0, until: 0, backoff: 0 }
    }

    /// Takes a sample (2.2, 2.3) as `una` of `nxt` are acknowledged; the timeout has no backoff any more.
    pub fn sample(&mut self, params: &Params, r: Time, una: u64, nxt: u64) {
        let first = self.srtt == Time::ZERO;
        match params.rtt_variance {
            RttVariance::Linux => self.largest_of_a_round_trip(r, floor(params), una, nxt),
            RttVariance::Rfc6298 if first => self.rttvar = Time(r.0 / 2),
            RttVariance::Rfc6298 => {
                let delta = self.srtt.0.abs_diff(r.0);
                self.rttvar = Time(self.rttvar.0 - self.rttvar.0 / 4 + delta / 4);
            }
        }
        self.srtt = if first { r } else { Time(self.srtt.0 - self.srtt.0 / 8 + r.0 / 8) };
        if params.rtt_variance == RttVariance::Rfc6298 {
            self.kept = self.worked_out(params).0;
        }
        self.backoff = 0;
    }

    /// Linux 6.1, tcp_rtt_estimator(): RTTVAR is the largest mean deviation of a round trip, and comes down by a quarter a round trip;
    /// the deviation moves by a quarter a sample, by a 32nd as samples come down. Four of the least deviation are `floor`.
    #[cold]
    fn largest_of_a_round_trip(&mut self, r: Time, floor: Time, una: u64, nxt: u64) {
        let micros = |time: Time| u32::try_from(time.0 / Time::from_micros(1).0).unwrap_or(u32::MAX);
        let least = micros(floor) / 4;
        let mut rttvar = micros(self.rttvar);
        let (mut deviation, mut largest) = ((self.kept >> 32) as u32, self.kept as u32);
        if self.srtt == Time::ZERO {
            deviation = micros(r) / 2;
            (largest, rttvar, self.until) = (deviation.max(least), deviation.max(least), nxt as u32);
        } else {
            let error = micros(Time(self.srtt.0.abs_diff(r.0)));
            deviation = match error.checked_sub(deviation) {
                Some(above) => deviation + above / if r < self.srtt { 32 } else { 4 },
                None => deviation - (deviation - error) / 4,
            };
            largest = largest.max(deviation);
            rttvar = rttvar.max(largest);
            if (una as u32).wrapping_sub(self.until) as i32 > 0 {
                rttvar -= (rttvar - largest) / 4;
                (self.until, largest) = (nxt as u32, least);
            }
        }
        self.kept = u64::from(deviation) << 32 | u64::from(largest);
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
            0 => self.without_backoff(params),
            _ => self.backed_off_from(self.without_backoff(params), params),
        }
    }

    #[inline]
    fn without_backoff(&self, params: &Params) -> Time {
        match params.rtt_variance {
            RttVariance::Rfc6298 => Time(self.kept),
            RttVariance::Linux if self.srtt == Time::ZERO => params.rto_initial,
            RttVariance::Linux => self.worked_out(params),
        }
    }

    /// 2.3 and 2.4.
    fn worked_out(&self, params: &Params) -> Time {
        let spread = self.rttvar.saturating_mul(4).max(params.rto_clock).max(floor(params));
        let rto = self.srtt.saturating_add(spread).max(params.rto_min);
        params.in_ticks(rto).min(params.rto_max)
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

/// The least variance, four times.
#[inline]
fn floor(params: &Params) -> Time {
    if params.rto_floor == RtoFloor::Variance { params.rto_min } else { Time::ZERO }
}
