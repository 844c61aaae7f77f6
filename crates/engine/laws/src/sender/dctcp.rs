//! DCTCP: reduce the window in proportion to the share of marked bytes.
//! Sources: RFC 8257, sections 3.3 to 3.5; Alizadeh et al., SIGCOMM 2010, section 3.
//! Law:     alpha <- (1 - g) alpha + g F once a window, F the share of acknowledged bytes whose ACK echoed a mark;
//!          on a mark, once a window, ssthresh = cwnd <- cwnd (1 - alpha / 2).
//! Units:   cwnd in bytes; alpha and g in 1/65536, rounded down.
//! Owns:    alpha, the window's acked and marked bytes. The endpoint owns loss recovery and the gate on ECE.
//! Departs: a floor under a window reduction, which the RFC leaves open: two segments (Linux 6.1 and FreeBSD 14, tcp_dctcp.c and
//!          cc_dctcp.c; the paper's arithmetic in 4.2.1) or one (ns-3 3.37 has no floor of its own). Above ssthresh the window
//!          grows by a segment per window of whole segments acknowledged, as deployed stacks count: at DCTCP's few
//!          segments, RFC 5681's MSS * MSS / cwnd would give a fifth less. Slow start and loss follow NewReno.
//! Checked: vectors/dctcp.json; tests/trajectories/dctcp.txt.

use fanin_units::Share;

use super::control::{Ack, Cause, Congestion, Control, Window};
use super::newreno;
use crate::fixed::share_pow_q16;
use crate::row::Shown;
use crate::settings::params;

params! {
    /// DCTCP (RFC 8257), and the settings that d2tcp and l2dct share with it.
    dctcp {
        /// Weight of a new sample in alpha.
        #[range(Share::of(1, 1 << 17).., "it would never move alpha; the usual value is \"1/16\"")]
        g: Share = Share::of(1, 16),
        /// Alpha of a new connection.
        initial_alpha: Share = Share::of(1, 1),
        /// Minimum window after a mark, in segments: 2 in Linux, FreeBSD and the paper's arithmetic (section 4.2.1); 1 in ns-3, which has only TCP's own minimum. After a loss it is 2 either way.
        #[range(1..=2, "implementations use one or the other")]
        min_window: u32 = 2,
    }
}

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    /// From 1 to 65536, as alpha is at most 65536.
    g_q16: u32,
    alpha_q16: u32,
    acked: u32,
    marked: u32,
    window_end: u64,
    /// Bytes acknowledged since the last step of congestion avoidance.
    towards_step: u32,
    /// Minimum segments after a mark.
    min_window: u32,
}

impl Dctcp {
    /// The state of a new connection.
    pub fn start(params: &Params) -> Dctcp {
        Dctcp {
            g_q16: params.g.in_q(16),
            alpha_q16: params.initial_alpha.in_q(16),
            acked: 0,
            marked: 0,
            window_end: 0,
            towards_step: 0,
            min_window: params.min_window,
        }
    }

    /// Count the ACK; at the end of a window, update alpha (RFC 8257, section 3.3, steps 1 to 8).
    #[inline(always)]
    pub fn count(&mut self, ack: &Ack) {
        self.acked = self.acked.saturating_add(ack.acked);
        if ack.ece {
            self.marked = self.marked.saturating_add(ack.acked);
        }
        if ack.una <= self.window_end {
            return;
        }
        let share_q16 = if self.acked == 0 { 0 } else { (u64::from(self.marked) << 16) / u64::from(self.acked) };
        let kept = (65_536 - u64::from(self.g_q16)) * u64::from(self.alpha_q16);
        // Both terms are under 2^32, and together at most 65536 * 65536.
        self.alpha_q16 = ((kept + u64::from(self.g_q16) * share_q16) >> 16) as u32;
        (self.acked, self.marked) = (0, 0);
        self.window_end = ack.nxt;
    }

    /// Grow by `step` bytes per window of whole segments acknowledged: one segment, unless a variant differs.
    pub fn grow(&mut self, step: u32, ack: &Ack, mss: u32, window: &mut Window) {
        self.towards_step = self.towards_step.saturating_add(ack.acked);
        let whole = (window.cwnd - window.cwnd % mss).max(mss);
        if self.towards_step >= whole {
            self.towards_step -= whole;
            window.cwnd = window.cwnd.saturating_add(step);
        }
    }

    /// The new ssthresh. The window after a mark (RFC 8257, section 3.5) is at least `min_window`; a variant raises alpha to
    /// a power. The share is at most one, so at most half of the window goes.
    pub fn cut_by(
        &self,
        power_q16: impl FnOnce() -> Option<u64>,
        cause: Cause,
        at: &Congestion,
        mss: u32,
        window: &Window,
    ) -> u32 {
        if cause != Cause::Ecn {
            return newreno::ssthresh(at.flight, mss);
        }
        let alpha_q16 = u64::from(self.alpha_q16);
        let share_q16 = power_q16().map_or(alpha_q16, |power_q16| share_pow_q16(alpha_q16, power_q16));
        let off = (u64::from(window.cwnd) * share_q16) >> 17;
        (window.cwnd - off as u32).max(self.min_window * mss)
    }

    /// The running estimate of the share of marked bytes, in 1/65536.
    pub fn alpha_q16(&self) -> u32 {
        self.alpha_q16
    }
}

impl Control for Dctcp {
    #[inline(always)]
    fn observe(&mut self, ack: &Ack) {
        self.count(ack);
    }

    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        newreno::slow_start(ack, mss, window);
    }

    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        self.grow(mss, ack, mss, window);
    }

    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        self.cut_by(|| None, cause, at, mss, window)
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "alpha", value: self.alpha_q16.into(), bits: 16 })
    }
}
