//! CUBIC: grow along a cubic function of the time since the last loss.
//! Sources: RFC 9438, sections 4.1 to 4.8.
//! Law:     W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch) / C); cwnd moves to W(t + RTT) within a round trip,
//!          and is never under the window that Reno would have; on loss ssthresh <- beta flight.
//! Units:   cwnd in bytes; t and K in 1/1024 s; windows of the cubic function in 1/1024 segment; C and beta in 1/1024.
//! Owns:    the epoch, W_max, K, W_est. The endpoint owns loss recovery.
//! Departs: time is counted in 1/1024 s (as Linux does), and (t - K) is held within 128 s.
//! Checked: vectors/cubic.json; tests/trajectories/cubic.txt.

use fanin_units::{Share, Time};

use super::control::{Ack, Cause, Congestion, Control, Window};
use super::newreno;
use crate::fixed::cbrt;
use crate::settings::params;

/// Picoseconds in 1/1024 s.
const TICK_PS: u64 = 1_000_000_000_000 / 1024;
/// 128 s: past it the cube would not fit.
const SPAN_MAX: u64 = 128 << 10;

params! {
    /// CUBIC (RFC 9438).
    cubic {
        /// What is left of the window after a loss.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.7")]
        beta: Share = Share::of(7, 10),
        /// The constant C of the cubic function, in segments a cubed second.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.4")]
        c: Share = Share::of(4, 10),
        /// Give up bandwidth to newer flows sooner (RFC 9438, section 4.7).
        fast_convergence: bool = true,
    }
}

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    /// What is left of the window after a loss, in 1/1024.
    beta_q10: u32,
    /// C, segments a cubed second, in 1/1024; above zero.
    c_q10: u32,
    fast_convergence: bool,
    /// The plateau that the next stage aims at, bytes; zero where it starts at its own: before the first reduction, and
    /// after a timeout.
    w_max: u32,
    /// The window before the last reduction, bytes (cwnd_prior).
    prior: u32,
    /// The start of the present stage of congestion avoidance; `NEVER` before its first ACK.
    epoch: Time,
    /// The time at which the function reaches its plateau, ticks.
    k: u64,
    /// The plateau, bytes.
    origin: u32,
    /// What Reno would have, in 1/1024 byte.
    w_est_q10: u64,
}

impl Cubic {
    /// The state of a new connection.
    pub fn start(params: &Params) -> Cubic {
        Cubic {
            beta_q10: params.beta.in_q(10),
            c_q10: params.c.in_q(10),
            fast_convergence: params.fast_convergence,
            w_max: 0,
            prior: 0,
            epoch: Time::NEVER,
            k: 0,
            origin: 0,
            w_est_q10: 0,
        }
    }
}

impl Control for Cubic {
    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        newreno::slow_start(ack, mss, window);
    }

    /// RFC 9438, sections 4.2 to 4.5.
    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        if self.epoch == Time::NEVER {
            self.start_epoch(ack.now, mss, window);
        }
        let t = ack.now.since(self.epoch).saturating_add(ack.srtt).0 / TICK_PS;
        let target = self.at(t, mss).clamp(u64::from(window.cwnd), u64::from(window.cwnd) * 3 / 2);
        let step = (target - u64::from(window.cwnd)) * u64::from(ack.acked) / u64::from(window.cwnd);
        let cubic = u64::from(window.cwnd) + step;
        self.w_est_q10 += self.reno_step_q10(ack.acked, mss, window.cwnd);
        window.cwnd = u32::try_from(cubic.max(self.w_est_q10 >> 10)).unwrap_or(u32::MAX);
    }

    /// RFC 9438, sections 4.6, 4.7 and 4.8.
    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        let beta = u64::from(self.beta_q10);
        self.prior = window.cwnd;
        self.w_max = if cause == Cause::Timeout {
            // 4.8: the stage after a timeout has K = 0, and its own first window for W_max.
            0
        } else if self.fast_convergence && window.cwnd < self.w_max {
            (u64::from(window.cwnd) * (1024 + beta) / 2048) as u32
        } else {
            window.cwnd
        };
        self.epoch = Time::NEVER;
        // beta is at most one, so the product over 1024 fits.
        ((u64::from(at.flight) * beta / 1024) as u32).max(2 * mss)
    }
}

impl Cubic {
    fn start_epoch(&mut self, now: Time, mss: u32, window: &Window) {
        self.epoch = now;
        self.w_est_q10 = u64::from(window.cwnd) << 10;
        self.origin = self.w_max.max(window.cwnd);
        let below_q10 = (u64::from(self.origin - window.cwnd) << 10) / u64::from(mss);
        // In ticks: K^3 = below / C, and a cubed second is 2^30 cubed ticks. A window is under 2^32 bytes of at least
        // 64 a segment, so the product is under 2^66 only in 128 bits.
        let cubed = (u128::from(below_q10) << 30) / u128::from(self.c_q10);
        self.k = cbrt(u64::try_from(cubed).unwrap_or(u64::MAX));
    }

    /// The cubic function, bytes.
    fn at(&self, t: u64, mss: u32) -> u64 {
        let span = t.abs_diff(self.k).min(SPAN_MAX);
        // 2^51 (cubed ticks) times 2^10 (C up to one) fits.
        let segments_q10 = (span * span * span).saturating_mul(u64::from(self.c_q10)) >> 30;
        let bytes = (u128::from(segments_q10) * u128::from(mss)) >> 10;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let origin = u64::from(self.origin);
        if t < self.k { origin.saturating_sub(bytes) } else { origin.saturating_add(bytes) }
    }

    /// RFC 9438, equation 4: alpha = 3 (1 - beta) / (1 + beta) until Reno's window has regained cwnd_prior, then 1.
    fn reno_step_q10(&self, acked: u32, mss: u32, cwnd: u32) -> u64 {
        let beta = u64::from(self.beta_q10);
        let regained = self.w_est_q10 >> 10 >= u64::from(self.prior);
        let alpha_q10 = if regained { 1024 } else { 3 * 1024 * (1024 - beta) / (1024 + beta) };
        alpha_q10 * u64::from(acked) * u64::from(mss) / u64::from(cwnd)
    }
}
