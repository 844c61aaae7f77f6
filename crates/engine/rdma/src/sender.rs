//! The sending half: go-back-N or selective repeat, paced.

use std::collections::VecDeque;

use fanin_laws::rate::rdma::Recovery;
use fanin_laws::rate::{Ack, Control, Hop, Law};
use fanin_transport::Block;
use fanin_units::{Rate, Time};

use crate::blocks;
use crate::settings::{Messages, Settings};

/// The next packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Its place in the stream.
    pub at: u64,
    /// Payload in bytes; none: the end of the stream.
    pub payload: Option<u32>,
}

impl Next {
    /// The end of the stream counts as one byte.
    #[inline]
    fn end(self) -> u64 {
        self.at + self.payload.map_or(1, u64::from)
    }
}

#[derive(Clone, Debug)]
pub struct Sender {
    pub law: Law,
    /// Bytes written, and whether the application has closed.
    pub written: u64,
    pub closing: bool,
    /// First byte to be sent, the first that was never sent, and the first unacknowledged one; the end of the stream counts as one.
    pub next: u64,
    pub fresh: u64,
    pub acked: u64,
    /// A packet waits in the network card.
    pub in_card: bool,
    /// When the rate allows the next packet.
    pub ready_at: Time,
    /// Bytes on the wire of the last packet.
    last_bytes: u32,
    /// Timeouts since something was last acknowledged.
    pub timeouts: u32,
    /// Congestion notifications received.
    pub notified: u64,
    /// When something was last sent or acknowledged.
    pub moved_at: Time,
    /// Ends of packets that waited in the card, and how long: round trips are measured from their departure.
    waited: VecDeque<(u64, Time)>,
    /// Places at which messages begin whose cost is still to come; empty if messages cost nothing.
    begins: VecDeque<u64>,
    /// State of selective repeat, once something was lost.
    repair: Option<Box<Repair>>,
}

/// State of selective repeat.
#[derive(Clone, Debug, Default)]
struct Repair {
    /// Runs that the receiver has after the first missing byte.
    kept: Vec<Block>,
    /// Everything before it that the receiver does not have is lost.
    lost_before: u64,
    /// Holes before it have been sent again, the last one at that time.
    sent_before: u64,
    sent_at: Time,
}

impl Sender {
    pub fn new(settings: &Settings) -> Sender {
        Sender {
            law: settings.law.clone(),
            written: 0,
            closing: false,
            next: 0,
            fresh: 0,
            acked: 0,
            in_card: false,
            ready_at: Time::ZERO,
            last_bytes: 0,
            timeouts: 0,
            notified: 0,
            moved_at: Time::ZERO,
            waited: VecDeque::new(),
            begins: VecDeque::new(),
            repair: None,
        }
    }

    /// The application writes more.
    pub fn write(&mut self, now: Time, bytes: u64, settings: &Settings) {
        let Messages { bytes: size, cost, .. } = settings.messages;
        if cost > Time::ZERO && (size == 0 || self.written == 0) {
            self.begins.push_back(self.written);
        }
        let was_idle = self.is_idle();
        self.catch_up(now, settings);
        self.written += bytes;
        // An idle queue pair takes the first message at once.
        self.begin_message(now, if was_idle { Time::ZERO } else { cost }, settings);
    }

    /// If the next packet is a message's first, the card needs some time after the last one.
    #[inline]
    fn begin_message(&mut self, now: Time, cost: Time, settings: &Settings) {
        let bytes = settings.messages.bytes;
        if self.begins.front() != Some(&self.next) || self.next(settings).is_none() {
            return;
        }
        self.begins.pop_front();
        if bytes > 0 {
            self.begins.push_back(self.next + bytes);
        }
        self.ready_at = self.ready_at.max(now).saturating_add(cost);
    }

    /// The next packet, if the window has room for it and none waits in the card.
    #[inline]
    pub fn next(&self, settings: &Settings) -> Option<Next> {
        self.next_bytes(settings).map(|Block { start, end }| self.packet(start, end, settings))
    }

    /// Where the next packet begins, and where it ends at the latest; as [`Sender::next`].
    pub fn next_bytes(&self, settings: &Settings) -> Option<Block> {
        if self.in_card {
            return None;
        }
        if let Some(repair) = &self.repair
            && let Some(hole) = blocks::hole(&repair.kept, self.acked.max(repair.sent_before), repair.lost_before)
        {
            return Some(Block { start: hole.start, end: hole.end.min(self.written) });
        }
        let has_more = self.next < self.written || self.closing && self.next == self.written;
        (has_more && !self.is_window_full(settings)).then_some(Block { start: self.next, end: self.written })
    }

    /// The packet at a place before `until`, or the end of the stream. None has bytes of two messages.
    #[inline]
    fn packet(&self, at: u64, until: u64, settings: &Settings) -> Next {
        let mut bytes = until.saturating_sub(at).min(settings.payload.into());
        if let Some(place) = at.checked_rem(settings.messages.bytes) {
            bytes = bytes.min(settings.messages.bytes - place);
        }
        Next { at, payload: (bytes > 0).then_some(bytes as u32) }
    }

    fn is_window_full(&self, settings: &Settings) -> bool {
        let Messages { bytes, depth, .. } = settings.messages;
        if depth > 0 && bytes > 0 && self.next >= (self.acked / bytes + depth).saturating_mul(bytes) {
            return true;
        }
        let in_flight = self.next - self.acked;
        in_flight >= settings.most_in_flight
            || settings.window.is_some_and(|window| {
                let at_rate = u128::from(window) * u128::from(self.law.rate().0) / u128::from(settings.line.0.max(1));
                u128::from(in_flight) >= at_rate.max(1)
            })
    }

    /// Whether there is nothing to send or to be acknowledged.
    pub fn is_idle(&self) -> bool {
        self.acked == self.next && self.next >= self.written
    }

    /// Whether something is unacknowledged.
    pub fn awaits(&self) -> bool {
        self.acked < self.next
    }

    /// The packet goes to the network card; returns whether it was sent before.
    #[inline]
    pub fn send(&mut self, now: Time, packet: Next) -> bool {
        let again = packet.at < self.fresh;
        if packet.at < self.next {
            let repair = self.repair.get_or_insert_default();
            (repair.sent_before, repair.sent_at) = (packet.end(), now);
        } else {
            self.next = packet.end();
        }
        self.fresh = self.fresh.max(self.next);
        // The end of the stream has no payload, whose departure would be reported.
        (self.in_card, self.moved_at) = (packet.payload.is_some(), now);
        again
    }

    /// The packet has begun to leave the card.
    #[inline]
    pub fn started(&mut self, now: Time, wire_bytes: u32, settings: &Settings) {
        if self.in_card && now > self.moved_at {
            self.waited.push_back((self.next, now.since(self.moved_at)));
        }
        (self.in_card, self.last_bytes, self.moved_at) = (false, wire_bytes, now);
        self.law.sent(now, wire_bytes);
        self.ready_at = now.saturating_add(self.law.rate().time_for(wire_bytes.into()));
        self.begin_message(now, settings.messages.cost, settings);
    }

    /// Time since a packet that ends at this byte began to leave; it was sent at some time.
    pub fn round_trip(&mut self, now: Time, at: u64, sent: Time) -> Time {
        let mut waited = Time::ZERO;
        while let Some(&(end, time)) = self.waited.front()
            && end <= at
        {
            self.waited.pop_front();
            waited = if end == at { time } else { waited };
        }
        now.since(sent.saturating_add(waited))
    }

    /// Everything before `at` is acknowledged after a round trip, by a packet that reports a congestion mark or not.
    pub fn acknowledge(&mut self, now: Time, at: u64, rtt: Time, marked: bool, hops: &[Hop], settings: &Settings) {
        self.notified += u64::from(marked);
        if at > self.acked {
            (self.acked, self.moved_at, self.timeouts) = (at, now, 0);
            // A late acknowledgement after a timeout: nothing before it need be sent again.
            self.next = self.next.max(at);
            if let Some(repair) = &mut self.repair {
                blocks::end_after(&mut repair.kept, at);
            }
        }
        let before = self.law.rate();
        self.law.acknowledge(&Ack { now, acked: at, next: self.next, packet: settings.payload, rtt, marked, hops });
        self.retime(now, before, settings);
        self.begin_message(now, settings.messages.cost, settings);
    }

    /// The receiver has kept a packet that was sent at some time, with those of the block: missing ones before them are lost.
    /// Returns whether that is news of a loss.
    pub fn kept(&mut self, block: Block, sent: Time) -> bool {
        if block.start <= self.acked {
            return false;
        }
        let repair = self.repair.get_or_insert_default();
        let is_news = block.start > repair.lost_before;
        blocks::add(&mut repair.kept, block);
        repair.lost_before = repair.lost_before.max(block.start);
        // A packet that left after all holes has come: those that are still there are lost again.
        if sent > repair.sent_at {
            repair.sent_before = self.acked;
        }
        is_news
    }

    /// Serves the algorithm's timers up to now.
    #[inline]
    pub fn expire(&mut self, now: Time, settings: &Settings) {
        self.catch_up(now, settings);
        if self.law.deadline() <= now {
            self.serve_law(now, settings);
        }
    }

    /// Serves the algorithm's timers that were due before now, each at its time: nothing wakes a sender without data, or for those that only
    /// lower its rate.
    #[inline]
    pub fn catch_up(&mut self, now: Time, settings: &Settings) {
        while self.law.deadline() < now {
            self.serve_law(self.law.deadline(), settings);
        }
    }

    #[inline]
    fn serve_law(&mut self, now: Time, settings: &Settings) {
        let before = self.law.rate();
        self.law.expire(now);
        self.retime(now, before, settings);
    }

    /// When the algorithm may let the next packet leave earlier.
    pub fn hastens_at(&self, settings: &Settings) -> Time {
        let matters = settings.retimes || settings.window.is_some();
        if !matters || self.is_idle() { Time::NEVER } else { self.law.rises_at() }
    }

    /// The rate may have changed while the next packet waits for its time.
    fn retime(&mut self, now: Time, before: Rate, settings: &Settings) {
        if !settings.retimes || self.law.rate() == before {
            return;
        }
        let [before, after] = [before, self.law.rate()].map(|rate| rate.time_for(self.last_bytes.into()));
        let at = self.ready_at.0.saturating_add(after.0).saturating_sub(before.0);
        self.ready_at = Time(at).max(now);
    }

    /// Everything unacknowledged is to be sent again, with selective repeat except for the runs that the receiver has.
    pub fn go_back(&mut self, now: Time, recovery: Recovery) {
        self.moved_at = now;
        match recovery {
            Recovery::GoBackN => self.next = self.acked,
            Recovery::SelectiveRepeat => {
                let repair = self.repair.get_or_insert_default();
                (repair.lost_before, repair.sent_before) = (self.next, self.acked);
            }
        }
        self.waited.clear();
    }
}
