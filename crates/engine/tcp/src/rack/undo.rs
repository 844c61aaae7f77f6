//! Undo of unnecessary window reductions.
//! Sources: RFC 2883 and 3708, duplicates that the peer reports; RFC 3522 and 4015, timestamps (Eifel); Linux 6.12,
//!          tcp_init_undo(), tcp_may_undo(), tcp_packet_delayed(), tcp_undo_cwnd_reduction(), tcp_try_undo_*().
//! Rule:    if every retransmission since the reduction was reported as a duplicate, or the acknowledged data was sent before the
//!          first of them, nothing was lost: restore the window.

use fanin_units::Time;

use super::{Phase, Rack};
use crate::call::Call;
use crate::params::Params;
use crate::segment::{Segment, Wire};
use crate::tcb::Tcb;

impl Rack {
    /// tcp_may_undo().
    fn may_undo(&self, segment: &Segment, params: &Params) -> bool {
        params.undo && self.undo.marker > 0 && (self.undo.all_duplicated() || self.undo.is_delayed(segment, params))
    }

    /// Restore the window, unless a mark proved the congestion (tcp_undo_cwnd_reduction).
    fn restore(&mut self, tcb: &mut Tcb, forget_losses: bool) {
        if forget_losses {
            self.board.forget_losses();
        }
        if let Some(ssthresh) = self.undo.ssthresh {
            let window = &mut tcb.snd.window;
            window.cwnd = window.cwnd.max(self.undo.cwnd);
            if ssthresh > window.ssthresh {
                window.ssthresh = ssthresh;
                tcb.snd.send_cwr = false;
            }
        }
        self.undo.marker = 0;
        self.clock.advanced = true;
    }

    /// All that was sent before the reduction is acknowledged (tcp_try_undo_recovery).
    pub(super) fn end_recovery(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, segment: &Segment) {
        if self.may_undo(segment, call.params) {
            self.restore(tcb, false);
        } else {
            self.clock.keep_window_for = self.clock.keep_window_for.saturating_sub(1);
        }
        self.phase = Phase::Open;
    }

    /// All retransmissions were duplicates (tcp_try_undo_dsack).
    pub(super) fn undo_duplicated(&mut self, tcb: &mut Tcb, params: &Params) -> bool {
        let needless = params.undo && self.undo.all_duplicated();
        if needless {
            self.clock.note_needless_recovery();
            self.restore(tcb, false);
        }
        needless
    }

    /// After a timeout, or `by_new_data`: F-RTO has shown that it was spurious (tcp_try_undo_loss).
    pub(super) fn undo_timeout(
        &mut self,
        tcb: &mut Tcb,
        call: &Call<'_, impl Wire>,
        segment: &Segment,
        by_new_data: bool,
    ) -> bool {
        let needless = by_new_data || self.may_undo(segment, call.params);
        if needless {
            self.restore(tcb, true);
            tcb.retries = 0;
            self.phase = Phase::Open;
        }
        needless
    }

    /// A partial acknowledgement of data that was delayed, not lost (tcp_try_undo_partial). Returns whether nothing must be retransmitted,
    /// since retransmissions in flight will tell.
    pub(super) fn undo_partly(
        &mut self,
        tcb: &mut Tcb,
        call: &Call<'_, impl Wire>,
        segment: &Segment,
        una: u64,
    ) -> bool {
        if !call.params.undo || self.undo.marker == 0 || !self.undo.is_delayed(segment, call.params) {
            return false;
        }
        self.note_reordering(tcb, call.params, una);
        if self.board.resent.segments > 0 {
            return true;
        }
        if !self.board.has_resent() {
            self.undo.resent_at = Time::NEVER;
        }
        self.restore(tcb, true);
        self.stay_open(tcb);
        false
    }
}
