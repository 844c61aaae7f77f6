//! The sending half: go-back-N, paced.

use std::collections::VecDeque;

use fanin_laws::rate::{Ack, Control, Hop, Law};
use fanin_units::{Rate, Time};

use crate::settings::Settings;

/// The next thing to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Payload, in bytes.
    Data(u32),
    /// The end of the stream.
    Close,
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
    /// When something was last sent or acknowledged.
    pub moved_at: Time,
    /// Ends of packets that waited in the card, and how long: round trips are measured from their departure.
    waited: VecDeque<(u64, Time)>,
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
            moved_at: Time::ZERO,
            waited: VecDeque::new(),
        }
    }

    /// The next packet, if the window has room for it and none waits in the card.
    pub fn next(&self, settings: &Settings) -> Option<Next> {
        if self.in_card || self.is_window_full(settings) {
            return None;
        }
        match self.written - self.next.min(self.written) {
            0 => (self.closing && self.next == self.written).then_some(Next::Close),
            left => Some(Next::Data(left.min(settings.payload.into()) as u32)),
        }
    }

    fn is_window_full(&self, settings: &Settings) -> bool {
        settings.window.is_some_and(|window| {
            let at_rate = u128::from(window) * u128::from(self.law.rate().0) / u128::from(settings.line.0.max(1));
            u128::from(self.next - self.acked) >= at_rate.max(1)
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

    /// The next packet goes to the network card; returns whether it was sent before.
    pub fn send(&mut self, now: Time, next: Next) -> bool {
        let again = self.next < self.fresh;
        self.next += match next {
            Next::Data(bytes) => bytes.into(),
            Next::Close => 1,
        };
        self.fresh = self.fresh.max(self.next);
        // The end of the stream has no payload, whose departure would be reported.
        (self.in_card, self.moved_at) = (matches!(next, Next::Data(_)), now);
        again
    }

    /// The packet has begun to leave the card.
    pub fn started(&mut self, now: Time, wire_bytes: u32) {
        if self.in_card && now > self.moved_at {
            self.waited.push_back((self.next, now.since(self.moved_at)));
        }
        (self.in_card, self.last_bytes, self.moved_at) = (false, wire_bytes, now);
        self.law.sent(now, wire_bytes);
        self.ready_at = now.saturating_add(self.law.rate().time_for(wire_bytes.into()));
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
        if at > self.acked {
            (self.acked, self.moved_at) = (at, now);
            // A late acknowledgement after a timeout: nothing before it need be sent again.
            self.next = self.next.max(at);
        }
        let before = self.law.rate();
        self.law.acknowledge(&Ack { now, acked: at, next: self.next, packet: settings.payload, rtt, marked, hops });
        self.retime(now, before, settings);
    }

    /// Serves the algorithm's timers.
    pub fn expire(&mut self, now: Time, settings: &Settings) {
        let before = self.law.rate();
        self.law.expire(now);
        self.retime(now, before, settings);
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

    /// Everything unacknowledged is to be sent again.
    pub fn go_back(&mut self, now: Time) {
        (self.next, self.moved_at) = (self.acked, now);
        self.waited.clear();
    }
}
