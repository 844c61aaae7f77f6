//! M21's sender side: the window's cap, assigned by the switch.
//! Sources: Adesanmi and Mhamdi, "M21TCP: Overcoming TCP Incast Congestion in Data Centres" (CloudNet 2015),
//!          section III-C, item 3, equation 2.
//! Law:     cwnd <- min(cwnd + growth, MCW), less the sender's own option bytes. If switches write the number of flows,
//!          the sender derives MCW from it and from the configured buffer (section III-B).
//! Units:   bytes.
//! Owns:    the latest MCW that the receiver echoed. The congestion control owns growth and reductions.
//! Departs: whole segments are sent while one fits, since the switch's formula subtracts one header per window and
//!          fractional last segments would overflow its buffer; below one segment, short segments; below 64 bytes
//!          (where the formula reaches zero), 64 bytes, since an idle sender would never learn a new MCW.
//! Checked: vectors/max_cwnd.json; tests/trajectories/max_cwnd.txt.

use super::control::Window;
use crate::port::NO_OFFER;
use crate::port::many_to_one::{Form, max_cwnd};

/// The minimum window.
const FLOOR: u32 = 64;

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub struct MaxCwnd {
    /// Value that switches write.
    form: Form,
    option_bytes: u8,
    mcw: u32,
    /// Buffer that counted flows share, bytes.
    buffer: u32,
}

impl MaxCwnd {
    /// Switches write windows; none has yet. The sender's segments carry `option_bytes` of TCP options.
    pub fn new(option_bytes: u8) -> MaxCwnd {
        MaxCwnd { form: Form::Window, option_bytes, mcw: NO_OFFER, buffer: 0 }
    }

    /// Switches write the number of flows that share `buffer` bytes.
    pub fn counting(buffer: u32, option_bytes: u8) -> MaxCwnd {
        MaxCwnd { form: Form::Count, buffer, ..MaxCwnd::new(option_bytes) }
    }

    /// Take the value that an ACK echoed, unless no switch wrote one.
    #[inline]
    pub fn allot(&mut self, echoed: u32) {
        if echoed != NO_OFFER {
            self.mcw = match self.form {
                Form::Window => echoed,
                Form::Count => max_cwnd(self.buffer.into(), echoed),
            };
        }
    }

    /// Bytes that may be in flight: whole segments while one fits.
    #[inline]
    pub fn limit(&self, mss: u32) -> u32 {
        if self.mcw == NO_OFFER {
            return u32::MAX;
        }
        let limit = self.mcw.saturating_sub(self.option_bytes.into());
        if limit >= mss { limit - limit % mss } else { limit.max(FLOOR) }
    }

    /// Equation 2: growth ends at the cap. The window itself is at least one segment.
    #[inline]
    pub fn hold(&self, mss: u32, window: &mut Window) {
        window.cwnd = window.cwnd.min(self.limit(mss).max(mss));
    }
}
