//! The tail loss probe.
//! Sources: RFC 8985, section 7.
//! Rule:    probe a tail with one segment if two round trips bring no ACK for it.
//! Owns:    the probe timer, and the unresolved probe.
//! Departs: without DSACK (`undo`) only its duplicate ACK identifies an unnecessary probe (7.4.1, case 4); the
//!          pipe counts a probe that repeats a segment together with that segment, once.

use fanin_units::Time;

use super::probe::Probe;
use super::{Phase, Rack};
use crate::call::Call;
use crate::segment::Wire;
use crate::tcb::Tcb;

/// PTO before the first round-trip sample (7.2).
const PTO_INITIAL: Time = Time::from_secs(1);

impl Rack {
    /// 7.2: schedule the probe of the tail.
    pub(super) fn schedule_probe(&mut self, call: &Call<'_, impl Wire>, srtt: Time) {
        let quiet = self.phase == Phase::Open && self.sacked_segments == 0 && self.probe.is_none();
        if !call.params.tail_loss_probe || !quiet || self.sent.is_empty() {
            self.probe_at = Time::NEVER;
            return;
        }
        let rounds = if srtt == Time::ZERO { PTO_INITIAL } else { srtt.saturating_mul(2) };
        let more = if self.sent.len() == 1 { call.params.max_ack_delay } else { call.params.timer_margin };
        self.probe_at = call.now.saturating_add(call.params.in_ticks(rounds.saturating_add(more))).min(self.rto_at);
    }

    /// 7.4.1: resolve the probe by an ACK; returns true if the probe repaired a loss.
    pub(super) fn settle_probe(&mut self, ack: u64, duplicate: bool) -> bool {
        let Some(probe) = self.probe else { return false };
        if ack < probe.end {
            return false;
        }
        // A probe of new data resolves itself; a duplicate means that the probe was unnecessary.
        let repaired = probe.again && !duplicate && ack > probe.end;
        if repaired || !probe.again || duplicate {
            self.probe = None;
        }
        repaired
    }

    /// 7.3: send new data, regardless of the congestion window, or else the last segment again; restart the retransmission timer.
    pub(super) fn probe_tail(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        tcb.stats.probes += 1;
        self.probe_at = Time::NEVER;
        let fresh = self.room(tcb, call, self.pipe + u64::from(call.params.mss));
        if let Some(len) = fresh {
            self.send_new(tcb, call, len);
        } else if let Some(last) = self.sent.iter().rposition(|segment| !segment.sacked) {
            self.resend(tcb, call, last);
        }
        self.probe = Some(Probe { end: tcb.snd.high, again: fresh.is_none() });
        self.rto_at = Time::NEVER;
        self.start_timers(tcb, call);
    }
}
