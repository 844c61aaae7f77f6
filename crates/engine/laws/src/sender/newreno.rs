//! NewReno: double the window a round trip below ssthresh, add one segment above, halve on loss.
//! Sources: RFC 5681, sections 3.1 and 4; RFC 3168, section 6.1.2; Linux 6.1, net/ipv4/tcp_cong.c (tcp_reno_cong_avoid,
//!          tcp_reno_ssthresh), for the variant of that name.
//! Law:     below ssthresh cwnd += min(acked, MSS) an ACK; above, cwnd += MSS * MSS / cwnd an ACK, at least one byte;
//!          on congestion ssthresh <- max(flight / 2, 2 MSS). In Linux a window is whole segments: above, cwnd += MSS for every
//!          cwnd acknowledged, and half a window is rounded down.
//! Units:   bytes.
//! Owns:    in Linux the bytes acknowledged since the last growth. The endpoint owns loss recovery (RFC 6582 or 6675).
//! Departs: nowhere.
//! Checked: vectors/newreno.json; tests/trajectories/newreno.txt.

use super::control::{Ack, Cause, Congestion, Control, Window};
use super::credits::Credits;
use crate::settings::{params, words};

words! {
    /// Variant of NewReno.
    Variant, "\"rfc5681\" or \"linux\"" {
        /// RFC 5681: above ssthresh the window moves with every ACK.
        Rfc5681 = "rfc5681",
        /// Linux 6.1 (net/ipv4/tcp_cong.c): windows are whole segments.
        Linux = "linux",
    }
}

params! {
    /// NewReno (RFC 5681).
    newreno {
        /// Variant of NewReno: the RFC's, or Linux's, which counts whole segments.
        variant: Variant = Variant::Rfc5681,
    }
}

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub enum NewReno {
    /// The RFC's: no state.
    Rfc5681,
    /// Linux's.
    Linux(Credits),
}

impl NewReno {
    /// The state of a new connection.
    pub fn start(params: &Params) -> NewReno {
        match params.variant {
            Variant::Rfc5681 => NewReno::Rfc5681,
            Variant::Linux => NewReno::Linux(Credits::default()),
        }
    }
}

impl Control for NewReno {
    #[inline]
    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        slow_start(ack, mss, window);
    }

    fn takes_several(&self) -> bool {
        matches!(self, NewReno::Linux(_))
    }

    /// RFC 5681, equation 3.
    #[inline]
    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        match self {
            NewReno::Rfc5681 => window.cwnd = window.cwnd.saturating_add((mss * mss / window.cwnd).max(1)),
            NewReno::Linux(credits) => credits.grow(ack.acked.div_ceil(mss), (window.cwnd / mss).max(1), mss, window),
        }
    }

    fn cut(&mut self, _cause: Cause, at: &Congestion, mss: u32, _window: &Window) -> u32 {
        match self {
            NewReno::Rfc5681 => ssthresh(at.flight, mss),
            NewReno::Linux(credits) => {
                *credits = Credits::default();
                (at.flight / mss / 2).max(2) * mss
            }
        }
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
