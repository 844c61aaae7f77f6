//! The round-trip estimator and the retransmission timeout (RFC 6298).

use fanin_units::Time;

use crate::params::Params;

/// SRTT, RTTVAR and the timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    srtt: Time,
    rttvar: Time,
    rto: Time,
    backoff: u32,
}

impl Rtt {
    /// State before the first sample (2.1).
    pub fn new(params: &Params) -> Rtt {
        Rtt { srtt: Time::ZERO, rttvar: Time::ZERO, rto: params.rto_initial, backoff: 0 }
    }

    /// Take a sample (2.2, 2.3); recompute the timeout, without backoff.
    #[inline]
    pub fn sample(&mut self, params: &Params, r: Time) {
        if self.srtt == Time::ZERO {
            (self.srtt, self.rttvar) = (r, Time(r.0 / 2));
        } else {
            let delta = self.srtt.0.abs_diff(r.0);
            self.rttvar = Time(self.rttvar.0 - self.rttvar.0 / 4 + delta / 4);
            self.srtt = Time(self.srtt.0 - self.srtt.0 / 8 + r.0 / 8);
        }
        self.work_out(params);
        self.backoff = 0;
    }

    /// Replace RTTVAR by another estimate.
    pub fn set_variance(&mut self, params: &Params, rttvar: Time) {
        self.rttvar = rttvar;
        self.work_out(params);
    }

    /// 2.3 and 2.4.
    #[inline]
    fn work_out(&mut self, params: &Params) {
        let spread = self.rttvar.saturating_mul(4).max(params.rto_clock).max(params.least_spread());
        let rto = self.srtt.saturating_add(spread).max(params.rto_min);
        self.rto = params.in_ticks(rto).min(params.rto_max);
    }

    /// Double the timeout (5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    /// Clear the backoff.
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

    /// Another timeout with the same backoff, for a SYN.
    pub fn backed_off_from(&self, timeout: Time, params: &Params) -> Time {
        timeout.saturating_mul(1 << self.backoff).min(params.rto_max)
    }

    /// The smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Time {
        self.srtt
    }
}
