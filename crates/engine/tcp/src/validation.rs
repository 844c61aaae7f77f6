//! Window validation: a window that the application does not fill does not grow, and shrinks if long unfilled.
//! Sources: RFC 7661's idea and RFC 2861's rules, as in Linux 6.1: tcp_is_cwnd_limited, tcp_cwnd_validate,
//!          tcp_cwnd_application_limited and tcp_cwnd_restart.

use fanin_laws::sender::Window;
use fanin_units::Time;

use crate::params::Params;

/// Use of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validation {
    /// End of the observed window of data.
    until: u64,
    /// The most data outstanding in it, and whether the congestion window was the limit.
    most_out: u32,
    limited: bool,
    /// The most data outstanding since the window was last filled, and that time; `NEVER` before anything was sent.
    used: u32,
    filled_at: Time,
}

/// The sender's state after it sent all that it could.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub now: Time,
    pub una: u64,
    pub nxt: u64,
    /// Unacknowledged data as the window counts it, bytes.
    pub flight: u64,
    /// Bytes estimated to be in flight.
    pub pipe: u64,
    /// Something was sent.
    pub sent: bool,
    /// No known loss.
    pub open: bool,
    pub timeout: Time,
}

impl Validation {
    /// State before anything is sent.
    pub fn new() -> Validation {
        Validation { until: 0, most_out: 0, limited: false, used: 0, filled_at: Time::NEVER }
    }

    /// Note the outstanding data; shrink the window halfway to its use if it was not filled for a timeout.
    pub fn note(&mut self, at: &Usage, params: &Params, window: &mut Window) {
        // Partial segments count as whole.
        let out = at.flight.next_multiple_of(params.mss.into()) as u32;
        let limited = at.pipe + u64::from(params.mss) > u64::from(window.cwnd);
        if !at.sent && !limited {
            return;
        }
        if at.una >= self.until || limited || (!self.limited && out > self.most_out) {
            (self.limited, self.most_out, self.until) = (limited, out, at.nxt);
        }
        if self.is_filled(window) || self.filled_at == Time::NEVER {
            (self.used, self.filled_at) = (0, at.now);
            return;
        }
        self.used = self.used.max(out);
        if params.idle_restart && at.now.since(self.filled_at) >= at.timeout {
            let used = self.used.max(params.initial_cwnd);
            if at.open && used < window.cwnd {
                window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
                window.cwnd = (window.cwnd + used) / 2;
                self.used = 0;
            }
            self.filled_at = at.now;
        }
    }

    /// After an idle time of more than a timeout: halves the window for each timeout, down to the initial one (RFC 2861, section 3; in Linux
    /// 6.1 tcp_slow_start_after_idle_check and tcp_cwnd_restart).
    #[cold]
    pub fn restart(&mut self, now: Time, last_sent: Time, timeout: Time, params: &Params, window: &mut Window) {
        let idle = now.since(last_sent);
        if idle <= timeout {
            return;
        }
        let (timeouts, unit) = ((idle.0 - 1) / timeout.0.max(1), params.window_unit());
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
        let halved = (window.cwnd / unit) >> timeouts.min(31);
        window.cwnd = (halved * unit).max(window.cwnd.min(params.initial_cwnd));
        (self.used, self.filled_at) = (0, now);
    }

    /// Whether the window may grow: it was the limit or, in slow start, at least half of it was used.
    pub fn is_filled(&self, window: &Window) -> bool {
        self.limited || (window.cwnd < window.ssthresh && u64::from(window.cwnd) < 2 * u64::from(self.most_out))
    }
}
