//! The tail loss probe.
//! Sources: RFC 8985, section 7; Linux 6.12, tcp_schedule_loss_probe(), tcp_send_loss_probe(), tcp_process_tlp_ack().
//! Rule:    probe a tail with one segment if two round trips bring no ACK for it.
//! Departs: the pipe counts a probe that repeats a segment together with that segment, once.

use fanin_laws::sender::Cause;
use fanin_transport::Timer;
use fanin_units::Time;

use super::news::News;
use super::probe::Probe;
use super::{Phase, Rack};
use crate::call::Call;
use crate::segment::Wire;
use crate::tcb::Tcb;

/// PTO before the first round-trip sample (7.2).
const PTO_INITIAL: Time = Time::from_secs(1);

impl Rack {
    /// 7.2: schedule the probe of the tail; returns whether it is scheduled. `restarts`: the timeout would start anew, too.
    pub(super) fn schedule_probe(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>, restarts: bool) -> bool {
        let Some(head) = self.board.sent.front() else { return false };
        if !call.params.tail_loss_probe || !matches!(self.phase, Phase::Open | Phase::Reduced) {
            return false;
        }
        let (srtt, timeout) = (tcb.snd.rtt.srtt(), tcb.snd.rtt.timeout(call.params));
        let rounds = if srtt == Time::ZERO { PTO_INITIAL } else { srtt.saturating_mul(2) };
        let more = if self.board.sent.len() == 1 { call.params.max_ack_delay } else { call.params.timer_margin };
        let left = if restarts { timeout } else { head.at.saturating_add(timeout).since(call.now) };
        let left = if left == Time::ZERO { Time::NEVER } else { call.params.in_ticks(left) };
        let wait = call.params.in_ticks(rounds.saturating_add(more)).min(left);
        self.start_timer(call, Timer::Probe, wait);
        true
    }

    /// 7.4.1: resolve the probe by an ACK, which may show that it repaired a loss.
    pub(super) fn settle_probe(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, ack: u64, news: &News) {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.end) else { return };
        if !probe.again || news.probe_duplicate {
            // A probe of new data resolves itself; a duplicate means that the probe was unnecessary.
            self.probe = None;
        } else if ack > probe.end {
            // Reduce the window as for any other loss.
            self.begin_reduction(tcb, call, Cause::Loss, news.flight);
            self.phase = Phase::Reduced;
            self.end_reduction(tcb);
            self.stay_open(tcb);
        } else if !news.advanced && !news.not_duplicate && !news.sacked {
            self.probe = None;
        }
    }

    /// 7.3: send new data, regardless of the congestion window, or else the last segment again; restart the retransmission timer.
    pub(super) fn probe_tail(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if self.probe.is_some() {
            return self.rearm(tcb, call);
        }
        tcb.stats.probes += 1;
        let high = tcb.snd.high;
        if let Some(len) = self.room(tcb, call, u64::MAX) {
            self.send_new(tcb, call, len);
            self.note_usage(tcb, call, high);
        } else if !self.board.sent.is_empty() {
            self.send_again(tcb, call, self.board.sent.len() - 1, false);
        }
        self.probe = Some(Probe { end: tcb.snd.high, again: tcb.snd.high == high });
        self.timer = None;
        self.rearm(tcb, call);
    }
}
