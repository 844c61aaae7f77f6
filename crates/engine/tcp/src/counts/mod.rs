//! Loss detection by counts, of duplicate ACKs or of SACKed data beyond a hole: normal operation, and the send limits.
//! Sources: RFC 5681; RFC 3042; RFC 6582; RFC 6675, RFC 6937.
//! Owns:    the scoreboard (scoreboard.rs), and recovery (recovery.rs) with its phase (phase.rs).

mod phase;
mod recovery;
mod scoreboard;

use fanin_laws::sender::Ack;
use fanin_transport::Block;
use fanin_units::Time;

use crate::call::Call;
use crate::params::Params;
use crate::segment::{Segment, Wire, widen};
use crate::tcb::Tcb;
use phase::Recovery;
use scoreboard::Scoreboard;

/// State of loss detection by counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    board: Scoreboard,
    recovery: Recovery,
    dup_acks: u32,
    /// Bytes that limited transmit sent since the first duplicate.
    limited: u32,
    /// Bytes that duplicates took out of the pipe, if they do not inflate the window.
    gone: u64,
}

impl Counts {
    /// Process a segment's acknowledgement, and send as it allows.
    #[inline(always)]
    pub fn on_ack(
        &mut self,
        tcb: &mut Tcb,
        call: &mut Call<'_, impl Wire>,
        segment: &Segment,
        sack: &[Block],
        ack: u64,
    ) {
        if tcb.snd.una == tcb.snd.high {
            // Nothing is outstanding: only the segment's window matters.
            return self.transmit(tcb, call);
        }
        if sack.is_empty() && self.board.is_empty() {
            if ack > tcb.snd.una {
                self.on_new_ack(tcb, call, segment, ack, 0);
            } else if self.is_duplicate(tcb, call.params, segment, ack) {
                self.on_duplicate(tcb, call, 0);
            } else {
                self.transmit(tcb, call);
            }
            return;
        }
        self.on_ack_with_holes(tcb, call, *segment, sack, ack);
    }

    #[cold]
    fn on_ack_with_holes(
        &mut self,
        tcb: &mut Tcb,
        call: &mut Call<'_, impl Wire>,
        segment: Segment,
        sack: &[Block],
        ack: u64,
    ) {
        let before = self.board.bytes();
        for block in sack {
            let (start, end) = (widen(block.start as u32, tcb.snd.una), widen(block.end as u32, tcb.snd.una));
            if end <= tcb.snd.high {
                self.board.insert(Block { start: start.max(tcb.snd.una), end });
            }
        }
        let sacked = self.board.bytes() - before;
        if ack > tcb.snd.una {
            self.board.advance(ack);
            // Bytes under the cumulative ACK were counted when they were SACKed.
            let gone = before + sacked - self.board.bytes();
            self.on_new_ack(tcb, call, &segment, ack, sacked as i64 - gone as i64);
        } else if sacked > 0 && ack == tcb.snd.una {
            self.on_duplicate(tcb, call, sacked);
        }
    }

    /// RFC 5681, section 2: data is outstanding, no payload, no SYN or FIN, the same acknowledgement number. With SACK,
    /// only an ACK that updates the scoreboard is a duplicate (RFC 6675, section 2).
    #[inline]
    fn is_duplicate(&self, tcb: &Tcb, params: &Params, segment: &Segment, ack: u64) -> bool {
        !params.sack && ack == tcb.snd.una && tcb.snd.high > ack && segment.is_pure_ack()
    }

    /// Process an ACK that advances `una`. `sacked` is the scoreboard's gain, less bytes that the cumulative ACK now covers.
    #[inline(always)]
    fn on_new_ack(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, segment: &Segment, ack: u64, sacked: i64) {
        let facts = tcb.advance(call, segment, ack);
        let acked = u64::from(facts.acked);
        if self.gone > 0 {
            self.settle_pipe(tcb, call.params, facts.acked);
        }
        if self.recovery == Recovery::Open {
            let reported = std::mem::take(&mut self.dup_acks);
            tcb.snd.rearm(call);
            if ack > tcb.snd.cwr_high {
                tcb.end_reduction();
                if facts.ece {
                    tcb.reduce_for_mark(call, tcb.snd.high - tcb.snd.una);
                } else if reported > 0 && call.params.byte_counting {
                    grow_less(tcb, call.params, &facts, reported);
                } else {
                    tcb.grow(call.params, &facts);
                }
            }
            if self.gone > 0 {
                self.resend_hole(tcb, call);
            }
            if tcb.snd.cwr.is_some() {
                return self.transmit_reduced(tcb, call, acked);
            }
            if !self.board.is_empty() {
                let delivered = (acked as i64 + sacked).max(0) as u64;
                self.look_for_loss(tcb, call, delivered);
            }
            self.transmit(tcb, call);
        } else {
            let delivered = (acked as i64 + sacked).max(0) as u64;
            self.on_ack_in_recovery(tcb, call, &facts, delivered);
        }
    }

    /// Send as much as the reduction after a mark allows.
    fn transmit_reduced(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, acked: u64) {
        let Some(mut prr) = tcb.snd.cwr else { return };
        let pipe = self.in_flight(tcb) - self.board.bytes();
        let quota = prr.quota(acked, pipe, tcb.snd.window.ssthresh, call.params.mss);
        tcb.snd.window.cwnd = u32::try_from(pipe + quota).unwrap_or(u32::MAX);
        let before = tcb.snd.nxt;
        self.transmit(tcb, call);
        prr.sent(tcb.snd.nxt - before);
        tcb.snd.cwr = Some(prr);
    }

    /// Send new data (after a timeout: old data first) as long as the windows allow.
    #[inline(always)]
    pub fn transmit(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if !tcb.has_more() {
            return;
        }
        if call.params.idle_restart && tcb.snd.una == tcb.snd.high {
            tcb.snd.restart_after_idle(call);
        }
        if tcb.snd.una == tcb.snd.high {
            // The timer of a closed window, if any.
            tcb.snd.rto_at = Time::NEVER;
        }
        let cwnd = tcb.sendable(call, |tcb| self.in_flight(tcb));
        self.transmit_within(tcb, call, cwnd);
        if tcb.snd.una == tcb.snd.high {
            tcb.await_window(call);
        }
    }

    /// Send as long as `cwnd` allows. The common case, without known holes, computes the limit once; tests compare it with the
    /// segment by segment computation.
    #[inline]
    pub fn transmit_within(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, cwnd: u32) {
        if !self.board.is_empty() {
            return self.transmit_around_holes(tcb, call, cwnd);
        }
        let (una, window) = (tcb.snd.una, u64::from(cwnd.min(tcb.snd.rwnd)));
        let until = (una + self.gone + window).min(una + u64::from(tcb.snd.rwnd));
        let longest = window.min(call.params.mss.into());
        loop {
            let seq = tcb.snd.nxt;
            let len = tcb.snd.end.saturating_sub(seq).min(longest);
            let end = seq + len;
            debug_assert_eq!((len, until), (self.segment_length(tcb, call.params, window), self.allowed(tcb, window)));
            // A segment that does not fit whole waits (RFC 9293, 3.8.6.2.1); a FIN alone is one number long and needs no space.
            let fits = if len > 0 { end <= until && !tcb.is_silly(len) } else { tcb.snd.fin && end == tcb.snd.end };
            if !fits {
                return;
            }
            tcb.snd.nxt = tcb.put_data(call, seq, len);
            tcb.snd.high = tcb.snd.high.max(tcb.snd.nxt);
        }
    }

    /// The same if the peer has data beyond a hole.
    #[cold]
    fn transmit_around_holes(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, cwnd: u32) {
        let window = u64::from(cwnd.min(tcb.snd.rwnd));
        let last = tcb.snd.end + u64::from(tcb.snd.fin);
        loop {
            if tcb.snd.nxt < tcb.snd.high && !self.board.is_empty() {
                tcb.snd.nxt = self.board.skip(tcb.snd.nxt);
            }
            let len = self.segment_length(tcb, call.params, window);
            let end = tcb.snd.nxt + len;
            let fin = tcb.snd.fin && end == tcb.snd.end;
            // A FIN alone is one number long and needs no space; a segment that does not fit whole waits (RFC 9293, 3.8.6.2.1).
            if (len == 0 && !fin) || (len > 0 && (end > self.allowed(tcb, window) || tcb.is_silly(len))) {
                return;
            }
            tcb.send_data(call, tcb.snd.nxt, len);
            tcb.snd.nxt = end + u64::from(fin);
            tcb.snd.high = tcb.snd.high.max(tcb.snd.nxt);
            if tcb.snd.nxt >= last {
                return;
            }
        }
    }

    /// Limit of sending: the congestion window bounds the data in flight, the peer's window the data above its acknowledgement. In
    /// recovery the two differ.
    #[inline]
    fn allowed(&self, tcb: &Tcb, window: u64) -> u64 {
        let (una, nxt) = (tcb.snd.una, tcb.snd.nxt);
        let in_window = match self.recovery {
            Recovery::Loss if !self.board.is_empty() => nxt + window.saturating_sub(self.in_flight(tcb)),
            _ => una + self.gone + window,
        };
        in_window.min(una + u64::from(tcb.snd.rwnd))
    }

    /// The length of the segment at `nxt`: up to the MSS, the window if that is smaller, and the next SACKed run.
    #[inline]
    fn segment_length(&self, tcb: &Tcb, params: &Params, window: u64) -> u64 {
        let left = tcb.snd.end.saturating_sub(tcb.snd.nxt);
        let len = left.min(u64::from(params.mss)).min(window);
        if tcb.snd.nxt < tcb.snd.high && !self.board.is_empty() {
            return self.board.hole(tcb.snd.nxt).map_or(len, |hole| len.min(hole.end - tcb.snd.nxt));
        }
        len
    }

    /// Bytes estimated to be in flight outside fast recovery.
    #[inline]
    pub fn in_flight(&self, tcb: &Tcb) -> u64 {
        match self.recovery {
            Recovery::Loss if !self.board.is_empty() => self.board.missing(tcb.snd.una, tcb.snd.nxt),
            _ => tcb.snd.nxt - tcb.snd.una - self.gone,
        }
    }
}

/// Grow the window without segments that duplicates have reported (tcp_remove_reno_sacks).
#[cold]
fn grow_less(tcb: &mut Tcb, params: &Params, facts: &Ack, reported: u32) {
    let acked = facts.acked.saturating_sub(reported.saturating_mul(params.mss)).max(facts.acked.min(params.mss));
    tcb.grow(params, &Ack { acked, ..*facts });
}
