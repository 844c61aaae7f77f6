//! Which segments are lost.
//! Sources: RFC 8985, section 6.2 and 6.3; without loss by time RFC 6675, section 4; Linux 6.12, tcp_recovery.c and
//!          tcp_check_sack_reordering().

use fanin_units::Time;

use super::board::Sent;
use super::{Phase, Rack};
use crate::call::Call;
use crate::params::Params;
use crate::segment::{Wire, microseconds};
use crate::tcb::Tcb;

/// Segments above a hole that indicate loss without RACK.
const DUP_THRESH: u32 = 3;

impl Rack {
    /// 6.2, step 3: a segment below delivered ones arrives though it was sent once (tcp_check_sack_reordering).
    pub(super) fn note_reordering(&mut self, tcb: &Tcb, params: &Params, low: u64) {
        let highest = self.board.highest_sacked(tcb.snd.una);
        if low < highest {
            let far = (highest - low).div_ceil(params.mss.into());
            self.clock.note_reordering(far);
        }
    }

    /// 6.2, step 4.
    fn reordering_window(&self, srtt: Time) -> Time {
        let recovers = matches!(self.phase, Phase::Recovery | Phase::Loss);
        self.clock.reordering_window(recovers, self.board.sacked.segments, srtt)
    }

    /// Look for losses if there were deliveries (tcp_identify_packet_loss). Returns the number of new losses and whether a
    /// retransmission is among them; segments that may be lost soon start the reordering timer, and then `waits`.
    pub(super) fn look_for_losses(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>) -> Losses {
        if self.board.sent.is_empty() {
            return Losses::default();
        }
        if !call.params.rack {
            return self.lost_by_count(call.params);
        }
        if !std::mem::take(&mut self.clock.advanced) {
            return Losses::default();
        }
        let (mut losses, wait) = self.lost_by_time(call, tcb.snd.rtt.srtt());
        if wait > Time::ZERO {
            losses.waits = true;
            self.await_reordering(tcb, call, wait);
        }
        losses
    }

    /// 6.2, step 5: losses, and how long to wait for the rest.
    pub(super) fn lost_by_time(&mut self, call: &Call<'_, impl Wire>, srtt: Time) -> (Losses, Time) {
        let patience = self.clock.rtt.saturating_add(self.reordering_window(srtt));
        let (newest, resent) = (self.clock.newest, self.board.resent.segments);
        let (mut losses, mut wait) = (Losses::default(), Time::ZERO);
        for i in 0..self.board.sent.len() {
            let segment = self.board.sent[i];
            if segment.sacked || segment.lost && !segment.resent || (segment.at, segment.end()) >= newest {
                continue;
            }
            let due = segment.at.saturating_add(patience);
            if due <= call.now {
                losses.segments += u32::from(self.board.note_lost(i));
            } else {
                wait = wait.max(due.since(call.now));
            }
        }
        losses.again = self.board.resent.segments < resent;
        (losses, wait)
    }

    /// IsLost() (RFC 6675, section 4): three runs above, or more than two segments' bytes. Retransmissions are not lost twice.
    fn lost_by_count(&mut self, params: &Params) -> Losses {
        let (mut runs, mut bytes, mut within, mut losses) = (0, 0, false, Losses::default());
        for i in (0..self.board.sent.len()).rev() {
            let segment = self.board.sent[i];
            if segment.sacked {
                bytes += segment.span();
                runs += u32::from(!within);
            } else if (runs >= DUP_THRESH || bytes > 2 * u64::from(params.mss)) && !segment.repeated {
                losses.segments += u32::from(self.board.note_lost(i));
            }
            within = segment.sacked;
        }
        losses
    }

    /// 6.3: data that a timeout marks as lost: the first segment and overdue ones, without a reordering window (tcp_timeout_mark_lost);
    /// everything without loss by time.
    pub(super) fn mark_lost_on_timeout(&mut self, call: &Call<'_, impl Wire>) {
        for i in 0..self.board.sent.len() {
            let overdue = !call.params.rack || self.board.sent[i].at.saturating_add(self.clock.rtt) <= call.now;
            if i == 0 || overdue {
                self.board.note_lost(i);
            }
        }
    }

    /// Whether an acknowledgement echoes a timestamp from before this retransmission (tcp_skb_spurious_retrans).
    pub(super) fn is_of_original(segment: &Sent, echo: Option<u32>) -> bool {
        let early = |echo: u32| (echo.wrapping_sub(microseconds(segment.at)) as i32) < 0;
        segment.repeated && echo.is_some_and(early)
    }
}

/// Result of a search for losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// Segments newly considered lost.
    pub segments: u32,
    /// Among them a retransmission.
    pub again: bool,
    /// The reordering timer runs for others.
    pub waits: bool,
}
