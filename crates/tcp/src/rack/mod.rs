//! RACK-TLP: loss by time, and a probe for a lost tail, over a list of the segments that are out.
//! Sources: RFC 8985, sections 5 to 7; RFC 6937, and RFC 9937 for its bound.
//! Owns:    recovery, and three timers behind the endpoint's one deadline. What is lost is found in losses.rs; the probe
//!          is in probe.rs.
//! Departs: nothing is undone after a spurious recovery or timeout (neither Eifel nor F-RTO).

mod losses;
mod probe;

use std::collections::VecDeque;

use fanin_laws::sender::{Ack, Cause};
use fanin_units::Time;

use crate::call::Call;
use crate::endpoint::Endpoint;
use crate::prr::Prr;
use crate::segment::{Block, Flags, Segment, Wire};
use losses::Sent;
use probe::Probe;

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery, paced by proportional rate reduction.
    Recovery(Prr),
    /// After a timeout.
    Loss,
}

/// What one ACK brought.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    delivered: u64,
    lost: u64,
}

/// The sender's state where loss is told by time or a tail is probed.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// What is out, by sequence number.
    sent: VecDeque<Sent>,
    /// Bytes neither delivered nor lost.
    pipe: u64,
    sacked: u64,
    sacked_segments: u32,
    lost_segments: u32,
    phase: Phase,
    /// RACK.min_RTT, RACK.rtt.
    min_rtt: Time,
    rtt: Time,
    /// When the most recently sent segment of those delivered was sent, and its end (RACK.xmit_ts, RACK.end_seq).
    newest: (Time, u64),
    /// The highest sequence number delivered (RACK.fack).
    fack: u64,
    reordered: bool,
    probe: Option<Probe>,
    rto_at: Time,
    probe_at: Time,
    reorder_at: Time,
}

impl Rack {
    /// Nothing is out.
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
            rto_at: Time::NEVER,
            probe_at: Time::NEVER,
            reorder_at: Time::NEVER,
        }
    }
}

impl Endpoint {
    /// Takes an acknowledgement.
    pub(crate) fn on_ack_by_time(
        &mut self,
        call: &mut Call<'_, impl Wire>,
        segment: &Segment,
        sack: &[Block],
        ack: u64,
    ) {
        let Some(mut rack) = self.rack.take() else { return };
        let (una, flight) = (self.snd.una, self.snd.high - self.snd.una);
        if ack >= una {
            let echo = call.params.timestamps.then_some(segment.ts_ecr);
            let delivered = rack.deliver(call.now, una, echo, ack, sack);
            let facts = (ack > una).then(|| self.advance_to(call, segment, ack));
            let duplicate = ack == una && sack.is_empty() && segment.span() == 0;
            let repaired = rack.settle_probe(ack, duplicate) && rack.phase == Phase::Open;
            if repaired {
                self.answer_repaired_loss(call.now, flight);
            }
            let lost = rack.detect(call, self.snd.rtt.srtt());
            self.change_phase(&mut rack, call, flight, facts.as_ref().filter(|_| !repaired));
            if facts.is_some() {
                rack.rto_at = Time::NEVER;
                self.start_timers(&mut rack, call);
                rack.schedule_probe(call, self.snd.rtt.srtt());
            }
            self.send_on_ack(&mut rack, call, News { delivered, lost }, facts.is_some());
        }
        self.rack = Some(rack);
    }

    /// `una` advances: a round-trip sample, and facts for the law.
    fn advance_to(&mut self, call: &Call<'_, impl Wire>, segment: &Segment, ack: u64) -> Ack {
        let acked = (ack - self.snd.una) as u32;
        self.snd.una = ack;
        let rtt = self.measure(call, segment, ack);
        if self.snd.rtt.backed_off() && !call.params.karn_backoff {
            self.snd.rtt.forget_backoff();
        }
        let ece = self.ecn && segment.flags.any(Flags::ECE);
        let facts = Ack { now: call.now, acked, una: ack, nxt: self.snd.nxt, ece, rtt, srtt: self.snd.rtt.srtt() };
        self.law.observe(&facts);
        facts
    }

    /// Ends recovery, begins it, or grows the window.
    fn change_phase(&mut self, rack: &mut Rack, call: &Call<'_, impl Wire>, flight: u64, facts: Option<&Ack>) {
        let mut growing = rack.phase == Phase::Loss;
        if facts.is_some() && rack.phase != Phase::Open && self.snd.una >= self.snd.recover {
            if let Phase::Recovery(_) = rack.phase {
                self.snd.window.cwnd = self.snd.window.ssthresh;
            }
            rack.phase = Phase::Open;
        } else if rack.phase == Phase::Open {
            growing = true;
        }
        if let (Some(facts), Phase::Open) = (facts, rack.phase)
            && self.snd.una > self.snd.cwr_high
        {
            self.end_reduction();
            if facts.ece && rack.lost_segments == 0 {
                self.reduce_for_mark_of(call, flight);
                growing = false;
            }
        }
        if rack.phase == Phase::Open && rack.lost_segments > 0 {
            self.enter_recovery_by_time(rack, call.now, flight);
        } else if let Some(facts) = facts
            && growing
            && self.snd.cwr.is_none()
        {
            self.law.grow(facts, &mut self.snd.window);
        }
    }

    fn enter_recovery_by_time(&mut self, rack: &mut Rack, now: Time, flight: u64) {
        self.stats.fast_retransmits += 1;
        // A mark in the same window has cut already (RFC 3168, section 6.1.2).
        if self.snd.una > self.snd.cwr_high || !self.ecn {
            // What limited transmit sent does not count (RFC 6675, section 5, step 4.2).
            let within = self.within_window(flight);
            self.cut(Cause::Loss, now, within, self.snd.window);
            self.snd.say_cwr = self.ecn;
        }
        self.snd.cwr = None;
        self.snd.recover = self.snd.high;
        rack.probe = None;
        rack.probe_at = Time::NEVER;
        rack.phase = Phase::Recovery(Prr::new(flight));
    }

    /// Sends what the ACK allows.
    fn send_on_ack(&mut self, rack: &mut Rack, call: &mut Call<'_, impl Wire>, news: News, advanced: bool) {
        let (mss, ssthresh) = (u64::from(call.params.mss), self.snd.window.ssthresh);
        let quota = match (&mut rack.phase, &mut self.snd.cwr) {
            (Phase::Recovery(prr), _) => {
                // Grow back only while recovery goes well (RFC 9937, section 6: SafeACK).
                let bound = if advanced && news.lost == 0 { call.params.mss } else { 0 };
                // At least what was found lost first; and never silence, when no ACK can come any more.
                let least = if prr.untouched() || rack.pipe == 0 { mss } else { 0 };
                prr.quota_within(news.delivered, rack.pipe, ssthresh, bound).max(least)
            }
            (Phase::Open, Some(prr)) => prr.quota(news.delivered, rack.pipe, ssthresh, call.params.mss),
            _ => return self.send_by_time(rack, call, self.law.usable(&self.snd.window)),
        };
        self.snd.window.cwnd = u32::try_from(rack.pipe + quota).unwrap_or(u32::MAX);
        self.send_by_time(rack, call, self.snd.window.cwnd);
    }

    /// Sends what the windows allow (from outside: there is something to send).
    pub(crate) fn transmit_by_time(&mut self, call: &mut Call<'_, impl Wire>) {
        let Some(mut rack) = self.rack.take() else { return };
        self.send_by_time(&mut rack, call, self.law.usable(&self.snd.window));
        self.rack = Some(rack);
    }

    /// Sends lost segments, then new ones, as long as `cwnd` allows.
    fn send_by_time(&mut self, rack: &mut Rack, call: &mut Call<'_, impl Wire>, cwnd: u32) {
        let before = rack.pipe;
        let mut next = 0;
        while rack.lost_segments > 0 {
            while !rack.sent[next].lost {
                next += 1;
            }
            if !self.resend_if_room(rack, call, next, cwnd) {
                break;
            }
        }
        let high = self.snd.high;
        if rack.lost_segments == 0 {
            let limit = match rack.phase {
                // Outside recovery what the peer has counts too, but for limited transmit's two segments (RFC 3042).
                Phase::Open if rack.sacked > 0 => {
                    let beyond =
                        if call.params.limited_transmit { rack.sacked.min(2 * u64::from(call.params.mss)) } else { 0 };
                    (u64::from(cwnd) + beyond).saturating_sub(rack.sacked)
                }
                _ => u64::from(cwnd),
            };
            while self.send_new(rack, call, limit) {}
        }
        let sent = rack.pipe - before;
        if let Phase::Recovery(prr) = &mut rack.phase {
            prr.sent(sent);
        } else if let Some(prr) = &mut self.snd.cwr {
            prr.sent(sent);
        }
        self.start_timers(rack, call);
        if self.snd.high > high {
            // 7.2: new data starts the probe's timer anew.
            rack.schedule_probe(call, self.snd.rtt.srtt());
        }
        self.snd.rto_at = rack.rto_at.min(rack.probe_at).min(rack.reorder_at);
    }

    /// Sends a lost segment again; a part of it, where it alone is over the window.
    fn resend_if_room(&mut self, rack: &mut Rack, call: &mut Call<'_, impl Wire>, i: usize, cwnd: u32) -> bool {
        let (len, room) = (u64::from(rack.sent[i].len), u64::from(cwnd).saturating_sub(rack.pipe));
        if len > room {
            if rack.pipe > 0 && (room == 0 || len >= u64::from(call.params.mss)) {
                return false;
            }
            if rack.pipe == 0 {
                rack.split(i, cwnd.max(1));
            }
        }
        self.resend(rack, call, i);
        true
    }

    fn resend(&mut self, rack: &mut Rack, call: &mut Call<'_, impl Wire>, i: usize) {
        let segment = rack.sent[i];
        if segment.lost {
            rack.lost_segments -= 1;
            rack.pipe += segment.span();
        }
        rack.sent[i] = Sent { at: call.now, resent: true, lost: false, ..segment };
        if i == 0 {
            // As deployed stacks have it: the first segment is given a whole timeout whenever it is sent.
            rack.rto_at = Time::NEVER;
        }
        self.send_data(call, segment.start, segment.len.into());
    }

    /// Sends one new segment, if there is one and the windows have room.
    fn send_new(&mut self, rack: &mut Rack, call: &mut Call<'_, impl Wire>, limit: u64) -> bool {
        let start = self.snd.high;
        if start >= self.snd.end + u64::from(self.snd.fin) || !self.is_open() {
            return false;
        }
        if call.params.idle_restart && self.snd.una == start {
            self.restart_after_idle(call);
        }
        let window = limit.min(self.snd.rwnd.into());
        let len = (self.snd.end - start).min(call.params.mss.into()).min(window);
        let fin = self.snd.fin && start + len == self.snd.end;
        let beyond = start - self.snd.una + len > u64::from(self.snd.rwnd);
        if (len == 0 && !fin) || (len > 0 && (beyond || rack.pipe + len > limit)) {
            return false;
        }
        self.send_data(call, start, len);
        let sent = Sent { start, at: call.now, len: len as u32, fin, resent: false, sacked: false, lost: false };
        rack.pipe += sent.span();
        rack.sent.push_back(sent);
        self.snd.nxt = sent.end();
        self.snd.high = self.snd.nxt;
        true
    }

    /// RFC 6298, 5.1 and 5.2: the retransmission timer runs while something is out, and only then.
    fn start_timers(&mut self, rack: &mut Rack, call: &Call<'_, impl Wire>) {
        if rack.sent.is_empty() {
            (rack.rto_at, rack.probe_at, rack.reorder_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        } else if rack.rto_at == Time::NEVER {
            rack.rto_at = call.now.saturating_add(self.snd.rtt.timeout(call.params));
        }
        self.snd.rto_at = rack.rto_at.min(rack.probe_at).min(rack.reorder_at);
    }

    /// The earliest of the three timers fired.
    #[cold]
    pub(crate) fn expire_by_time(&mut self, call: &mut Call<'_, impl Wire>) {
        let Some(mut rack) = self.rack.take() else { return };
        if rack.reorder_at <= call.now {
            let lost = rack.detect(call, self.snd.rtt.srtt());
            if rack.phase == Phase::Open {
                self.change_phase(&mut rack, call, self.snd.high - self.snd.una, None);
                self.send_on_ack(&mut rack, call, News { delivered: 0, lost }, false);
            } else {
                // No ACK, so no new quota: what was found lost makes room in the window.
                self.send_by_time(&mut rack, call, self.law.usable(&self.snd.window));
            }
        } else if rack.probe_at <= call.now {
            self.probe_tail(&mut rack, call);
        } else {
            self.time_out_by_time(&mut rack, call);
        }
        self.rack = Some(rack);
    }

    /// The retransmission timer fired (RFC 6298, section 5; RFC 5681, section 3.1; RFC 8985, section 6.3).
    fn time_out_by_time(&mut self, rack: &mut Rack, call: &mut Call<'_, impl Wire>) {
        self.stats.timeouts += 1;
        let again = self.snd.timed_out == self.snd.una;
        self.snd.timed_out = self.snd.una;
        if !again {
            let mut window = self.snd.window;
            if let Phase::Recovery(_) = rack.phase {
                window.cwnd = window.ssthresh;
            }
            let flight = (self.snd.high - self.snd.una).min(window.cwnd.max(call.params.mss).into());
            self.cut(Cause::Timeout, call.now, flight, window);
        }
        self.snd.rtt.back_off();
        self.snd.say_cwr = self.ecn;
        self.snd.cwr = None;
        self.snd.recover = self.snd.high;
        self.snd.timed = None;
        rack.lose_on_timeout(call, self.snd.rtt.srtt());
        rack.phase = Phase::Loss;
        rack.probe = None;
        (rack.rto_at, rack.probe_at, rack.reorder_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        // The loss window: one segment beside what is not taken for lost.
        self.snd.window.cwnd = u32::try_from(rack.pipe).unwrap_or(u32::MAX).saturating_add(call.params.mss);
        let usable = self.law.usable(&self.snd.window).max(1);
        if let Some(first) = rack.sent.front()
            && first.lost
        {
            if first.len > usable {
                rack.split(0, usable);
            }
            self.resend(rack, call, 0);
        }
        self.send_by_time(rack, call, usable);
    }
}
