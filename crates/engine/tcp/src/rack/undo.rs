//! Undo of unnecessary window reductions.
//! Sources: RFC 2883 and 3708, duplicates that the peer reports; RFC 3522 and 4015, timestamps (Eifel); Linux 6.1,
//!          tcp_may_undo(), tcp_undo_cwnd_reduction(), tcp_check_dsack().
//! Rule:    if every retransmission since the reduction was reported as a duplicate, or the acknowledged data was sent before the
//!          first of them, nothing was lost: restore the window.
//! Owns:    the window before the last reduction, and the number of retransmissions since that may have been necessary.

use fanin_laws::sender::Window;
use fanin_transport::Block;
use fanin_units::Time;

use crate::segment::{microseconds, widen};

/// A window reduction that may be undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// `snd.una` at the reduction.
    una: u64,
    /// The window before it.
    pub before: Window,
    /// Retransmissions not reported as duplicates; `None` before the first.
    resent: Option<u32>,
    /// When the first was sent.
    resent_at: Time,
}

impl Cut {
    /// Record the window before the reduction; earlier retransmissions may still arrive twice.
    pub fn new(una: u64, before: Window, resent: u32) -> Cut {
        // The window itself counts as ssthresh, too (tcp_current_ssthresh).
        let ssthresh = before.ssthresh.max(before.cwnd / 4 * 3);
        Cut {
            una,
            before: Window { ssthresh, ..before },
            resent: (resent > 0).then_some(resent),
            resent_at: Time::NEVER,
        }
    }

    pub fn note_resent(&mut self, now: Time) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
        self.resent_at = self.resent_at.min(now);
    }

    /// The peer reports these bytes as duplicates.
    pub fn note_duplicate(&mut self, duplicate: Block) {
        if duplicate.end > self.una {
            self.resent = self.resent.map(|resent| resent.saturating_sub(1));
        }
    }

    /// Whether all retransmissions were duplicates.
    pub fn all_duplicated(&self) -> bool {
        self.resent == Some(0)
    }

    /// Whether this acknowledges data sent before any retransmission.
    pub fn acks_original(&self, echo: Option<u32>) -> bool {
        let before = |echo: u32| (echo.wrapping_sub(microseconds(self.resent_at)) as i32) < 0;
        self.resent_at != Time::NEVER && echo.is_some_and(before)
    }
}

/// The duplicate that the peer reports: its first block is below its acknowledgement, or within its second one (RFC 2883, section 4).
pub(super) fn duplicate(sack: &[Block], ack: u64) -> Option<Block> {
    let wide = |block: &Block| Block { start: widen(block.start as u32, ack), end: widen(block.end as u32, ack) };
    let first = wide(sack.first()?);
    let within = |whole: Block| whole.start <= first.start && first.end <= whole.end;
    (first.start < ack || sack.get(1).map(wide).is_some_and(within)).then_some(first)
}
