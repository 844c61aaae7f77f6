//! Undo: a cut of the window that turns out to have been needless is taken back.
//! Sources: RFC 2883 and 3708, duplicates that the peer tells of; RFC 3522 and 4015, timestamps (Eifel); Linux 6.1,
//!          tcp_may_undo(), tcp_undo_cwnd_reduction(), tcp_check_dsack().
//! Rule:    as every retransmission since the cut has come as a duplicate, or what is acknowledged was sent before the first of
//!          them, nothing had been lost: the window is again what it was.
//! Owns:    the window before the last cut, and how many retransmissions since are not known to have been needless.

use fanin_laws::sender::Window;
use fanin_units::Time;

use crate::segment::{Block, microseconds, widen};

/// A cut that may be taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// What was not acknowledged as it was made.
    una: u64,
    /// The window before it.
    pub before: Window,
    /// Retransmissions that no duplicate has been told of; `None` before the first.
    resent: Option<u32>,
    /// When the first was sent.
    resent_at: Time,
}

impl Cut {
    /// The window was `before`; segments that were sent again before may come twice yet.
    pub fn new(una: u64, before: Window, resent: u32) -> Cut {
        // What the window had reached counts as ssthresh, too (tcp_current_ssthresh).
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

    /// The peer had these bytes already.
    pub fn note_duplicate(&mut self, duplicate: Block) {
        if duplicate.end > self.una {
            self.resent = self.resent.map(|resent| resent.saturating_sub(1));
        }
    }

    /// Whether all that was sent again has come twice.
    pub fn came_twice(&self) -> bool {
        self.resent == Some(0)
    }

    /// Whether this acknowledgement is of what was sent before anything was sent again.
    pub fn is_of_the_original(&self, echo: Option<u32>) -> bool {
        let before = |echo: u32| (echo.wrapping_sub(microseconds(self.resent_at)) as i32) < 0;
        self.resent_at != Time::NEVER && echo.is_some_and(before)
    }
}

/// What the peer says that it had already: its first block lies under its acknowledgement, or within its second one (RFC 2883, section 4).
pub(super) fn duplicate(sack: &[Block], ack: u64) -> Option<Block> {
    let wide = |block: &Block| Block { start: widen(block.start as u32, ack), end: widen(block.end as u32, ack) };
    let first = wide(sack.first()?);
    let within = |whole: Block| whole.start <= first.start && first.end <= whole.end;
    (first.start < ack || sack.get(1).map(wide).is_some_and(within)).then_some(first)
}
