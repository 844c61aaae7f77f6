//! L2DCT: DCTCP weighted by the service that a flow has attained: short flows grow faster and back off less.
//! Sources: Munir, Qazi, Uzmi, Mushtaq, Ismail, Iqbal and Khan, "Minimizing Flow Completion Times in Data Centers"
//!          (INFOCOM 2013), section III.
//! Law:     w_c = 2.5 up to 200 KB sent, then falling evenly to 0.125 at 1 MB; above ssthresh cwnd grows by w_c / 2.5
//!          segments a window; on a mark, once a window, ssthresh = cwnd <- cwnd (1 - b / 2), b = alpha^w_c.
//! Units:   cwnd in bytes; w_c, alpha and b in 1/65536, rounded down.
//! Owns:    where the present flow began; DCTCP owns alpha. The endpoint owns loss recovery.
//! Departs: sent bytes count once they are acknowledged. On a persistent connection every response is a flow of its own.
//! Checked: vectors/l2dct.json; tests/trajectories/l2dct.txt.

use fanin_units::Time;

use super::control::{Ack, Cause, Congestion, Control, Window};
use super::dctcp::{Dctcp, Params};
use super::newreno;
use crate::fixed::ONE_Q16;
use crate::row::Shown;

/// The weight of a flow that has sent little (section III).
const W_MAX_Q16: u64 = 5 * ONE_Q16 / 2;
/// The weight of a flow that has sent much (section III).
const W_MIN_Q16: u64 = ONE_Q16 / 8;
/// Up to these bytes a flow has sent little.
const LITTLE: u64 = 200_000;
/// A flow has sent much from here on, bytes.
const MUCH: u64 = 1_000_000;

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct L2dct {
    dctcp: Dctcp,
    /// Start of the present flow in the stream.
    start: u64,
}

impl L2dct {
    /// The state of a new connection.
    pub fn start(params: &Params) -> L2dct {
        L2dct { dctcp: Dctcp::start(params), start: 1 }
    }

    /// The weight of a flow acknowledged up to `una`: exponent of alpha in a window reduction.
    pub fn weight_q16(&self, una: u64) -> u64 {
        let sent = una.saturating_sub(self.start).clamp(LITTLE, MUCH);
        W_MAX_Q16 - (W_MAX_Q16 - W_MIN_Q16) * (sent - LITTLE) / (MUCH - LITTLE)
    }
}

impl Control for L2dct {
    fn begin(&mut self, start: u64, _end: u64, _deadline: Time) {
        self.start = start;
    }

    #[inline(always)]
    fn observe(&mut self, ack: &Ack) {
        self.dctcp.count(ack);
    }

    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        newreno::slow_start(ack, mss, window);
    }

    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        // A window's worth of ACKs adds a share of a segment.
        let step = (u64::from(mss) * self.weight_q16(ack.una) / W_MAX_Q16) as u32;
        self.dctcp.grow(step, ack, mss, window);
    }

    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        self.dctcp.cut_by(|| Some(self.weight_q16(at.una)), cause, at, mss, window)
    }

    fn shown(&self) -> Option<Shown> {
        self.dctcp.shown()
    }
}
