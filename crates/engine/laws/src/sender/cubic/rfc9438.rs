//! CUBIC as in RFC 9438 (`super`).

use fanin_units::Time;

use super::super::control::{Ack, Cause, Congestion, Window};
use super::curve::{TICK_PS, away, k};
use super::params::Params;

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    /// Share of the window that remains after a loss, in 1/1024.
    beta_q10: u16,
    /// C, segments per second cubed, in 1/1024; above zero.
    c_q10: u16,
    fast_convergence: bool,
    /// The plateau of the next stage, bytes; zero if it starts at its own: before the first reduction, and after a timeout.
    w_max: u32,
    /// The window before the last reduction, bytes (cwnd_prior).
    prior: u32,
    /// The start of the current stage of congestion avoidance; `NEVER` before its first ACK.
    epoch: Time,
    /// The time at which the function reaches its plateau, ticks.
    k: u32,
    /// The plateau, bytes.
    origin: u32,
    /// Reno's window, in 1/1024 byte.
    w_est_q10: u64,
}

impl Cubic {
    /// The state of a new connection.
    pub fn start(params: &Params) -> Cubic {
        Cubic {
            beta_q10: params.beta.in_q(10) as u16,
            c_q10: params.c.in_q(10) as u16,
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

impl Cubic {
    /// RFC 9438, sections 4.2 to 4.5.
    pub fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
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
    pub fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        let beta = u64::from(self.beta_q10);
        self.prior = window.cwnd;
        self.w_max = if cause == Cause::Timeout {
            // 4.8: the stage after a timeout has K = 0, and its own first window as W_max.
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

    fn start_epoch(&mut self, now: Time, mss: u32, window: &Window) {
        self.epoch = now;
        self.w_est_q10 = u64::from(window.cwnd) << 10;
        self.origin = self.w_max.max(window.cwnd);
        let below_q10 = (u64::from(self.origin - window.cwnd) << 10) / u64::from(mss);
        self.k = k(below_q10, self.c_q10);
    }

    /// The cubic function, bytes.
    fn at(&self, t: u64, mss: u32) -> u64 {
        let bytes = (u128::from(away(t, self.k, self.c_q10)) * u128::from(mss)) >> 10;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let origin = u64::from(self.origin);
        if t < u64::from(self.k) { origin.saturating_sub(bytes) } else { origin.saturating_add(bytes) }
    }

    /// RFC 9438, equation 4: alpha = 3 (1 - beta) / (1 + beta) until Reno's window has regained cwnd_prior, then 1.
    fn reno_step_q10(&self, acked: u32, mss: u32, cwnd: u32) -> u64 {
        let beta = u64::from(self.beta_q10);
        let regained = self.w_est_q10 >> 10 >= u64::from(self.prior);
        let alpha_q10 = if regained { 1024 } else { 3 * 1024 * (1024 - beta) / (1024 + beta) };
        alpha_q10 * u64::from(acked) * u64::from(mss) / u64::from(cwnd)
    }
}
