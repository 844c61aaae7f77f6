//! NewReno: double the window a round trip below ssthresh, add one segment above, halve on loss.
//! Sources: RFC 5681, sections 3.1 and 4; RFC 3168, section 6.1.2.
//! Law:     below ssthresh cwnd += min(acked, MSS) an ACK; above, cwnd += MSS * MSS / cwnd an ACK, at least one byte;
//!          on congestion ssthresh <- max(flight / 2, 2 MSS).
//! Units:   bytes.
//! Owns:    nothing. The endpoint owns loss recovery (RFC 6582 or 6675).
//! Departs: nowhere.
//! Checked: vectors/newreno.json; tests/trajectories/newreno.txt.

use super::control::{Ack, Cause, Congestion, Control, Window};

/// One connection's state: none.
#[derive(Clone, Copy, Debug)]
pub struct NewReno;

impl NewReno {
    /// The state of a new connection.
    pub fn start() -> NewReno {
        NewReno
    }
}

impl Control for NewReno {
    #[inline]
    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        slow_start(ack, mss, window);
    }

    /// RFC 5681, equation 3.
    #[inline]
    fn congestion_avoidance(&mut self, _ack: &Ack, mss: u32, window: &mut Window) {
        window.cwnd = window.cwnd.saturating_add((mss * mss / window.cwnd).max(1));
    }

    fn cut(&mut self, _cause: Cause, at: &Congestion, mss: u32, _window: &Window) -> u32 {
        ssthresh(at.flight, mss)
    }
}

/// RFC 5681, equation 2.
#[inline]
pub fn slow_start(ack: &Ack, mss: u32, window: &mut Window) {
    window.cwnd = window.cwnd.saturating_add(ack.acked.min(mss));
}

/// RFC 5681, equation 4.
pub fn ssthresh(flight: u32, mss: u32) -> u32 {
    (flight / 2).max(2 * mss)
}
