//! Sends lost segments again, and new ones, as the windows allow.
//! Sources: Linux 6.12, tcp_xmit_retransmit_queue(), tcp_xmit_recovery(), tcp_write_xmit(), tcp_event_new_data_sent().

use fanin_transport::Timer;

use super::board::Sent;
use super::{Phase, Rack, Resend};
use crate::call::Call;
use crate::segment::Wire;
use crate::tcb::Tcb;
use crate::validation::Usage;

impl Rack {
    /// Bytes that may be in flight.
    fn limit(&self, tcb: &mut Tcb, call: &Call<'_, impl Wire>) -> u64 {
        match self.phase {
            Phase::Reduced | Phase::Recovery => tcb.snd.window.cwnd.into(),
            Phase::Loss => tcb.sendable(call, |_| self.board.in_flight()).into(),
            // SACKed data frees the window (RFC 3042; RFC 6675, section 5, step 3).
            Phase::Open | Phase::Disorder => {
                let cwnd = u64::from(tcb.sendable(call, |_| self.board.in_flight()));
                let kept = if call.params.limited_transmit { 0 } else { self.board.sacked.share };
                cwnd.saturating_sub(kept)
            }
        }
    }

    /// Send lost segments again, perhaps after new data.
    pub(super) fn resend(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, resend: Resend) {
        match resend {
            Resend::Nothing => return,
            Resend::AfterNew => {
                self.push(tcb, call);
                if tcb.snd.high > self.high {
                    return;
                }
                self.new_data_tells = false;
            }
            Resend::Lost => {}
        }
        let (limit, mut next, mut rearms) = (self.limit(tcb, call), 0, false);
        while !self.board.all_resent() && next < self.board.sent.len() {
            let segment = self.board.sent[next];
            if segment.lost && !segment.resent {
                if !self.fits_again(call, next, limit) {
                    break;
                }
                self.send_again(tcb, call, next, true);
                rearms |= next == 0;
            }
            next += 1;
        }
        // The first segment gets a full timeout whenever it is sent again.
        if rearms && !self.runs(Timer::Reordering) {
            self.start_timer(call, Timer::Timeout, tcb.snd.rtt.timeout(call.params));
        }
    }

    /// Whether a lost segment, or a part of it if it exceeds the window by itself, may be sent again.
    fn fits_again(&mut self, call: &Call<'_, impl Wire>, i: usize, limit: u64) -> bool {
        let (share, in_flight) = (u64::from(self.board.sent[i].share), self.board.in_flight());
        let room = limit.saturating_sub(in_flight);
        if share > room {
            if in_flight > 0 && (room == 0 || share >= u64::from(call.params.mss)) {
                return false;
            }
            if in_flight == 0 {
                self.board.split(i, limit.max(1) as u16);
            }
        }
        true
    }

    /// Send a segment again; `counts` as one more in flight, unless it probes.
    pub(super) fn send_again(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, i: usize, counts: bool) {
        if call.params.packet_window {
            self.board.join(i, call.params.mss);
        }
        let segment = self.board.note_resent(i, call.now, counts);
        if counts {
            self.undo.note_resent(call.now);
            if let Some(prr) = &mut tcb.snd.cwr {
                prr.sent(segment.share.into());
            }
        }
        tcb.send_data(call, segment.start, segment.len.into());
    }

    /// Send new data as the windows allow.
    pub(super) fn push(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if !tcb.has_more() {
            return;
        }
        let (high, limit) = (tcb.snd.high, self.limit(tcb, call));
        while let Some(len) = self.room(tcb, call, limit) {
            self.send_new(tcb, call, len);
        }
        self.note_usage(tcb, call, high);
        if tcb.snd.high > high {
            // 7.2: new data restarts the probe timer.
            self.schedule_probe(tcb, call, false);
        }
    }

    /// Note the window's use: all that could be sent from `before` on was sent.
    pub(super) fn note_usage(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, before: u64) {
        if !call.params.window_validation {
            return;
        }
        let usage = Usage {
            now: call.now,
            una: tcb.snd.una,
            nxt: tcb.snd.nxt,
            flight: self.board.out(),
            pipe: self.board.in_flight(),
            sent: tcb.snd.high > before,
            open: self.phase == Phase::Open,
            timeout: tcb.snd.rtt.timeout(call.params),
        };
        self.validation.note(&usage, call.params, &mut tcb.snd.window);
    }

    /// The length of a new segment, if there is one and the windows allow it.
    #[inline]
    pub(super) fn room(&self, tcb: &Tcb, call: &Call<'_, impl Wire>, limit: u64) -> Option<u64> {
        let start = tcb.snd.high;
        if start >= tcb.snd.end + u64::from(tcb.snd.fin) || !tcb.is_open() {
            return None;
        }
        let window = if call.params.packet_window { tcb.snd.rwnd.into() } else { limit.min(tcb.snd.rwnd.into()) };
        let len = (tcb.snd.end - start).min(call.params.mss.into()).min(window);
        let fin = tcb.snd.fin && start + len == tcb.snd.end;
        let beyond = start - tcb.snd.una + len > u64::from(tcb.snd.rwnd);
        let whole = !beyond && !tcb.is_silly(len);
        let fits = if len > 0 { whole && self.board.in_flight() + call.params.share(len) <= limit } else { fin };
        fits.then_some(len)
    }

    /// Send a new segment of this length.
    #[inline]
    pub(super) fn send_new(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, len: u64) {
        let start = tcb.snd.high;
        let fin = tcb.snd.fin && start + len == tcb.snd.end;
        if self.board.in_flight() == 0 {
            tcb.law.resume(call.now, tcb.snd.last_sent);
        }
        tcb.put_data(call, start, len);
        let share = call.params.share(len + u64::from(fin));
        let (sacked, lost, resent, repeated) = (false, false, false, false);
        let (len, first) = (len as u16, self.board.sent.is_empty());
        let sent = Sent { start, at: call.now, len, share: share as u16, fin, sacked, lost, resent, repeated };
        self.board.push(sent);
        tcb.snd.nxt = sent.end();
        tcb.snd.high = tcb.snd.nxt;
        if let Some(prr) = &mut tcb.snd.cwr {
            prr.sent(share);
        }
        if first || self.runs(Timer::Probe) {
            self.rearm(tcb, call);
        }
    }
}
