//! TCP Vegas: keep a few segments in the path's queues, estimated from the increase of the round-trip time over its minimum.
//! Sources: Brakmo, O'Malley and Peterson, "TCP Vegas: New Techniques for Congestion Detection and Avoidance" (SIGCOMM 1994),
//!          sections 3.2 and 3.3; Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet"
//!          (JSAC 1995).
//! Law:     once a window, diff = (cwnd / BaseRTT - cwnd / RTT) BaseRTT; diff < alpha: cwnd grows by a segment; diff > beta: it
//!          shrinks by one. Slow start doubles every other window and compares after the windows in between, in which cwnd is
//!          constant; it ends at diff > gamma.
//! Units:   cwnd in bytes; diff, alpha, beta and gamma in segments, diff in 1/65536, rounded down; times in picoseconds.
//! Owns:    BaseRTT (the least round trip of the connection), the window's end and its RTT. The endpoint owns loss recovery.
//! Departs: RTT is the least that a window's ACKs measured, so that a delayed ACK does not count if others were not;
//!          Actual is cwnd over it. A step is taken at once at the window's end. Loss detection and reaction follow NewReno,
//!          without Vegas's finer clock; marks likewise.
//! Checked: vectors/vegas.json; tests/trajectories/vegas.txt.

use alloc::format;

use fanin_units::Time;

use super::control::{Ack, Cause, Congestion, Control, Window};
use super::newreno;
use crate::row::Shown;
use crate::settings::{Refusal, params};

params! {
    /// TCP Vegas.
    vegas {
        /// Grow the window if fewer segments than this are in the path's queues.
        #[range(..=1_000)]
        alpha: u32 = 2,
        /// Shrink the window if more segments than this are in the path's queues.
        #[range(..=1_000)]
        beta: u32 = 4,
        /// End slow start if more segments than this are in the path's queues.
        #[range(..=1_000)]
        gamma: u32 = 1,
    }
    refuses |vegas| {
        let what = || {
            format!(
                "Vegas's alpha {} exceeds its beta {}, so the window would both grow and shrink; use an alpha of at most beta",
                vegas.alpha, vegas.beta
            )
        };
        (vegas.alpha > vegas.beta).then(|| Refusal { paths: &["vegas.alpha", "vegas.beta"], what: what() })
    };
}

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct Vegas {
    /// Segments, as gamma and beta are.
    alpha: u16,
    beta: u16,
    gamma: u16,
    /// Slow start lets this window grow; the next one is constant.
    doubling: bool,
    /// The window's end is acknowledged: this ACK is the first of the next window.
    ended: bool,
    /// The last diff, saturated to 32 bits.
    last_q16: u32,
    /// BaseRTT; `NEVER` before the first sample.
    base_rtt: Time,
    /// The least RTT of the window; `NEVER` while there is none.
    rtt: Time,
    /// Bytes sent at the window's start; zero before the first ACK.
    window_end: u64,
}

impl Vegas {
    /// The state of a new connection.
    pub fn start(params: &Params) -> Vegas {
        // At most 1,000 each.
        let [alpha, beta, gamma] = [params.alpha, params.beta, params.gamma].map(|segments| segments as u16);
        let (base_rtt, rtt) = (Time::NEVER, Time::NEVER);
        Vegas { alpha, beta, gamma, doubling: true, ended: false, last_q16: 0, base_rtt, rtt, window_end: 0 }
    }

    /// Segments queued during the window that ended: diff; `None` if it was not measured.
    fn queued_q16(&mut self, mss: u32, window: &Window) -> Option<u64> {
        if self.rtt == Time::NEVER {
            return None;
        }
        // 2^32 bytes times 2^64 ps in 1/65536 fits; a share of cwnd fits in 64 bits.
        let waiting_q16 = (u128::from(window.cwnd) * u128::from(self.rtt.since(self.base_rtt).0)) << 16;
        let queued_q16 = (waiting_q16 / (u128::from(self.rtt.0.max(1)) * u128::from(mss))) as u64;
        self.last_q16 = u32::try_from(queued_q16).unwrap_or(u32::MAX);
        Some(queued_q16)
    }
}

impl Control for Vegas {
    #[inline(always)]
    fn observe(&mut self, ack: &Ack) {
        if self.ended {
            self.rtt = Time::NEVER;
        }
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.rtt = self.rtt.min(rtt);
        }
        self.ended = ack.una > self.window_end && self.window_end > 0;
        // An end beyond the data sent dates from before a timeout; the window is a new one.
        if self.ended || self.window_end == 0 || self.window_end > ack.nxt {
            self.window_end = ack.nxt;
        }
    }

    /// SIGCOMM 1994, section 3.3: double every other window, compare after the windows in between.
    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        if self.ended {
            if !self.doubling && self.queued_q16(mss, window) > Some(u64::from(self.gamma) << 16) {
                window.ssthresh = window.ssthresh.min(window.cwnd.max(2 * mss));
                return;
            }
            self.doubling = !self.doubling;
        }
        if self.doubling {
            newreno::slow_start(ack, mss, window);
        }
    }

    /// SIGCOMM 1994, section 3.2: up a segment below alpha, down one above beta.
    fn congestion_avoidance(&mut self, _ack: &Ack, mss: u32, window: &mut Window) {
        if !self.ended {
            return;
        }
        let Some(queued_q16) = self.queued_q16(mss, window) else { return };
        if queued_q16 < u64::from(self.alpha) << 16 {
            window.cwnd = window.cwnd.saturating_add(mss);
        } else if queued_q16 > u64::from(self.beta) << 16 && window.cwnd > 2 * mss {
            window.cwnd = (window.cwnd - mss).max(2 * mss);
            // A reduced window does not return to slow start.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }

    fn cut(&mut self, _cause: Cause, at: &Congestion, mss: u32, _window: &Window) -> u32 {
        // Slow start after a timeout begins with a window that grows.
        self.doubling = true;
        newreno::ssthresh(at.flight, mss)
    }

    /// Segments in the path's queues at the last comparison.
    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "queued", value: self.last_q16.into(), bits: 16 })
    }
}
