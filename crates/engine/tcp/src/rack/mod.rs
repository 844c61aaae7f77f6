//! RACK-TLP: loss detection by time, and a tail loss probe, over a list of outstanding segments.
//! Sources: RFC 8985, sections 5 to 7; RFC 6937, and RFC 9937 for its bound.
//! Owns:    recovery, and three timers behind the endpoint's one deadline. losses.rs detects losses, tail.rs probes the
//!          tail (probe.rs: the unresolved probe), undo.rs reverts unnecessary window reductions.
//! Departs: no F-RTO.

mod losses;
mod out;
mod probe;
mod tail;
mod undo;

use std::collections::VecDeque;

use fanin_laws::sender::{Ack, Cause, Window};
use fanin_laws::stack::RttVariance;
use fanin_transport::{Block, Timer};
use fanin_units::Time;

use crate::call::Call;
use crate::prr::Prr;
use crate::segment::{Segment, Wire};
use crate::tcb::Tcb;
use crate::validation::{Usage, Validation};
use crate::variance::{Sample, Variance};
use out::Sent;
use probe::Probe;
use undo::Cut;

/// Phase of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No known loss.
    Open,
    /// Fast recovery, paced by proportional rate reduction.
    Recovery(Prr),
    /// After a timeout.
    Loss,
}

/// Effects of one ACK: shares of the congestion window, bytes.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    delivered: u64,
    lost: u64,
}

/// State of a sender with loss detection by time or a tail loss probe.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Outstanding segments by sequence number.
    sent: VecDeque<Sent>,
    /// Share of the congestion window that is neither delivered nor lost, bytes.
    pipe: u64,
    /// The same of what has been delivered above a hole.
    sacked: u64,
    sacked_segments: u32,
    lost_segments: u32,
    phase: Phase,
    /// RACK.min_RTT, RACK.rtt.
    min_rtt: Time,
    rtt: Time,
    /// Send time and end of the delivered segment that was sent last (RACK.xmit_ts, RACK.end_seq).
    newest: (Time, u64),
    /// The highest sequence number delivered (RACK.fack).
    fack: u64,
    reordered: bool,
    probe: Option<Probe>,
    cut: Option<Cut>,
    rto_at: Time,
    probe_at: Time,
    reorder_at: Time,
    validation: Validation,
    variance: Variance,
}

impl Rack {
    /// No outstanding segments.
    pub fn new() -> Rack {
        Rack {
            sent: VecDeque::new(),
            pipe: 0,
            sacked: 0,
            sacked_segments: 0,
            lost_segments: 0,
            phase: Phase::Open,
            min_rtt: Time::NEVER,
            rtt: Time::ZERO,
            newest: (Time::ZERO, 0),
            fack: 0,
            reordered: false,
            probe: None,
            cut: None,
            rto_at: Time::NEVER,
            probe_at: Time::NEVER,
            reorder_at: Time::NEVER,
            validation: Validation::new(),
            variance: Variance::new(),
        }
    }

    /// The next timer.
    pub fn pending_timer(&self) -> Timer {
        match self.rto_at.min(self.probe_at).min(self.reorder_at) {
            next if next == self.reorder_at => Timer::Reordering,
            next if next == self.probe_at => Timer::Probe,
            _ => Timer::Timeout,
        }
    }

    /// Process an acknowledgement.
    #[inline(always)]
    pub fn on_ack(
        &mut self,
        tcb: &mut Tcb,
        call: &mut Call<'_, impl Wire>,
        segment: &Segment,
        sack: &[Block],
        ack: u64,
    ) {
        if !(ack == tcb.snd.una && sack.is_empty() && self.rests(tcb, call)) {
            self.take(tcb, call, *segment, sack, ack);
        }
    }

    /// The general case, out of line, so that receiving ends pay little.
    #[inline(never)]
    fn take(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, segment: Segment, sack: &[Block], ack: u64) {
        let (una, flight) = (tcb.snd.una, self.flight(tcb, call));
        if ack >= una {
            let echo = call.params.timestamps.then_some(segment.ts_ecr);
            let delivered = self.deliver(call, una, echo, ack, sack);
            let facts = (ack > una).then(|| self.advance(tcb, call, &segment, ack));
            let again = if call.params.undo { undo::duplicate(sack, ack) } else { None };
            if let (Some(cut), Some(block)) = (&mut self.cut, again) {
                cut.note_duplicate(block);
            }
            let duplicate = match (again, self.probe) {
                (Some(block), Some(probe)) => block.end == probe.end,
                _ => ack == una && sack.is_empty() && segment.is_pure_ack(),
            };
            let repaired = self.settle_probe(ack, duplicate) && self.phase == Phase::Open;
            if repaired {
                probe::react_to_repaired_loss(tcb, call, flight);
            }
            if call.params.undo {
                self.undo(tcb, call, &segment, facts.is_some());
            }
            let lost = self.detect(call, tcb.snd.rtt.srtt());
            self.change_phase(tcb, call, flight, delivered, facts.as_ref().filter(|_| !repaired));
            if facts.is_some() {
                self.rto_at = Time::NEVER;
                self.start_timers(tcb, call);
                self.schedule_probe(call, tcb.snd.rtt.srtt());
            }
            self.send_on_ack(tcb, call, News { delivered, lost }, facts.is_some());
        }
    }

    /// Whether nothing is outstanding, unsent or awaited, as at a receiving end: an ACK has no effect then.
    #[inline]
    fn rests(&self, tcb: &Tcb, call: &Call<'_, impl Wire>) -> bool {
        let quiet = self.sent.is_empty() && self.phase == Phase::Open && self.cut.is_none() && self.probe.is_none();
        quiet && !tcb.has_more() && tcb.snd.cwr.is_none() && tcb.snd.window.cwnd >= call.params.mss
    }

    /// Undo the last window reduction if this acknowledgement shows that it was unnecessary.
    fn undo(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, segment: &Segment, advanced: bool) {
        let Some(cut) = self.cut else { return };
        let original = advanced && cut.acks_original(call.params.timestamps.then_some(segment.ts_ecr));
        let duplicates = cut.all_duplicated();
        let over = tcb.snd.una >= tcb.snd.recover;
        let needless = match self.phase {
            Phase::Open => duplicates,
            // Retransmissions in flight arrive before the rest is known.
            Phase::Recovery(_) => duplicates || original && (over || self.resent() == 0),
            Phase::Loss => advanced && (duplicates || original),
        };
        if needless {
            if original || self.phase == Phase::Loss {
                self.unmark_losses();
            }
            let window = &mut tcb.snd.window;
            window.cwnd = window.cwnd.max(cut.before.cwnd);
            window.ssthresh = window.ssthresh.max(cut.before.ssthresh);
            tcb.snd.send_cwr = false;
            (self.cut, self.phase) = (None, Phase::Open);
        }
    }

    /// Record a reduction of this window for a possible undo.
    fn undoable(&self, tcb: &Tcb, call: &Call<'_, impl Wire>, before: Window) -> Option<Cut> {
        call.params.undo.then(|| Cut::new(tcb.snd.una, before, self.resent()))
    }

    /// Retransmitted segments in flight.
    fn resent(&self) -> u32 {
        self.sent.iter().filter(|segment| segment.resent && !segment.sacked && !segment.lost).count() as u32
    }

    /// Unacknowledged data as the window counts it, bytes.
    fn flight(&self, tcb: &Tcb, call: &Call<'_, impl Wire>) -> u64 {
        match call.params.packet_window {
            true => self.sent.len() as u64 * u64::from(call.params.mss),
            false => tcb.snd.high - tcb.snd.una,
        }
    }

    /// Clear all loss marks.
    fn unmark_losses(&mut self) {
        for segment in self.sent.iter_mut().filter(|segment| segment.lost) {
            segment.lost = false;
            self.pipe += u64::from(segment.share);
        }
        self.lost_segments = 0;
    }

    fn advance(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, segment: &Segment, ack: u64) -> Ack {
        let srtt = tcb.snd.rtt.srtt();
        let facts = tcb.advance(call, segment, ack);
        if call.params.rtt_variance == RttVariance::Linux
            && let Some(rtt) = facts.rtt
        {
            let (una, nxt, floor) = (tcb.snd.una, tcb.snd.nxt, call.params.least_spread());
            tcb.snd.rtt.set_variance(call.params, self.variance.note(&Sample { rtt, srtt, una, nxt, floor }));
            if call.params.hystart {
                tcb.law.search(&facts, &mut tcb.snd.window);
            }
        }
        facts
    }

    /// End recovery, begin it, or grow the window; with byte counting, an ACK that ends recovery grows it too.
    fn change_phase(
        &mut self,
        tcb: &mut Tcb,
        call: &Call<'_, impl Wire>,
        flight: u64,
        delivered: u64,
        facts: Option<&Ack>,
    ) {
        let mut growing = self.phase == Phase::Loss;
        if facts.is_some() && self.phase != Phase::Open && tcb.snd.una >= tcb.snd.recover {
            if let Phase::Recovery(_) = self.phase {
                tcb.snd.window.cwnd = tcb.snd.window.ssthresh;
                growing = call.params.byte_counting;
            }
            self.phase = Phase::Open;
        } else if self.phase == Phase::Open {
            growing = true;
        }
        if let (Some(facts), Phase::Open) = (facts, self.phase)
            && tcb.snd.una > tcb.snd.cwr_high
        {
            tcb.end_reduction();
            if facts.ece && self.lost_segments == 0 {
                tcb.reduce_for_mark(call, flight);
                self.cut = None;
                growing = false;
            }
        }
        if self.phase == Phase::Open && self.lost_segments > 0 {
            self.enter_recovery(tcb, call, flight);
        } else if let Some(facts) = facts
            && growing
            && tcb.snd.cwr.is_none()
            && (!call.params.window_validation || self.validation.is_filled(&tcb.snd.window))
        {
            let acked = if call.params.byte_counting { delivered as u32 } else { facts.acked };
            tcb.grow(call.params, &Ack { acked, ..*facts });
        }
    }

    fn enter_recovery(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, flight: u64) {
        tcb.stats.fast_retransmits += 1;
        let before = tcb.snd.window;
        self.cut = None;
        // A mark in the same window has reduced it already (RFC 3168, section 6.1.2).
        if tcb.snd.una > tcb.snd.cwr_high || !tcb.ecn {
            // Limited transmit's data does not count (RFC 6675, section 5, step 4.2).
            let within = tcb.within_window(flight);
            tcb.cut(Cause::Loss, call, within, before);
            tcb.snd.send_cwr = tcb.ecn;
            self.cut = self.undoable(tcb, call, before);
        }
        tcb.snd.cwr = None;
        tcb.snd.recover = tcb.snd.high;
        self.probe = None;
        self.probe_at = Time::NEVER;
        // The reduction is spread over the quantity that was reduced.
        let whole = if call.params.cut_window { before.cwnd.into() } else { flight };
        self.phase = Phase::Recovery(Prr::new(whole));
    }

    /// Send as the ACK allows.
    fn send_on_ack(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, news: News, advanced: bool) {
        let (mss, ssthresh) = (u64::from(call.params.mss), tcb.snd.window.ssthresh);
        let quota = match (&mut self.phase, &mut tcb.snd.cwr) {
            (Phase::Recovery(prr), _) => {
                // Grow back only while recovery makes progress (RFC 9937, section 6: SafeACK).
                let bound = if advanced && news.lost == 0 { call.params.mss } else { 0 };
                // At least the first loss; and never silence when no ACK can arrive any more.
                let least = if prr.untouched() || self.pipe == 0 { mss } else { 0 };
                prr.quota_within(news.delivered, self.pipe, ssthresh, bound).max(least)
            }
            (Phase::Open, Some(prr)) => prr.quota(news.delivered, self.pipe, ssthresh, call.params.mss),
            _ => return self.transmit_open(tcb, call),
        };
        // In whole packets, if the window counts them (tcp_cwnd_reduction).
        let quota = quota.next_multiple_of(call.params.window_unit().into());
        tcb.snd.window.cwnd = u32::try_from(self.pipe + quota).unwrap_or(u32::MAX);
        self.send(tcb, call, tcb.snd.window.cwnd);
    }

    /// Send as the windows allow.
    pub fn transmit(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if tcb.has_more() {
            self.transmit_open(tcb, call);
        }
    }

    /// Send as the window allows, whether or not there is more.
    fn transmit_open(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        let cwnd = tcb.sendable(call, |_| self.pipe + self.sacked);
        self.send(tcb, call, cwnd);
    }

    /// Send lost segments, then new ones, as long as `cwnd` allows.
    fn send(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, cwnd: u32) {
        let before = self.pipe;
        let mut next = 0;
        while self.lost_segments > 0 {
            while !self.sent[next].lost {
                next += 1;
            }
            if !self.resend_if_room(tcb, call, next, cwnd) {
                break;
            }
        }
        let high = tcb.snd.high;
        if self.lost_segments == 0 {
            let limit = match self.phase {
                // Outside recovery SACKed data counts too, except limited transmit's two segments (RFC 3042).
                Phase::Open if self.sacked > 0 => {
                    let beyond =
                        if call.params.limited_transmit { self.sacked.min(2 * u64::from(call.params.mss)) } else { 0 };
                    (u64::from(cwnd) + beyond).saturating_sub(self.sacked)
                }
                _ => u64::from(cwnd),
            };
            while let Some(len) = self.room(tcb, call, limit) {
                self.send_new(tcb, call, len);
            }
        }
        if call.params.window_validation {
            self.note_usage(tcb, call, high);
        }
        let sent = self.pipe - before;
        if let Phase::Recovery(prr) = &mut self.phase {
            prr.sent(sent);
        } else if let Some(prr) = &mut tcb.snd.cwr {
            prr.sent(sent);
        }
        self.start_timers(tcb, call);
        if tcb.snd.high > high {
            // 7.2: new data restarts the probe timer.
            self.schedule_probe(call, tcb.snd.rtt.srtt());
        }
        tcb.snd.rto_at = self.rto_at.min(self.probe_at).min(self.reorder_at);
        if self.sent.is_empty() {
            tcb.await_window(call);
        }
    }

    /// Note the window's use: all that could be sent from `before` on was sent.
    fn note_usage(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, before: u64) {
        let usage = Usage {
            now: call.now,
            una: tcb.snd.una,
            nxt: tcb.snd.nxt,
            flight: self.flight(tcb, call),
            pipe: self.pipe,
            sent: tcb.snd.high > before,
            open: self.phase == Phase::Open && self.sacked == 0,
            timeout: tcb.snd.rtt.timeout(call.params),
        };
        self.validation.note(&usage, call.params, &mut tcb.snd.window);
    }

    /// Resend a lost segment, or a part of it if it exceeds the window by itself.
    fn resend_if_room(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, i: usize, cwnd: u32) -> bool {
        let (share, room) = (u64::from(self.sent[i].share), u64::from(cwnd).saturating_sub(self.pipe));
        if share > room {
            if self.pipe > 0 && (room == 0 || share >= u64::from(call.params.mss)) {
                return false;
            }
            if self.pipe == 0 {
                self.split(i, cwnd.max(1) as u16);
            }
        }
        self.resend(tcb, call, i);
        true
    }

    fn resend(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, i: usize) {
        let segment = self.sent[i];
        if segment.lost {
            self.lost_segments -= 1;
            self.pipe += u64::from(segment.share);
        }
        self.sent[i] = Sent { at: call.now, resent: true, lost: false, ..segment };
        if let Some(cut) = &mut self.cut {
            cut.note_resent(call.now);
        }
        if i == 0 {
            // As in deployed stacks: the first segment gets a full timeout whenever it is sent.
            self.rto_at = Time::NEVER;
        }
        tcb.send_data(call, segment.start, segment.len.into());
    }

    #[cold]
    fn restart_after_idle(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>) {
        if call.params.window_validation {
            let (last_sent, timeout) = (tcb.snd.last_sent, tcb.snd.rtt.timeout(call.params));
            self.validation.restart(call.now, last_sent, timeout, call.params, &mut tcb.snd.window);
        } else {
            tcb.snd.restart_after_idle(call);
        }
    }

    /// The length of a new segment, if there is one and the windows allow it.
    #[inline]
    fn room(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>, limit: u64) -> Option<u64> {
        let start = tcb.snd.high;
        if start >= tcb.snd.end + u64::from(tcb.snd.fin) || !tcb.is_open() {
            return None;
        }
        if call.params.idle_restart && tcb.snd.una == start {
            self.restart_after_idle(tcb, call);
        }
        let window = if call.params.packet_window { tcb.snd.rwnd.into() } else { limit.min(tcb.snd.rwnd.into()) };
        let len = (tcb.snd.end - start).min(call.params.mss.into()).min(window);
        let fin = tcb.snd.fin && start + len == tcb.snd.end;
        let beyond = start - tcb.snd.una + len > u64::from(tcb.snd.rwnd);
        let whole = !beyond && !tcb.is_silly(len);
        let fits = if len > 0 { whole && self.pipe + call.params.share(len) <= limit } else { fin };
        fits.then_some(len)
    }

    /// Sends a new segment of this length.
    #[inline]
    fn send_new(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>, len: u64) {
        let start = tcb.snd.high;
        let fin = tcb.snd.fin && start + len == tcb.snd.end;
        tcb.put_data(call, start, len);
        let share = call.params.share(len + u64::from(fin));
        self.pipe += share;
        let (len, share) = (len as u16, share as u16);
        let sent = Sent { start, at: call.now, len, share, fin, resent: false, sacked: false, lost: false };
        self.sent.push_back(sent);
        tcb.snd.nxt = sent.end();
        tcb.snd.high = tcb.snd.nxt;
    }

    /// RFC 6298, 5.1 and 5.2: the retransmission timer runs only while data is outstanding.
    fn start_timers(&mut self, tcb: &mut Tcb, call: &Call<'_, impl Wire>) {
        if self.sent.is_empty() {
            (self.rto_at, self.probe_at, self.reorder_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        } else if self.rto_at == Time::NEVER {
            self.rto_at = call.now.saturating_add(tcb.snd.rtt.timeout(call.params));
        }
        tcb.snd.rto_at = self.rto_at.min(self.probe_at).min(self.reorder_at);
    }

    /// The earliest of the three timers fired.
    #[cold]
    pub fn on_timer(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if self.reorder_at <= call.now {
            let lost = self.detect(call, tcb.snd.rtt.srtt());
            if self.phase == Phase::Open {
                self.change_phase(tcb, call, self.flight(tcb, call), 0, None);
                self.send_on_ack(tcb, call, News { delivered: 0, lost }, false);
            } else {
                // No ACK, so no new quota: the detected losses free space in the window.
                self.transmit_open(tcb, call);
            }
        } else if self.probe_at <= call.now {
            self.probe_tail(tcb, call);
        } else {
            self.time_out(tcb, call);
        }
    }

    /// The retransmission timer fired (RFC 6298, section 5; RFC 5681, section 3.1; RFC 8985, section 6.3).
    fn time_out(&mut self, tcb: &mut Tcb, call: &mut Call<'_, impl Wire>) {
        if tcb.times_out(call) {
            return;
        }
        let again = tcb.snd.timed_out == tcb.snd.una;
        tcb.snd.timed_out = tcb.snd.una;
        if !again {
            let (before, mut window) = (tcb.snd.window, tcb.snd.window);
            let recovering = matches!(self.phase, Phase::Recovery(_));
            if recovering {
                window.cwnd = window.ssthresh;
            }
            let flight = self.flight(tcb, call).min(window.cwnd.max(call.params.mss).into());
            tcb.cut(Cause::Timeout, call, flight, window);
            match recovering && call.params.cut_window {
                // Recovery has reduced it already (tcp_enter_loss).
                true => tcb.snd.window.ssthresh = before.ssthresh,
                false => self.cut = self.undoable(tcb, call, before),
            }
        }
        tcb.snd.rtt.back_off();
        tcb.snd.send_cwr = tcb.ecn;
        tcb.snd.cwr = None;
        tcb.snd.recover = tcb.snd.high;
        tcb.snd.timed = None;
        self.mark_lost_on_timeout(call, tcb.snd.rtt.srtt());
        self.phase = Phase::Loss;
        self.probe = None;
        (self.rto_at, self.probe_at, self.reorder_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        // The loss window: one segment besides those not marked lost.
        tcb.snd.window.cwnd = u32::try_from(self.pipe).unwrap_or(u32::MAX).saturating_add(call.params.mss);
        let usable = tcb.usable(call.params).max(1);
        if let Some(first) = self.sent.front()
            && first.lost
        {
            if u32::from(first.share) > usable {
                self.split(0, usable as u16);
            }
            self.resend(tcb, call, 0);
        }
        self.send(tcb, call, usable);
    }
}
