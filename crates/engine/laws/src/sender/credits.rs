//! Window growth in whole segments, as in Linux.
//! Sources: Linux 6.1, net/ipv4/tcp_cong.c (tcp_cong_avoid_ai).
//! Rule:    one segment of growth for every `per` segments acknowledged; if that many were counted before `per` fell, one for
//!          them too.

use super::control::Window;

/// Segments acknowledged since the last growth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credits(u32);

impl Credits {
    /// Count `acked` segments, with one segment of growth per `per`.
    #[inline]
    pub fn grow(&mut self, acked: u32, per: u32, mss: u32, window: &mut Window) {
        let mut grown = u32::from(self.0 >= per);
        self.0 = if grown > 0 { acked } else { self.0.saturating_add(acked) };
        grown += self.0 / per;
        self.0 %= per;
        window.cwnd = window.cwnd.saturating_add(grown.saturating_mul(mss));
    }
}
