//! A window reduction that may be undone: the window before it, and the retransmissions since that may have been necessary.
//! Sources: Linux 6.12, tcp_init_undo(), tcp_check_dsack(), tcp_packet_delayed().

use fanin_laws::stack::RttVariance;
use fanin_units::Time;

use crate::params::Params;
use crate::segment::{Segment, microseconds};

/// A window reduction that may be undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// `snd.una` at the reduction (undo_marker); 0: nothing to undo, since data starts at 1.
    pub marker: u64,
    /// Retransmissions not reported as duplicates (undo_retrans); `None` before the first.
    resent: Option<u32>,
    /// The window before it: its slow-start threshold is `None` if a mark proved the congestion (prior_ssthresh, prior_cwnd).
    pub ssthresh: Option<u32>,
    pub cwnd: u32,
    /// When the first retransmission was sent (retrans_stamp); `NEVER` if none was.
    pub resent_at: Time,
}

impl Cut {
    pub fn new() -> Cut {
        Cut { marker: 0, resent: None, ssthresh: None, cwnd: 0, resent_at: Time::NEVER }
    }

    /// A reduction begins; retransmissions in flight may still arrive twice.
    pub fn begin(&mut self, una: u64, resent: u32) {
        (self.marker, self.resent) = (una, (resent > 0).then_some(resent));
    }

    pub fn note_resent(&mut self, now: Time) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
        self.resent_at = self.resent_at.min(now);
    }

    /// The peer reports that this many segments up to `end` arrived twice.
    pub fn note_duplicates(&mut self, end: u64, segments: u32) {
        if self.marker > 0 && end > self.marker {
            self.resent = self.resent.map(|resent| resent.saturating_sub(segments));
        }
    }

    /// Whether all retransmissions were duplicates.
    pub fn all_duplicated(&self) -> bool {
        self.marker > 0 && self.resent == Some(0)
    }

    /// Whether nothing was retransmitted, or the acknowledgement echoes a timestamp from before the first retransmission.
    pub fn is_delayed(&self, segment: &Segment, params: &Params) -> bool {
        if self.resent_at == Time::NEVER {
            return true;
        }
        // Linux's timestamps count milliseconds.
        let grain = if params.rtt_variance == RttVariance::Linux { 1000 } else { 1 };
        let (echoed, first) = (segment.ts_ecr / grain, microseconds(self.resent_at) / grain);
        params.timestamps && (echoed.wrapping_sub(first) as i32) < 0
    }
}
