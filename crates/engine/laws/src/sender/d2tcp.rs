//! D2TCP: DCTCP that backs off less the nearer the flow's deadline is.
//! Sources: Vamanan, Hasan and Vijaykumar, "Deadline-Aware Datacenter TCP (D2TCP)" (SIGCOMM 2012), sections 3.1 and 3.2.
//! Law:     p = alpha^d; on a mark, once a window, ssthresh = cwnd <- cwnd (1 - p / 2). d = Tc / D within [0.5, 2]: D is
//!          the time until the deadline, Tc = RTT B / (3/4 cwnd) the time for the remaining B bytes in DCTCP's saw-tooth.
//! Units:   cwnd and B in bytes; alpha, p and d in 1/65536, rounded down; times in picoseconds.
//! Owns:    the end of the data being sent and its deadline; DCTCP owns alpha. The endpoint owns loss recovery.
//! Departs: a flow whose deadline has passed keeps d = 2, which the paper leaves open; without a deadline d is 1, as in
//!          DCTCP. RTT is the smoothed one.
//! Checked: vectors/d2tcp.json; tests/trajectories/d2tcp.txt.

use fanin_units::Time;

use super::control::{Ack, Cause, Congestion, Control, Window};
use super::dctcp::{Dctcp, Params};
use super::newreno;
use crate::fixed::ONE_Q16;
use crate::row::Shown;

/// The least d (section 3.2).
const D_MIN_Q16: u64 = ONE_Q16 / 2;
/// The largest d (section 3.2).
const D_MAX_Q16: u64 = 2 * ONE_Q16;

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct D2tcp {
    dctcp: Dctcp,
    end: u64,
    deadline: Time,
}

impl D2tcp {
    /// The state of a new connection with nothing to send.
    pub fn start(params: &Params) -> D2tcp {
        D2tcp { dctcp: Dctcp::start(params), end: 0, deadline: Time::NEVER }
    }

    /// Imminence of the deadline (section 3.2): exponent of alpha in a window reduction (section 3.1, equation 2).
    pub fn d_q16(&self, at: &Congestion, window: &Window) -> u64 {
        if self.deadline == Time::NEVER {
            return ONE_Q16;
        }
        let left = u128::from(self.deadline.since(at.now).0).max(1);
        let bytes = u128::from(self.end.saturating_sub(at.una));
        let need = u128::from(at.srtt.0).saturating_mul(4 * bytes) / (3 * u128::from(window.cwnd));
        let d_q16 = (need.min(u64::MAX.into()) << 16) / left;
        d_q16.clamp(D_MIN_Q16.into(), D_MAX_Q16.into()) as u64
    }
}

impl Control for D2tcp {
    fn begin(&mut self, _start: u64, end: u64, deadline: Time) {
        (self.end, self.deadline) = (end, deadline);
    }

    #[inline(always)]
    fn observe(&mut self, ack: &Ack) {
        self.dctcp.count(ack);
    }

    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        newreno::slow_start(ack, mss, window);
    }

    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        self.dctcp.grow(mss, ack, mss, window);
    }

    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        self.dctcp.cut_by(|| Some(self.d_q16(at, window)), cause, at, mss, window)
    }

    fn shown(&self) -> Option<Shown> {
        self.dctcp.shown()
    }
}
