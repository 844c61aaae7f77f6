//! Gentle slow start: below ssthresh, grow more slowly the fuller the path's queues are.
//! Sources: Memon, Huang and Saajid, "Gentle Slow Start to Alleviate TCP Incast in Data Center Networks" (2019),
//!          section 3.2, equations 7 and 8, Algorithm 1.
//! Law:     alpha = (RTT - RTTmin) / (RTTmax - RTTmin); once a window, cwnd <- cwnd + cwnd^(1 - alpha).
//! Units:   the law's cwnd in segments with sixteen bits of fraction; alpha in 1/65536; times in picoseconds.
//! Owns:    RTT, RTTmin, RTTmax of the connection, the window's end. A new connection starts at 2 segments, which the
//!          driver ensures.
//! Departs: alpha is 0 while RTTmax = RTTmin, which the paper leaves open. Algorithm 1 updates RTTs with ACKs. The handshake's packets
//!          are small, so their round trip is shorter than any of data: if it counts (`handshake`), alpha is 1 on an idle link,
//!          where the paper's Case 1 grows exponentially.
//! Checked: vectors/gentle_slow_start.json; tests/trajectories/gentle_slow_start.txt.

use fanin_units::Time;

use super::control::{Ack, Window};
use crate::fixed::{ONE_Q16, pow_q16};
use crate::row::Shown;
use crate::settings::params;

params! {
    /// Gentle slow start.
    gss {
        /// Initial congestion window, in segments, replacing tcp.initial_window.
        #[range(1..=1_000)]
        initial_window: u32 = 2,
        /// Count the handshake's round trip for RTTmin and RTTmax; off: round trips of data only.
        handshake: bool = false,
    }
}

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct GentleSlowStart {
    rtt: Time,
    rtt_min: Time,
    rtt_max: Time,
    /// End of the window being acknowledged; zero until its first ACK.
    window_end: u64,
    window_done: bool,
    counts_handshake: bool,
}

impl Default for GentleSlowStart {
    fn default() -> GentleSlowStart {
        GentleSlowStart::start(&Params::default())
    }
}

impl GentleSlowStart {
    /// The state of a new connection.
    pub fn start(params: &Params) -> GentleSlowStart {
        let (rtt, rtt_min, rtt_max) = (Time::ZERO, Time::NEVER, Time::ZERO);
        let counts_handshake = params.handshake;
        GentleSlowStart { rtt, rtt_min, rtt_max, window_end: 0, window_done: false, counts_handshake }
    }

    /// Take the handshake's round trip.
    pub fn handshake(&mut self, rtt: Time) {
        if self.counts_handshake {
            self.sample(rtt);
        }
    }

    fn sample(&mut self, rtt: Time) {
        self.rtt = rtt;
        self.rtt_min = self.rtt_min.min(rtt);
        self.rtt_max = self.rtt_max.max(rtt);
    }

    /// Update the round-trip time and check whether a whole window is acknowledged (Algorithm 1, line 7).
    pub fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        // Data sent on the ACK that ends a window belongs to the next one, whose end is set by the following ACK.
        let ends = self.window_end > 0 && ack.una >= self.window_end;
        self.window_done = ends || ack.una >= ack.nxt;
        if self.window_done {
            self.window_end = 0;
        } else if self.window_end == 0 || self.window_end > ack.nxt {
            // An end beyond the data sent dates from before a timeout; the window is a new one.
            self.window_end = ack.nxt;
        }
    }

    /// Equation 8, once a window.
    pub fn grow(&self, _ack: &Ack, mss: u32, window: &mut Window) {
        if !self.window_done {
            return;
        }
        let segments_q16 = ((u64::from(window.cwnd) << 16) / u64::from(mss)).max(ONE_Q16);
        let step_q16 = pow_q16(segments_q16, ONE_Q16 - self.alpha_q16());
        let step = (u128::from(step_q16) * u128::from(mss)) >> 16;
        window.cwnd = window.cwnd.saturating_add(u32::try_from(step).unwrap_or(u32::MAX));
    }

    /// Equation 7: fill of the path's queues, from 0 to 65536.
    pub fn alpha_q16(&self) -> u64 {
        let range = self.rtt_max.since(self.rtt_min).0;
        if range == 0 {
            return 0;
        }
        ((u128::from(self.rtt.since(self.rtt_min).0) << 16) / u128::from(range)) as u64
    }
    /// State to display.
    pub fn shown(&self) -> Shown {
        Shown { name: "alpha", value: self.alpha_q16(), bits: 16 }
    }
}
