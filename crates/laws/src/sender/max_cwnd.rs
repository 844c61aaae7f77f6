//! The window's cap, handed out by the switch: M21's sender half.
//! Sources: Adesanmi and Mhamdi, "M21TCP: Overcoming TCP Incast Congestion in Data Centres" (CloudNet 2015),
//!          section III-C, item 3, equation 2.
//! Law:     cwnd <- min(cwnd + growth, MCW), less the sender's own option bytes.
//! Units:   bytes.
//! Owns:    the latest MCW that the receiver echoed. The base law owns growth and cuts.
//! Departs: whole segments are sent while one fits, since the switch's formula takes off one header a window and
//!          fractional last segments would overflow its buffer; below one segment, short segments; below 64 bytes
//!          (where the formula reaches zero), 64 bytes, since a sender that sends nothing would never learn a new MCW.
//! Checked: vectors/max_cwnd.json; tests/trajectories/max_cwnd.txt.

use super::Window;

/// The least window.
const FLOOR: u32 = 64;

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct MaxCwnd {
    mcw: u32,
    option_bytes: u32,
}

impl MaxCwnd {
    /// No window is handed out yet; the sender's segments carry `option_bytes` of TCP options.
    pub fn new(option_bytes: u32) -> MaxCwnd {
        MaxCwnd { mcw: u32::MAX, option_bytes }
    }

    /// Takes the MCW that an ACK echoed; `u32::MAX` says that no switch wrote one.
    #[inline]
    pub fn allot(&mut self, mcw: u32) {
        if mcw != u32::MAX {
            self.mcw = mcw;
        }
    }

    /// How much may be in flight: whole segments while one fits.
    #[inline]
    pub fn limit(&self, mss: u32) -> u32 {
        if self.mcw == u32::MAX {
            return u32::MAX;
        }
        let limit = self.mcw.saturating_sub(self.option_bytes);
        if limit >= mss { limit - limit % mss } else { limit.max(FLOOR) }
    }

    /// Equation 2: growth ends at the cap. The window itself stays at one segment or more.
    #[inline]
    pub fn hold(&self, mss: u32, window: &mut Window) {
        window.cwnd = window.cwnd.min(self.limit(mss).max(mss));
    }
}
