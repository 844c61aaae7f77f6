//! Loss recovery by counts: fast retransmit and fast recovery, with and without SACK, and timeouts.

use fanin_laws::sender::{Ack, Cause, Window};
use fanin_laws::stack::NewReno;
use fanin_transport::Block;
use fanin_units::Time;

use super::Counts;
use super::phase::{Recovery, Sack};
use crate::call::Call;
use crate::params::Params;
use crate::prr::Prr;
use crate::segment::Wire;
use crate::tcb::Tcb;

/// Duplicate ACKs that indicate loss.
const DUP_THRESH: u32 = 3;

/// NextSeg() rule by which a segment is sent (RFC 6675, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A lost hole or, if there is nothing else, one that may be lost (rules 1 and 3).
    Hole,
    /// New data (rule 2).
    New,
    /// Once, the last segment, if no SACK above the cumulative ACK can report its loss (rule 4).
    Rescue,
}

impl Counts {
    /// Process a duplicate ACK with `sacked` newly SACKed bytes.
    #[cold]
    pub(super) fn on_duplicate(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, sacked: u64) {
        self.dup_acks += 1;
        if self.dup_acks == 1 {
            self.limited = 0;
        }
        match self.recovery {
            Recovery::Open if self.dup_acks < DUP_THRESH => {
                self.look_for_loss(tcb, call, sacked);
                if self.recovery == Recovery::Open && call.params.limited_transmit {
                    self.limited_transmit(tcb, call);
                }
            }
            Recovery::Open => self.enter_recovery(tcb, call, sacked),
            Recovery::Fast { .. } => {
                // Each duplicate means that a segment has left (RFC 6582, section 3.2, step 3).
                match call.params.newreno {
                    NewReno::Inflate => tcb.snd.window.cwnd = tcb.snd.window.cwnd.saturating_add(call.params.mss),
                    NewReno::Pipe => self.take_out_of_pipe(tcb, call.params),
                }
                self.transmit_within(tcb, call, tcb.snd.window.cwnd);
            }
            Recovery::Sack(sack) => self.recover_from_holes(tcb, call, sack, sacked),
            Recovery::Loss => self.transmit(tcb, call),
        }
    }

    /// RFC 3042: one new segment per duplicate ACK, two beyond the window in all.
    fn limited_transmit(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if tcb.snd.nxt < tcb.snd.end {
            let beyond = self.dup_acks.min(2) * call.params.mss;
            let cwnd = tcb.law.usable(&tcb.snd.window).saturating_add(beyond);
            let before = tcb.snd.nxt;
            self.transmit_within(tcb, call, cwnd);
            self.limited += (tcb.snd.nxt - before) as u32;
        }
    }

    /// Enter recovery also if the scoreboard shows that the first segment is lost (RFC 6675, section 5, step 2).
    pub(super) fn look_for_loss(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, delivered: u64) {
        if self.board.lost_below(call.params.mss) > tcb.snd.una {
            self.enter_recovery(tcb, call, delivered);
        }
    }

    /// Fast retransmit (RFC 6582, section 3.2, step 2; RFC 6675, section 5, step 4); this ACK delivers `delivered` bytes.
    ///
    /// The guard accepts an ACK of exactly `recover`, as deployed stacks do: the RFC's "more than recover" would leave the
    /// first loss after a timeout to another timeout.
    fn enter_recovery(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, delivered: u64) {
        if tcb.snd.una < tcb.snd.recover {
            return;
        }
        tcb.stats.fast_retransmits += 1;
        let flight = tcb.snd.high - tcb.snd.una;
        // A mark in the same window has reduced it already (RFC 3168, section 6.1.2).
        if tcb.snd.una > tcb.snd.cwr_high || !tcb.ecn {
            let less = match call.params.newreno {
                NewReno::Pipe if !call.params.sack => call.params.mss.saturating_add(self.gone as u32),
                // Limited transmit's data does not count (RFC 5681, section 3.2, step 2; RFC 6675, section 5, step 4.2).
                _ if self.dup_acks > 0 => self.limited,
                _ => 0,
            };
            let within = tcb.within_window(flight.saturating_sub(less.into()));
            tcb.cut(Cause::Loss, call, within, tcb.snd.window);
            // CWR reports every reduction to the peer, whatever its reason (RFC 3168, section 6.1.2).
            tcb.snd.send_cwr = tcb.ecn;
        }
        tcb.snd.cwr = None;
        tcb.snd.recover = tcb.snd.high;
        tcb.snd.nxt = tcb.snd.high;
        if call.params.sack {
            let sent = self.resend_first(tcb, call);
            let mut prr = Prr::new(flight);
            prr.sent(sent);
            let sack = Sack { prr, high_rxt: tcb.snd.una + sent, rescued: false };
            self.recover_from_holes(tcb, call, sack, delivered);
        } else {
            self.recovery = Recovery::Fast { first: true };
            self.resend_first(tcb, call);
            tcb.snd.window.cwnd = tcb.snd.window.ssthresh;
            match call.params.newreno {
                NewReno::Inflate => {
                    tcb.snd.window.cwnd = tcb.snd.window.cwnd.saturating_add(DUP_THRESH * call.params.mss)
                }
                NewReno::Pipe => self.take_out_of_pipe(tcb, call.params),
            }
            self.transmit_within(tcb, call, tcb.snd.window.cwnd);
        }
    }

    /// Process an ACK of new data during recovery.
    #[cold]
    pub(super) fn on_ack_in_recovery(
        &mut self,
        tcb: &mut Tcb,
        call: &mut Call<'_, impl Wire>,
        facts: &Ack,
        delivered: u64,
    ) {
        let full = tcb.snd.una >= tcb.snd.recover;
        match self.recovery {
            Recovery::Loss => {
                tcb.snd.rearm(call);
                tcb.grow(call.params, facts);
                if full {
                    self.leave_recovery();
                }
                self.transmit(tcb, call);
            }
            Recovery::Fast { .. } if full => {
                // RFC 6582, section 3.2, step 3, full acknowledgement: the first option, which bursts least, or the second.
                let flight = (tcb.snd.high - tcb.snd.una) as u32;
                let most = match call.params.newreno {
                    NewReno::Inflate => flight.max(call.params.mss).saturating_add(call.params.mss),
                    NewReno::Pipe => u32::MAX,
                };
                tcb.snd.window.cwnd = tcb.snd.window.ssthresh.min(most);
                self.leave_recovery();
                tcb.snd.rearm(call);
                if call.params.newreno == NewReno::Pipe {
                    tcb.grow(call.params, facts);
                    self.resend_hole(tcb, call);
                }
                self.transmit(tcb, call);
            }
            Recovery::Fast { first } => {
                // Partial acknowledgement: resend, deflate, and restart the timer only at the first.
                if first {
                    tcb.snd.rearm(call);
                }
                self.recovery = Recovery::Fast { first: false };
                self.resend_first(tcb, call);
                if call.params.newreno == NewReno::Inflate {
                    let back = if facts.acked >= call.params.mss { call.params.mss } else { 0 };
                    tcb.snd.window.cwnd = tcb.snd.window.cwnd.saturating_sub(facts.acked).max(call.params.mss) + back;
                }
                self.transmit_within(tcb, call, tcb.snd.window.cwnd);
            }
            Recovery::Sack(_) if full => {
                tcb.snd.window.cwnd = tcb.snd.window.ssthresh;
                self.leave_recovery();
                tcb.snd.rearm(call);
                self.transmit(tcb, call);
            }
            Recovery::Sack(sack) => {
                tcb.snd.rearm(call);
                self.recover_from_holes(tcb, call, sack, delivered);
            }
            Recovery::Open => {}
        }
    }

    /// Take a duplicate's segment out of the pipe: at most everything but the first segment can have left.
    fn take_out_of_pipe(&mut self, tcb: &Tcb, params: &Params) {
        let most = (tcb.snd.high - tcb.snd.una).saturating_sub(params.mss.into());
        self.gone = (self.gone + u64::from(params.mss)).min(most);
    }

    /// Undo the pipe reduction for acknowledged bytes beyond the first segment, as far as duplicates reduced it.
    #[cold]
    pub(super) fn settle_pipe(&mut self, tcb: &Tcb, params: &Params, acked: u32) {
        let most = (tcb.snd.high - tcb.snd.una).saturating_sub(params.mss.into());
        self.gone = self.gone.saturating_sub(acked.saturating_sub(params.mss).into()).min(most);
    }

    /// An ACK that leaves something out of the pipe shows a hole at its front; resend it if the window allows (ns-3's
    /// accounting).
    #[cold]
    pub(super) fn resend_hole(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        let room = u64::from(tcb.law.usable(&tcb.snd.window).min(tcb.snd.rwnd));
        if self.gone > 0 && self.in_flight(tcb) <= room {
            self.resend_first(tcb, call);
        }
    }

    fn leave_recovery(&mut self) {
        self.recovery = Recovery::Open;
        self.dup_acks = 0;
    }

    /// Resend the first unacknowledged segment, regardless of the window; returns its length in sequence numbers.
    fn resend_first(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) -> u64 {
        let una = tcb.snd.una;
        let hole = self.board.hole(una).map_or(tcb.snd.high, |hole| hole.end);
        let len = hole.min(tcb.snd.end).saturating_sub(una).min(u64::from(call.params.mss));
        tcb.send_data(call, una, len);
        len + u64::from(tcb.snd.fin && una + len == tcb.snd.end)
    }

    /// Send the segments that RFC 6675 selects, as far as proportional rate reduction allows.
    fn recover_from_holes(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, mut sack: Sack, delivered: u64) {
        let mss = u64::from(call.params.mss);
        let pipe = self.pipe(tcb, call.params, &sack);
        let quota = sack.prr.quota(delivered, pipe, tcb.snd.window.ssthresh, call.params.mss);
        tcb.snd.window.cwnd = u32::try_from(pipe + quota).unwrap_or(u32::MAX);
        let mut left = quota;
        while left > 0
            && let Some((next, rule)) = self.next_segment(tcb, call.params, &sack)
        {
            let len = next.end - next.start;
            // Whole segments only: the peer would count a part as a whole one.
            if len > left && len >= mss {
                break;
            }
            tcb.send_data(call, next.start, len);
            match rule {
                Rule::Hole => sack.high_rxt = sack.high_rxt.max(next.end),
                Rule::New => {
                    let fin = tcb.snd.fin && next.end == tcb.snd.end;
                    tcb.snd.nxt = next.end + u64::from(fin);
                    tcb.snd.high = tcb.snd.nxt;
                }
                Rule::Rescue => sack.rescued = true,
            }
            sack.prr.sent(len);
            left = left.saturating_sub(len);
        }
        self.recovery = Recovery::Sack(sack);
    }

    /// SetPipe() (RFC 6675, section 4): bytes estimated to be in flight.
    fn pipe(&self, tcb: &Tcb, params: &Params, sack: &Sack) -> u64 {
        let una = tcb.snd.una;
        let lost = self.board.missing(una, self.board.lost_below(params.mss));
        let resent = self.board.missing(una, sack.high_rxt.max(una));
        tcb.snd.high - una - self.board.bytes() - lost + resent
    }

    /// NextSeg() (RFC 6675, section 4): the next segment to send, and the rule that selects it.
    fn next_segment(&self, tcb: &Tcb, params: &Params, sack: &Sack) -> Option<(Block, Rule)> {
        let mss = u64::from(params.mss);
        let cut = |hole: Block| Block { end: hole.end.min(hole.start + mss), ..hole };
        let from = sack.high_rxt.max(tcb.snd.una);
        let hole = self.board.hole(from);
        if let Some(hole) = hole
            && hole.start < self.board.lost_below(params.mss)
        {
            return Some((cut(hole), Rule::Hole));
        }
        let room = (tcb.snd.una + u64::from(tcb.snd.rwnd)).saturating_sub(tcb.snd.high);
        let left = tcb.snd.end.saturating_sub(tcb.snd.high).min(room);
        if left > 0 {
            let start = tcb.snd.high;
            return Some((Block { start, end: start + left.min(mss) }, Rule::New));
        }
        if let Some(hole) = hole {
            return Some((cut(hole), Rule::Hole));
        }
        if !sack.rescued && self.board.end() < tcb.snd.recover && sack.high_rxt < tcb.snd.recover {
            let end = tcb.snd.recover.min(tcb.snd.end);
            let start = end.saturating_sub(mss).max(self.board.end()).max(tcb.snd.una);
            return (start < end).then_some((Block { start, end }, Rule::Rescue));
        }
        None
    }

    /// The retransmission timer fired (RFC 6298, section 5; RFC 5681, section 3.1; RFC 6582, section 3.2, step 4).
    #[cold]
    pub fn on_timer(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if tcb.times_out(call) {
            return;
        }
        let again = tcb.snd.timed_out == tcb.snd.una;
        tcb.snd.timed_out = tcb.snd.una;
        if !again {
            // Further timeouts of the same segment leave ssthresh unchanged (RFC 5681, equation 4 and the text after it).
            let flight = self.in_flight(tcb);
            match self.recovery {
                Recovery::Fast { .. } | Recovery::Sack(_) => {
                    // Duplicates inflated the window: the flow's window is ssthresh. If recovery's retransmission was lost, recovery keeps
                    // sending up to the peer's window; half of that must not raise ssthresh ("no more than").
                    let had = tcb.snd.window.ssthresh;
                    tcb.cut(Cause::Timeout, call, flight, Window { cwnd: had, ..tcb.snd.window });
                    tcb.snd.window.ssthresh = tcb.snd.window.ssthresh.min(had);
                }
                _ => tcb.cut(Cause::Timeout, call, flight, tcb.snd.window),
            }
        }
        tcb.snd.rtt.back_off();
        tcb.snd.window.cwnd = call.params.mss;
        tcb.snd.send_cwr = tcb.ecn;
        tcb.snd.cwr = None;
        self.recovery = Recovery::Loss;
        self.dup_acks = 0;
        tcb.snd.recover = tcb.snd.high;
        tcb.snd.nxt = tcb.snd.una;
        self.gone = 0;
        tcb.snd.timed = None;
        tcb.snd.rto_at = Time::NEVER;
        self.transmit(tcb, call);
        if tcb.snd.rto_at == Time::NEVER {
            // The windows allow nothing (a receive window of zero): retry later.
            tcb.snd.rearm(call);
        }
    }
}
