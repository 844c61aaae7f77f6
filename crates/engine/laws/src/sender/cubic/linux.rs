//! CUBIC as in Linux.
//! Sources: Linux 6.12, net/ipv4/tcp_cubic.c (bictcp_update, cubictcp_recalc_ssthresh, cubictcp_cwnd_event, cubictcp_acked).
//! Law:     one segment of growth for every `per` segments acknowledged (credits.rs). per = cwnd / (W(t) - cwnd), or 100 cwnd if
//!          the function is not above the window, at most 20 before the first loss; at most cwnd / (W_est - cwnd) if Reno's window is
//!          larger; at least 2. per is updated when the window has grown by a segment, or after seven ticks without growth:
//!          Reno's growth in between then counts at once. The function is evaluated once a tick, Reno's window each time.
//! Units:   windows in whole segments; times in ticks of 4 ms, K in 1/1024 s.
//! Owns:    the stage, W_max, K, W_est, `per`, the counted segments, the least round trip, by which W(t) is ahead; hystart.rs has its own
//!          before a stage begins. The endpoint owns loss recovery.
//! Departs: the phase of ticks is that of the simulation's clock.
//! Checked: vectors/cubic.json.

use fanin_units::Time;

use super::super::control::{Ack, Cause, Congestion, Window};
use super::super::credits::Credits;
use super::curve::{TICK_PS, away, k, micros};
use super::hystart::{HyStart, Progress};
use super::params::Params;
use super::stage::Stage;

/// A tick of Linux's clock (HZ = 250).
const JIFFY: Time = Time::from_millis(4);
/// Ticks that `per` stays the same at most while the window does (HZ / 32).
const HOLD: u16 = 250 / 32;
/// Ticks of a second (HZ): round trips count again so long after a stage began.
const SECOND: u32 = 250;
/// No stage has begun.
const NONE: u32 = u32::MAX;

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    /// Share of the window that remains after a loss, in 1/1024.
    beta_q10: u16,
    /// C, segments a cubed second, in 1/1024; above zero.
    c_q10: u16,
    fast_convergence: bool,
    /// The least round trip, microseconds; zero before the first, and after a timeout (delay_min).
    least: u32,
    /// HyStart's part that outlives a stage.
    progress: Progress,
    /// The window before the last reduction; zero before the first, and after a timeout.
    w_max: u32,
    /// When the present stage of congestion avoidance began.
    epoch: u32,
    stage: Stage,
    /// Segments to be acknowledged per segment of growth; computed for this window at this time.
    per: u32,
    credits: Credits,
    /// Lower halves, as they are only compared.
    looked_for: u16,
    looked_at: u16,
}

impl Cubic {
    /// The state of a new connection.
    pub fn start(params: &Params) -> Cubic {
        Cubic {
            beta_q10: params.beta.in_q(10) as u16,
            c_q10: params.c.in_q(10) as u16,
            fast_convergence: params.fast_convergence,
            least: 0,
            progress: Progress::default(),
            w_max: 0,
            epoch: NONE,
            stage: HyStart::before(0).kept(),
            per: 0,
            credits: Credits::default(),
            looked_for: 0,
            looked_at: 0,
        }
    }

    /// Note an ACK's round trip, but not soon after recovery.
    pub fn observe(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.filter(|_| self.epoch == NONE || ticks(ack.now).wrapping_sub(self.epoch) >= SECOND)
        else {
            return;
        };
        let rtt = micros(rtt).max(1);
        self.least = if self.least == 0 { rtt } else { self.least.min(rtt) };
    }

    /// HyStart, before the window grows; may end slow start.
    pub fn search(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        // Linux searches again a second after a stage began.
        if self.epoch == NONE {
            let mut hystart = HyStart::of(self.stage);
            hystart.note(&mut self.progress, self.least, ack, mss, window);
            self.stage = hystart.kept();
        }
    }

    /// The connection sends again after it was idle: the stage goes on where it was (CA_EVENT_TX_START).
    pub fn resume(&mut self, now: Time, last_sent: Time) {
        if self.epoch != NONE {
            let idle = ticks(now).wrapping_sub(ticks(last_sent));
            self.epoch = self.epoch.saturating_add(idle).min(ticks(now));
        }
    }

    pub fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        let (cwnd, acked) = ((window.cwnd / mss).max(1), ack.acked.div_ceil(mss));
        let now = ticks(ack.now);
        if self.epoch != NONE {
            self.stage.acked = self.stage.acked.saturating_add(acked);
        }
        if self.looked_for != cwnd as u16 || (now as u16).wrapping_sub(self.looked_at) > HOLD {
            // Evaluate the function once a tick.
            if self.epoch == NONE || now as u16 != self.looked_at {
                (self.looked_for, self.looked_at) = (cwnd as u16, now as u16);
                if self.epoch == NONE {
                    self.start_epoch(now, cwnd, acked);
                }
                let least = Time::from_micros(self.least.into());
                let ahead = u64::from(now.wrapping_sub(self.epoch)) + least.0.div_ceil(JIFFY.0);
                self.per = self.by_the_function(ahead * JIFFY.0 / TICK_PS, cwnd);
            }
            self.per = self.per.min(self.by_reno(cwnd)).max(2);
        }
        self.credits.grow(acked, self.per, mss, window);
    }

    pub fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        let (cwnd, beta) = (window.cwnd / mss, u32::from(self.beta_q10));
        let part = |of: u32, q10: u32| (u64::from(of) * u64::from(q10) / 1024) as u32;
        self.w_max = if cause == Cause::Timeout {
            (self.looked_for, self.least) = (0, 0);
            0
        } else if self.fast_convergence && cwnd < self.w_max {
            part(cwnd, (1024 + beta) / 2)
        } else {
            cwnd
        };
        if cause == Cause::Timeout {
            self.stage = HyStart::after_timeout(at.now, &mut self.progress).kept();
        } else if self.epoch != NONE {
            self.stage = HyStart::before(at.una).kept();
        }
        (self.epoch, self.credits) = (NONE, Credits::default());
        part(at.flight / mss, beta).max(2) * mss
    }

    fn start_epoch(&mut self, now: u32, cwnd: u32, acked: u32) {
        let origin = self.w_max.max(cwnd);
        self.epoch = now.min(NONE - 1);
        self.stage = Stage { k: k(u64::from(origin - cwnd) << 10, self.c_q10), origin, w_est: cwnd, acked };
    }

    fn by_the_function(&self, t: u64, cwnd: u32) -> u32 {
        let Stage { k, origin, .. } = self.stage;
        let away = u32::try_from(away(t, k, self.c_q10) >> 10).unwrap_or(u32::MAX);
        let target = if t < u64::from(k) { origin.saturating_sub(away) } else { origin.saturating_add(away) };
        let per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.w_max == 0 { per.min(20) } else { per }
    }

    /// Reno's window grows by a segment per this many segments, so that with this beta it matches Reno's average (RFC 9438, 4.3).
    fn by_reno(&mut self, cwnd: u32) -> u32 {
        let beta = u32::from(self.beta_q10);
        let eighths = 8 * (1024 + beta) / 3 / (1024 - beta).max(1);
        let a_segment = ((u64::from(cwnd) * u64::from(eighths)) >> 3).clamp(1, u32::MAX.into()) as u32;
        let stage = &mut self.stage;
        let gained = stage.acked.saturating_sub(1) / a_segment;
        stage.acked -= gained * a_segment;
        stage.w_est = stage.w_est.saturating_add(gained);
        if stage.w_est > cwnd { cwnd / (stage.w_est - cwnd) } else { u32::MAX }
    }
}

fn ticks(time: Time) -> u32 {
    (time.0 / JIFFY.0) as u32
}
