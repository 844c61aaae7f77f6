//! Network of two endpoints, driven by a small event queue of its own.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fanin_laws::sender::Law;
use fanin_tcp::{Block, Call, Endpoint, Flags, Metadata, Params, Segment, Stack, Wire};
use fanin_units::Time;

use crate::common::Sent;

/// Impairments, in packets per thousand; they affect only the first `lossy_packets` packets, so that every run can end.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Lost packets.
    pub loss: u32,
    /// Packets that take up to four times as long, and are overtaken.
    pub delay: u32,
    /// Packets delivered twice.
    pub repeat: u32,
    /// ECN-capable packets that are marked.
    pub mark: u32,
    /// Number of packets that may be impaired.
    pub lossy_packets: u32,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Case {
    pub params: Params,
    pub law: Law,
    pub seed: u64,
    pub faults: Faults,
    /// Bytes that each side writes, in `writes` parts.
    pub bytes: [u64; 2],
    pub writes: u64,
}

const ONE_WAY: Time = Time::from_micros(500);
/// Limit of events after which a run counts as hung.
const EVENTS_MAX: u32 = 60_000;
const TIME_MAX: Time = Time::from_secs(300);

enum Event {
    Arrives { at: usize, sent: Sent },
    Writes { at: usize, bytes: u64, last: bool },
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }
}

#[derive(Default)]
struct Outbox(Vec<Sent>);

impl Wire for Outbox {
    fn send(&mut self, segment: Segment, beside: Metadata<'_>) {
        self.0.push(Sent { segment, sack: beside.sack.to_vec(), notes: beside.notes });
    }
}

struct Run<'a> {
    case: &'a Case,
    now: Time,
    random: Random,
    ends: [Endpoint; 2],
    events: BTreeMap<(Time, u32), Event>,
    scheduled: u32,
    packets: u32,
    /// One past the highest sequence number that each side may use, from received acknowledgements and windows.
    may_send: [u64; 2],
    /// One past the highest sequence number that each side has sent.
    sent: [u64; 2],
    delivered: [u64; 2],
    trace: Vec<String>,
}

/// Run a case to its end; an error has the last lines of its trace.
pub fn run(case: &Case) -> Result<(), String> {
    let end = || Endpoint::new(&case.params, case.law.clone());
    let mut run = Run {
        case,
        now: Time::ZERO,
        random: Random(case.seed),
        ends: [end(), end()],
        events: BTreeMap::new(),
        scheduled: 0,
        packets: 0,
        may_send: [1; 2],
        sent: [0; 2],
        delivered: [0; 2],
        trace: Vec::new(),
    };
    run.go().map_err(|why| {
        let from = run.trace.len().saturating_sub(40);
        format!("{why}\n{}", run.trace[from..].join("\n"))
    })
}

impl Run<'_> {
    fn go(&mut self) -> Result<(), String> {
        let mut outbox = Outbox::default();
        self.ends[0].connect(&mut Call { params: &self.case.params.into(), now: self.now, wire: &mut outbox });
        self.post(0, outbox)?;
        self.schedule_writes();
        let mut events = 0;
        while !(self.ends[0].finished() && self.ends[1].finished()) {
            events += 1;
            if events > EVENTS_MAX || self.now > TIME_MAX {
                return Err(format!("not finished after {events} events, at {}", self.now));
            }
            self.step()?;
        }
        for at in 0..2 {
            if self.delivered[at] != self.case.bytes[1 - at] {
                return Err(format!("end {at} got {} of {} bytes", self.delivered[at], self.case.bytes[1 - at]));
            }
        }
        Ok(())
    }

    fn schedule_writes(&mut self) {
        for at in 0..2 {
            let (all, parts) = (self.case.bytes[at], self.case.writes);
            for part in 0..parts {
                let bytes = all * (part + 1) / parts - all * part / parts;
                // Some writes follow at once, some after an idle time of up to 50 ms.
                let wait = if part == 0 { 0 } else { self.random.below(50_000_000_000) };
                let time = Time(part * 1_000_000_000 + wait);
                self.schedule(time, Event::Writes { at, bytes, last: part + 1 == parts });
            }
        }
        // Keep one side's parts in order, whatever times were drawn.
        for at in 0..2 {
            let mine: Vec<_> = self
                .events
                .iter()
                .filter(|(_, event)| matches!(event, Event::Writes { at: other, .. } if *other == at))
                .map(|(key, _)| *key)
                .collect();
            let mut writes: Vec<_> = mine.iter().filter_map(|key| self.events.remove(key)).collect();
            writes.sort_by_key(|event| Reverse(matches!(event, Event::Writes { last: false, .. })));
            self.events.extend(mine.into_iter().zip(writes));
        }
    }

    fn schedule(&mut self, time: Time, event: Event) {
        self.events.insert((time, self.scheduled), event);
        self.scheduled += 1;
    }

    fn step(&mut self) -> Result<(), String> {
        let timer = (0..2).min_by_key(|&at| self.ends[at].deadline()).unwrap_or(0);
        let (params, deadline) = (Stack::from(self.case.params), self.ends[timer].deadline());
        let next = self.events.first_key_value().map_or(Time::NEVER, |((time, _), _)| *time);
        let mut outbox = Outbox::default();
        if deadline == Time::NEVER && next == Time::NEVER {
            return Err("nothing is under way and no timer runs".to_string());
        }
        if deadline < next {
            self.now = deadline;
            self.trace.push(format!("{} {timer} timer, cwnd {:?}", self.now, self.ends[timer].window()));
            self.ends[timer].expire(&mut Call { params: &params, now: self.now, wire: &mut outbox });
            if self.ends[timer].deadline() <= self.now {
                return Err(format!("the timer of end {timer} is due again at once"));
            }
            return self.post(timer, outbox);
        }
        let Some(((time, _), event)) = self.events.pop_first() else { return Ok(()) };
        self.now = time;
        let call = &mut Call { params: &params, now: time, wire: &mut outbox };
        let at = match event {
            Event::Writes { at, bytes, last } => {
                self.ends[at].write(call, bytes, Time::NEVER);
                if last {
                    self.ends[at].close(call);
                }
                at
            }
            Event::Arrives { at, sent: Sent { segment, sack, notes } } => {
                self.note_ack(at, &segment);
                self.ends[at].handle(call, &segment, Metadata { sack: &sack, notes, ..Metadata::default() });
                self.check_delivery(at)?;
                at
            }
        };
        self.post(at, outbox)
    }

    /// Record how far an arriving acknowledgement allows its receiver to send.
    fn note_ack(&mut self, at: usize, segment: &Segment) {
        let ack = u64::from(segment.ack);
        if segment.flags.any(Flags::ACK) && ack <= self.sent[at] {
            self.may_send[at] = self.may_send[at].max(ack + u64::from(segment.window));
        }
    }

    fn check_delivery(&mut self, at: usize) -> Result<(), String> {
        let delivered = self.ends[at].delivered();
        if delivered < self.delivered[at] || delivered > self.case.bytes[1 - at] {
            return Err(format!("end {at} had {} bytes, now {delivered}", self.delivered[at]));
        }
        self.delivered[at] = delivered;
        Ok(())
    }

    fn post(&mut self, from: usize, outbox: Outbox) -> Result<(), String> {
        for sent in outbox.0 {
            self.check_segment(from, &sent.segment, &sent.sack)?;
            self.carry(from, sent);
        }
        Ok(())
    }

    fn check_segment(&mut self, from: usize, segment: &Segment, sack: &[Block]) -> Result<(), String> {
        let text = format!("{} {from} {segment:?} {sack:?} {:?}", self.now, self.ends[from].window());
        self.trace.push(text);
        let end = u64::from(segment.seq) + u64::from(segment.len);
        let unit = u64::from(segment.flags.any(Flags::SYN)) + u64::from(segment.flags.any(Flags::FIN));
        self.sent[from] = self.sent[from].max(end + unit);
        if u32::from(segment.len) > self.case.params.mss {
            return Err("a segment is over the MSS".to_string());
        }
        if segment.len > 0 && end > self.may_send[from] {
            return Err(format!("sent up to {end}, where the peer's window ends at {}", self.may_send[from]));
        }
        if end > 1 + self.case.bytes[from] + 1 {
            return Err("more was sent than was written".to_string());
        }
        if segment.header > 80 || !segment.header.is_multiple_of(4) {
            return Err("a header of an impossible size".to_string());
        }
        let ack = u64::from(segment.ack);
        // The first block may report a duplicate.
        let news = if self.case.params.undo { sack.get(1..).unwrap_or(&[]) } else { sack };
        if news.iter().any(|block| block.start <= ack) || sack.iter().any(|block| block.end <= block.start) {
            return Err("a SACK block at or below the cumulative acknowledgement".to_string());
        }
        Ok(())
    }

    fn carry(&mut self, from: usize, mut sent: Sent) {
        let faults = self.case.faults;
        self.packets += 1;
        if self.packets > faults.lossy_packets {
            return self.arrive(1 - from, ONE_WAY, sent);
        }
        if self.random.chance(faults.loss) {
            self.trace.push("  lost".to_string());
            return;
        }
        if sent.segment.flags.any(Flags::ECT) && self.random.chance(faults.mark) {
            sent.segment.flags |= Flags::CE;
        }
        if let Some(notes) = &mut sent.notes {
            let offer = self.random.below(u64::from(6 * self.case.params.mss)) as u32;
            notes.written.mcw = notes.written.mcw.min(offer);
        }
        let mut delay = ONE_WAY;
        if self.random.chance(faults.delay) {
            delay += Time(self.random.below(3 * ONE_WAY.0));
        }
        if self.random.chance(faults.repeat) {
            self.arrive(1 - from, delay + ONE_WAY, sent.clone());
        }
        self.arrive(1 - from, delay, sent);
    }

    fn arrive(&mut self, at: usize, delay: Time, sent: Sent) {
        self.schedule(self.now + delay, Event::Arrives { at, sent });
    }
}
