//! RACK's clock: the least and the last round trip, the newest delivery, and the reordering seen.
//! Sources: RFC 8985, section 6.2; Linux 6.12, struct tcp_sock's rack, tcp_rack_advance(), tcp_rack_reo_wnd(), tcp_rack_update_reo_wnd(),
//!          tcp_check_sack_reordering().

use fanin_units::Time;

use super::board::Sent;
use crate::params::Params;

/// Segments above a hole that end the reordering window; raised by the reordering seen.
const DUP_THRESH: u32 = 3;
/// The most that reordering raises it to (tcp_max_reordering).
const MAX_REORDERING: u64 = 300;
/// Recoveries for which a widened reordering window is kept (TCP_RACK_RECOVERY_THRESH).
const KEEP_WINDOW_FOR: u8 = 16;
const MICROSECOND: Time = Time::from_micros(1);

/// RACK's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// RACK.min_RTT.
    min_rtt: Time,
    /// RACK.rtt: of the segment taken last.
    pub rtt: Time,
    /// RACK.xmit_ts, RACK.end_seq: of the delivered segment that was sent last.
    pub newest: (Time, u64),
    /// A delivery since losses were last looked for.
    pub advanced: bool,
    /// Segments above a hole that end the reordering window, and whether reordering was seen.
    reordering: u32,
    reordered: bool,
    /// Quarters of the least round trip in the reordering window, and recoveries for which it is kept.
    quarters: u8,
    pub keep_window_for: u8,
    /// A duplicate arrived that reordering may explain; when the window last grew.
    pub duplicate: bool,
    widened_at: Time,
}

impl Clock {
    pub fn new() -> Clock {
        Clock {
            min_rtt: Time::NEVER,
            rtt: Time::ZERO,
            newest: (Time::ZERO, 0),
            advanced: false,
            reordering: DUP_THRESH,
            reordered: false,
            quarters: 1,
            keep_window_for: 0,
            duplicate: false,
            widened_at: Time::ZERO,
        }
    }

    /// 6.2, step 1: a round trip, for the minimum. Linux counts whole microseconds, and takes a tick for zero (tcp_update_rtt_min).
    pub fn note_rtt(&mut self, rtt: Time, params: &Params) {
        let is_zero = params.tick > Time::ZERO && rtt < MICROSECOND;
        self.min_rtt = self.min_rtt.min(if is_zero { params.tick } else { rtt });
    }

    /// 6.2, step 2: a segment is delivered (tcp_rack_advance). An acknowledgement that arrives too early after a retransmission
    /// belongs to the previous transmission.
    pub fn note_delivery(&mut self, now: Time, segment: &Sent) {
        let rtt = now.since(segment.at);
        if segment.repeated && rtt < self.min_rtt {
            return;
        }
        (self.advanced, self.rtt) = (true, rtt);
        self.newest = self.newest.max((segment.at, segment.end()));
    }

    /// A recovery was needless: keep the reordering window (tcp_try_undo_dsack).
    pub fn note_needless_recovery(&mut self) {
        self.keep_window_for = (self.keep_window_for + 1).min(KEEP_WINDOW_FOR);
    }

    /// A duplicate widens the reordering window, at most once a round trip (tcp_rack_update_reo_wnd). `newest_at`: when the newest
    /// segment was sent that this acknowledgement delivers.
    pub fn adapt_window(&mut self, now: Time, newest_at: Time) {
        if newest_at < self.widened_at {
            self.duplicate = false;
        }
        if self.duplicate {
            self.quarters = self.quarters.saturating_add(1);
            self.duplicate = false;
            (self.widened_at, self.keep_window_for) = (now, KEEP_WINDOW_FOR);
        } else if self.keep_window_for == 0 {
            self.quarters = 1;
        }
    }

    /// Data arrived this number of segments early (tcp_check_sack_reordering).
    pub fn note_reordering(&mut self, far: u64) {
        self.reordering = self.reordering.max(far.min(MAX_REORDERING) as u32);
        self.reordered = true;
    }

    /// 6.2, step 4: how long a segment may be overdue. None in recovery, or with that number of segments SACKed, until reordering is seen.
    pub fn reordering_window(&self, recovers: bool, sacked: u32, srtt: Time) -> Time {
        if !self.reordered && (recovers || sacked >= self.reordering) {
            return Time::ZERO;
        }
        Time(self.min_rtt.0 / 4).saturating_mul(self.quarters.into()).min(srtt)
    }

    /// Whether duplicates may be due to reordering.
    pub fn has_reordering(&self) -> bool {
        self.reordered
    }

    /// Whether reordering has been seen that exceeds the threshold (tcp_may_raise_cwnd).
    pub fn is_reordered_far(&self) -> bool {
        self.reordering > DUP_THRESH
    }
}
