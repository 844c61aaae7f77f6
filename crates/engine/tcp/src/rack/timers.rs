//! The sender's one timer: for a retransmission, the probe of a tail, or reordering.
//! Sources: RFC 6298, section 5; RFC 8985, sections 6.3 and 7; Linux 6.12, tcp_rearm_rto(), tcp_set_xmit_timer(), tcp_rto_delta_us(),
//!          tcp_write_timer_handler(), tcp_rack_reo_timeout(), tcp_retransmit_timer().

use fanin_transport::Timer;
use fanin_units::Time;

use super::news::News;
use super::{Phase, Rack, Resend};
use crate::call::Call;
use crate::segment::Wire;
use crate::tcb::Tcb;

impl Rack {
    /// Start a timer in place of the one that runs.
    pub(super) fn start_timer(&mut self, call: &Call<'_, impl Wire>, timer: Timer, wait: Time) {
        self.timer = Some((timer, call.now.saturating_add(wait)));
    }

    /// Whether this timer runs.
    pub(super) fn runs(&self, timer: Timer) -> bool {
        self.timer.is_some_and(|(runs, _)| runs == timer)
    }

    /// Start the retransmission timer, with a full timeout from now or, in place of another timer, from when the first segment left.
    pub(super) fn rearm(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>) {
        let timeout = tcb.snd.rtt.timeout(call.params);
        match (self.board.sent.front(), self.timer) {
            (None, _) => self.timer = None,
            (Some(head), Some((Timer::Reordering | Timer::Probe, _))) => {
                let left = head.at.saturating_add(timeout).since(call.now).max(Time::from_micros(1));
                self.start_timer(call, Timer::Timeout, call.params.in_ticks(left));
            }
            (Some(_), _) => self.start_timer(call, Timer::Timeout, timeout),
        }
    }

    /// After an acknowledgement: the probe's timer, or else the retransmission timer.
    pub(super) fn restart_timer(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>) {
        if !self.schedule_probe(tcb, call, true) {
            self.rearm(tcb, call);
        }
    }

    /// 6.3: segments may be lost after `wait`; no later than a timeout.
    pub(super) fn await_reordering(&mut self, tcb: &Tcb, call: &Call<'_, impl Wire>, wait: Time) {
        let wait = call.params.in_ticks(wait.saturating_add(call.params.timer_margin));
        self.start_timer(call, Timer::Reordering, wait.min(tcb.snd.rtt.timeout(call.params)));
    }

    /// The timer fired.
    #[cold]
    pub fn on_timer(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        match self.timer {
            Some((Timer::Reordering, _)) => self.end_reordering(tcb, call),
            Some((Timer::Probe, _)) => self.probe_tail(tcb, call),
            _ => self.time_out(tcb, call),
        }
        self.show_timer(tcb);
    }

    /// The reordering timer fired: overdue segments are lost. No acknowledgement, so one delivery is counted for the first retransmission.
    fn end_reordering(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        let (flight, before) = (self.board.out(), self.board.in_flight());
        let (losses, _) = self.lost_by_time(call, tcb.snd.rtt.srtt());
        if self.board.in_flight() != before {
            if self.phase != Phase::Recovery {
                self.enter_recovery(tcb, call, flight, false);
                let news = News { lost: losses.segments, ..News::new(tcb.snd.una, tcb.snd.high, flight) };
                self.reduce(tcb, call, call.params.mss.into(), &news);
            }
            self.resend(tcb, call, Resend::Lost);
        }
        if !self.runs(Timer::Timeout) {
            self.rearm(tcb, call);
        }
    }

    /// The retransmission timer fired (RFC 6298, section 5; RFC 5681, section 3.1; RFC 8985, section 6.3).
    fn time_out(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if tcb.times_out(call) {
            self.timer = None;
            return;
        }
        self.enter_loss(tcb, call);
        tcb.snd.timed = None;
        tcb.snd.rtt.back_off();
        let usable = tcb.usable(call.params).max(1);
        if let Some(first) = self.board.sent.front() {
            if u32::from(first.share) > usable {
                self.board.split(0, usable as u16);
            }
            self.send_again(tcb, call, 0, true);
        }
        self.timer = None;
        self.rearm(tcb, call);
    }

    /// Make the timer the endpoint's.
    pub(super) fn show_timer(&self, tcb: &mut Tcb) {
        tcb.snd.rto_at = self.timer.map_or(Time::NEVER, |(_, at)| at);
    }

    /// The next timer.
    pub fn pending_timer(&self) -> Timer {
        self.timer.map_or(Timer::Timeout, |(timer, _)| timer)
    }
}
