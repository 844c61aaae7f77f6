//! Growth in whole segments, as Linux counts it.
//! Sources: Linux 6.1, net/ipv4/tcp_cong.c (tcp_cong_avoid_ai).
//! Rule:    a segment of growth for every `per` segments acknowledged; where as many were counted before `per` came down, for them
//!          too, but one.

use super::control::Window;

/// Segments acknowledged since the window has grown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credits(u32);

impl Credits {
    /// `acked` segments more, of which `per` make the window grow by one.
    #[inline]
    pub fn grow(&mut self, acked: u32, per: u32, mss: u32, window: &mut Window) {
        let mut grown = u32::from(self.0 >= per);
        self.0 = if grown > 0 { acked } else { self.0.saturating_add(acked) };
        grown += self.0 / per;
        self.0 %= per;
        window.cwnd = window.cwnd.saturating_add(grown.saturating_mul(mss));
    }
}
