//! Reductions of the window: after marks, losses and timeouts.
//! Sources: RFC 6937, and RFC 9937 for its bound; RFC 3168, section 6.1.2; RFC 6298, section 5; RFC 5682; Linux 6.12,
//!          tcp_init_cwnd_reduction(), tcp_cwnd_reduction(), tcp_end_cwnd_reduction(), tcp_enter_cwr(), tcp_enter_recovery(),
//!          tcp_enter_loss(), tcp_process_loss().

use fanin_laws::sender::Cause;
use fanin_units::Time;

use super::news::News;
use super::{Phase, Rack, Resend};
use crate::call::Call;
use crate::prr::Prr;
use crate::segment::{Segment, Wire};
use crate::tcb::Tcb;

impl Rack {
    /// The slow-start threshold that an undo restores: outside a reduction at least three quarters of the window (tcp_current_ssthresh).
    fn current_ssthresh(&self, tcb: &Tcb) -> u32 {
        let window = &tcb.snd.window;
        match self.phase {
            Phase::Reduced | Phase::Recovery => window.ssthresh,
            _ => window.ssthresh.max(window.cwnd / 4 * 3),
        }
    }

    /// Begin a reduction, which is spread over the window, or over the flight where that is reduced.
    pub(super) fn begin_reduction(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, cause: Cause, flight: u64) {
        let before = tcb.snd.window;
        tcb.cut(cause, call, tcb.within_window(flight), before);
        tcb.snd.cwr = Some(Prr::new(if call.params.cut_window { before.cwnd.into() } else { flight }));
        self.undo.cwnd = before.cwnd;
        (self.high, self.probe) = (tcb.snd.high, None);
        tcb.snd.send_cwr = tcb.ecn;
    }

    /// Set the window for this delivery (tcp_cwnd_reduction).
    pub(super) fn reduce(&self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, delivered: u64, news: &News) {
        let Some(prr) = tcb.snd.cwr.as_mut().filter(|_| delivered > 0) else { return };
        // Grow back only while recovery makes progress (RFC 9937, section 6: SafeACK).
        let bound = if news.advanced && news.lost == 0 { call.params.mss } else { 0 };
        let in_flight = self.board.in_flight();
        // At least the first loss.
        let least = if prr.untouched() { call.params.mss } else { 0 };
        let quota = prr.quota_within(delivered, in_flight, tcb.snd.window.ssthresh, bound).max(least.into());
        // In whole packets, if the window counts them.
        let quota = quota.next_multiple_of(call.params.window_unit().into());
        tcb.snd.window.cwnd = u32::try_from(in_flight + quota).unwrap_or(u32::MAX);
    }

    /// The reduction is complete.
    pub(super) fn end_reduction(&mut self, tcb: &mut Tcb) {
        tcb.snd.cwr = None;
        if self.phase == Phase::Reduced || self.undo.marker > 0 {
            tcb.snd.window.cwnd = tcb.snd.window.ssthresh;
        }
    }

    /// Reduce for a mark, once a window.
    pub(super) fn reduce_for_mark(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, flight: u64) {
        self.undo.ssthresh = None;
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.undo.marker = 0;
            self.begin_reduction(tcb, call, Cause::Ecn, flight);
            self.phase = Phase::Reduced;
        }
    }

    /// A loss is known. A mark in the same window has reduced it already (RFC 3168, section 6.1.2).
    pub(super) fn enter_recovery(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, flight: u64, ece: bool) {
        if !self.board.has_resent() {
            self.undo.resent_at = Time::NEVER;
        }
        tcb.stats.fast_retransmits += 1;
        self.undo.ssthresh = None;
        self.begin_undo(tcb);
        if !matches!(self.phase, Phase::Reduced | Phase::Recovery) {
            self.undo.ssthresh = (!ece).then(|| self.current_ssthresh(tcb));
            self.begin_reduction(tcb, call, Cause::Loss, flight);
        }
        tcb.snd.recover = tcb.snd.high;
        self.phase = Phase::Recovery;
    }

    fn begin_undo(&mut self, tcb: &Tcb) {
        let probes = self.probe.is_some_and(|probe| probe.again);
        self.undo.begin(tcb.snd.una, self.board.resent.segments + u32::from(probes));
    }

    /// The retransmission timer fired: one segment may leave besides those not marked as lost.
    pub(super) fn enter_loss(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>) {
        let again = tcb.retries > 1;
        let (flight, begins) = (self.board.out(), !matches!(self.phase, Phase::Recovery | Phase::Loss));
        self.mark_lost_on_timeout(call);
        if !again {
            self.reduce_for_timeout(tcb, call, flight);
        }
        let in_flight = u32::try_from(self.board.in_flight()).unwrap_or(u32::MAX);
        tcb.snd.window.cwnd = in_flight.saturating_add(call.params.mss);
        (self.phase, self.high, self.probe) = (Phase::Loss, tcb.snd.high, None);
        (tcb.snd.recover, tcb.snd.cwr) = (tcb.snd.high, None);
        tcb.snd.send_cwr = tcb.ecn;
        self.new_data_tells = call.params.frto && (begins || again);
    }

    /// Reduce ssthresh, unless a reduction of this window already has.
    fn reduce_for_timeout(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, flight: u64) {
        let (before, mut window) = (self.current_ssthresh(tcb), tcb.snd.window);
        let reduced = matches!(self.phase, Phase::Reduced | Phase::Recovery) && self.high > tcb.snd.una;
        if reduced {
            window.cwnd = window.ssthresh;
        }
        tcb.cut(Cause::Timeout, call, flight.min(window.cwnd.max(call.params.mss).into()), window);
        if reduced && call.params.cut_window {
            tcb.snd.window.ssthresh = window.ssthresh;
        } else {
            (self.undo.ssthresh, self.undo.cwnd) = (Some(before), tcb.snd.window.cwnd);
            self.begin_undo(tcb);
        }
    }

    /// An acknowledgement after a timeout (tcp_process_loss; F-RTO by RFC 5682, section 3).
    pub(super) fn recover_from_timeout(
        &mut self,
        tcb: &mut Tcb,
        call: &Call<'_, impl Wire>,
        segment: &Segment,
        news: &News,
    ) -> Resend {
        let recovered = tcb.snd.una >= self.high;
        if news.advanced && self.undo_timeout(tcb, call, segment, false) {
            return Resend::Nothing;
        }
        if self.new_data_tells {
            // Step 3.b: data that was never sent again arrives.
            if news.original && self.undo_timeout(tcb, call, segment, true) {
                return Resend::Nothing;
            }
            if tcb.snd.high > self.high {
                // Step 3.a: the loss was real.
                self.new_data_tells &= !news.sacked && !news.repeats();
            } else if news.advanced && !recovered {
                // Step 2.b: try new data.
                self.high = tcb.snd.high;
                if tcb.has_more() && tcb.snd.una + u64::from(tcb.snd.rwnd) > tcb.snd.high {
                    return Resend::AfterNew;
                }
                self.new_data_tells = false;
            }
        }
        if recovered {
            self.end_recovery(tcb, call, segment);
            return Resend::Nothing;
        }
        Resend::Lost
    }
}
