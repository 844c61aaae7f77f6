//! The sending half: packets, which of them have arrived, and permission to send.

use std::collections::VecDeque;

use fanin_laws::uet::paths::Paths;
use fanin_laws::uet::{self, nscc};
use fanin_units::Time;

use crate::packet::Sack;
use crate::settings::Settings;

/// A timeout grows to 64 times its length.
const MOST_DOUBLINGS: u32 = 6;

/// State of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is under way since then.
    Sent(Time),
    /// It is to be sent again.
    Lost,
    /// It has arrived.
    Arrived,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    payload: u16,
    /// How often it was sent.
    times: u16,
    /// Its path, if chosen.
    path: Option<u16>,
    state: State,
}

/// The next packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    pub number: u32,
    pub payload: u16,
    pub closes: bool,
    pub asks: bool,
    pub again: bool,
    /// Entropy of its path, once it is sent.
    pub path: Option<u16>,
}

#[derive(Clone, Debug)]
pub struct Sender {
    pub law: uet::Sender,
    /// Bytes written, and whether the application has closed.
    pub written: u64,
    pub closing: bool,
    /// The end of the stream is a packet of its own.
    close_sent: bool,
    /// Bytes sent at least once, and those that have arrived in order.
    pub sent: u64,
    pub acked: u64,
    /// Packets from the first that has not arrived in order.
    first: u32,
    records: VecDeque<Record>,
    /// Packets to be sent again, their bytes on the wire, and a number below which there are none.
    lost: u32,
    lost_bytes: u64,
    lost_from: u32,
    /// Packets under way.
    under_way: u32,
    /// Bytes on the wire under way, as acknowledgements have it; some may have been counted twice.
    in_flight: i64,
    arrived: u32,
    /// Packets in the order of sending, each with its time: stale ones are skipped.
    order: VecDeque<(Time, u32)>,
    /// Timeouts since anything arrived: each doubles the next one's time.
    timeouts: u32,
    /// The number of the packet in the network card, if one waits there.
    in_card: Option<u32>,
    paths: Paths,
    pub moved_at: Time,
}

impl Sender {
    pub fn new(law: uet::Sender, paths: Paths) -> Sender {
        Sender {
            law,
            written: 0,
            closing: false,
            close_sent: false,
            sent: 0,
            acked: 0,
            first: 0,
            records: VecDeque::new(),
            lost: 0,
            lost_bytes: 0,
            lost_from: 0,
            under_way: 0,
            in_flight: 0,
            arrived: 0,
            order: VecDeque::new(),
            timeouts: 0,
            in_card: None,
            paths,
            moved_at: Time::ZERO,
        }
    }

    fn fresh(&self) -> u32 {
        self.first + self.records.len() as u32
    }

    /// Bytes on the wire to be sent, for the first time or again.
    pub fn backlog(&self, settings: &Settings) -> u64 {
        let new = self.written - self.sent;
        let packets = new.div_ceil(settings.payload.into());
        new + packets * u64::from(settings.place.header) + self.lost_bytes
    }

    /// Whether something was sent and has not arrived.
    pub fn awaits(&self) -> bool {
        !self.records.is_empty()
    }

    /// Whether a packet waits in the network card.
    pub fn is_in_card(&self) -> bool {
        self.in_card.is_some()
    }

    /// Whether the peer knows that this side has closed.
    pub fn has_closed(&self) -> bool {
        self.close_sent && self.records.is_empty()
    }

    /// Whether something is to be sent that lacks credit, and no packet is under way whose answer could bring some.
    pub fn is_stuck(&self) -> bool {
        let may_send = match &self.law {
            uet::Sender::Windowed(_) => true,
            uet::Sender::Granted(law) => law.may_send(),
            uet::Sender::Pulled(law) => law.may_send(),
        };
        !may_send && self.under_way == 0 && (self.lost > 0 || self.sent < self.written)
    }

    /// Whether a receiver has to learn at once that credit is missing: pulls come for every packet anyway.
    pub fn asks_at_once(&self) -> bool {
        matches!(self.law, uet::Sender::Granted(_))
    }

    /// The next packet, if there is one that may be sent.
    pub fn next(&mut self, settings: &Settings) -> Option<Next> {
        if self.in_card.is_some() {
            return None;
        }
        let next = self.candidate(settings)?;
        let bytes = settings.wire_bytes(next.payload.into());
        // The end of the stream has no payload, and needs no permission.
        (next.payload == 0 || self.may_send(bytes)).then_some(next)
    }

    fn candidate(&mut self, settings: &Settings) -> Option<Next> {
        if self.lost > 0 {
            let number = self.first_lost();
            let record = self.records[(number - self.first) as usize];
            let closes = record.payload == 0;
            return Some(Next { number, payload: record.payload, closes, asks: true, again: true, path: None });
        }
        let number = self.fresh();
        match self.written - self.sent {
            0 => (self.closing && !self.close_sent).then_some(Next {
                number,
                payload: 0,
                closes: true,
                asks: true,
                again: false,
                path: None,
            }),
            left => {
                let payload = left.min(settings.payload.into()) as u16;
                Some(Next { number, payload, closes: false, asks: false, again: false, path: None })
            }
        }
    }

    fn first_lost(&mut self) -> u32 {
        let from = self.lost_from.max(self.first);
        let lost = |number: &u32| self.records[(number - self.first) as usize].state == State::Lost;
        self.lost_from = (from..self.fresh()).find(lost).expect("some packet is lost");
        self.lost_from
    }

    fn may_send(&self, bytes: u64) -> bool {
        match &self.law {
            uet::Sender::Windowed(law) => law.window() as i64 >= self.in_flight + bytes as i64,
            uet::Sender::Granted(law) => law.may_send(),
            uet::Sender::Pulled(law) => law.may_send(),
        }
    }

    /// Sends this packet, the next one; returns it, with a request for an acknowledgement if nothing more may follow.
    pub fn send(&mut self, now: Time, next: Next, settings: &Settings) -> Next {
        let bytes = settings.wire_bytes(next.payload.into());
        let path = self.paths.choose();
        match next.again {
            true => {
                let record = &mut self.records[(next.number - self.first) as usize];
                let times = record.times.saturating_add(1);
                *record = Record { state: State::Sent(now), times, path, ..*record };
                self.lost -= 1;
                self.lost_bytes -= bytes;
            }
            false => {
                self.records.push_back(Record { payload: next.payload, times: 1, path, state: State::Sent(now) });
                self.sent += u64::from(next.payload);
                self.close_sent |= next.closes;
            }
        }
        self.under_way += 1;
        self.in_flight += bytes as i64;
        if next.payload > 0 {
            match &mut self.law {
                uet::Sender::Windowed(_) => {}
                uet::Sender::Granted(law) => law.spend(bytes),
                uet::Sender::Pulled(law) => law.spend(),
            }
        }
        self.order.push_back((now, next.number));
        self.in_card = (next.payload > 0).then_some(next.number);
        self.moved_at = now;
        let full = settings.wire_bytes(settings.payload);
        let asks = next.asks || self.written == self.sent || !self.may_send(full);
        Next { asks, path, ..next }
    }

    /// Up to where this sender wants grants.
    #[inline]
    pub fn wants(&self, settings: &Settings) -> u64 {
        match &self.law {
            uet::Sender::Granted(law) => law.wants(self.backlog(settings), settings.place.packet.into()),
            uet::Sender::Windowed(_) | uet::Sender::Pulled(_) => 0,
        }
    }

    /// The packet in the card has begun to leave.
    #[inline]
    pub fn started(&mut self, now: Time) {
        let Some(number) = self.in_card.take() else { return };
        if let Some(at) = number.checked_sub(self.first)
            && let Some(record) = self.records.get_mut(at as usize)
            && let State::Sent(sent) = &mut record.state
            && *sent != now
        {
            *sent = now;
            self.order.push_back((now, number));
        }
        self.moved_at = now;
    }

    fn record(&self, number: u32) -> Option<&Record> {
        self.records.get(number.checked_sub(self.first)? as usize)
    }

    /// The receiver has answered.
    fn heard(&mut self) {
        if let uet::Sender::Granted(law) = &mut self.law {
            law.heard();
        }
    }

    /// Takes an acknowledgement; returns the round trip, if it is known.
    pub fn acknowledge(&mut self, now: Time, sack: &Sack, settings: &Settings) -> Option<Time> {
        let arrived = sack.arrived.wrapping_sub(self.arrived);
        // An older acknowledgement that was overtaken adds nothing.
        let arrived = if arrived < 1 << 31 { arrived } else { 0 };
        self.arrived = self.arrived.wrapping_add(arrived);
        self.in_flight -= i64::from(arrived);
        self.timeouts = if arrived > 0 { 0 } else { self.timeouts };
        let rtt = self.round_trip(now, sack);
        let path = self.record(sack.packet).and_then(|record| record.path);
        self.paths.arrived(now, path, sack.marked);
        for number in self.first..sack.expected.min(self.fresh()) {
            self.arrives(number, settings);
        }
        let mut bitmap = sack.bitmap;
        while bitmap != 0 {
            let number = sack.first + bitmap.trailing_zeros();
            if number >= self.first && number < self.fresh() {
                self.arrives(number, settings);
            }
            bitmap &= bitmap - 1;
        }
        while let Some(record) = self.records.front()
            && record.state == State::Arrived
        {
            self.acked += u64::from(record.payload);
            self.records.pop_front();
            self.first += 1;
            self.moved_at = now;
        }
        if let uet::Sender::Windowed(law) = &mut self.law {
            let in_flight = self.in_flight.max(0) as u64;
            law.acknowledge(&nscc::Ack { now, arrived: arrived.into(), rtt, marked: sack.marked, in_flight });
        }
        self.heard();
        rtt
    }

    /// The round trip of the acknowledged packet, unless another transmission may have arrived.
    fn round_trip(&self, now: Time, sack: &Sack) -> Option<Time> {
        let record = self.record(sack.packet)?;
        let State::Sent(sent) = record.state else { return None };
        let known = record.times == 1 && !sack.again || record.times == 2 && sack.again;
        known.then(|| now.since(sent))
    }

    /// A packet has arrived.
    fn arrives(&mut self, number: u32, settings: &Settings) {
        let record = &mut self.records[(number - self.first) as usize];
        let before = std::mem::replace(&mut record.state, State::Arrived);
        self.under_way -= u32::from(matches!(before, State::Sent(_)));
        if before == State::Lost {
            // Its bytes were taken off when it seemed lost, and again by the count of those that arrived.
            let bytes = settings.wire_bytes(record.payload.into());
            (self.lost, self.lost_bytes) = (self.lost - 1, self.lost_bytes - bytes);
            self.in_flight += bytes as i64;
        }
    }

    /// A packet came to the receiver as a header.
    pub fn trimmed(&mut self, now: Time, number: u32, settings: &Settings) {
        let Some(&Record { payload, path, state: State::Sent(sent), .. }) = self.record(number) else { return };
        self.paths.trimmed(path);
        let bytes = settings.wire_bytes(payload.into());
        if let uet::Sender::Windowed(law) = &mut self.law {
            law.trimmed(now, bytes, now.since(sent), self.in_flight.max(0) as u64);
        }
        self.lose(number, bytes);
        self.heard();
    }

    fn lose(&mut self, number: u32, bytes: u64) {
        self.records[(number - self.first) as usize].state = State::Lost;
        self.in_flight -= bytes as i64;
        self.under_way -= 1;
        (self.lost, self.lost_bytes) = (self.lost + 1, self.lost_bytes + bytes);
        self.lost_from = self.lost_from.min(number);
    }

    /// All that the receiver has granted.
    pub fn grant(&mut self, granted: u64) {
        match &mut self.law {
            uet::Sender::Windowed(_) => {}
            uet::Sender::Granted(law) => {
                law.heard();
                law.grant(granted);
            }
            uet::Sender::Pulled(law) => law.pull(granted),
        }
    }

    /// The application begins to write while nothing is under way.
    pub fn begin(&mut self) {
        if let uet::Sender::Pulled(law) = &mut self.law {
            law.begin();
        }
    }

    #[inline]
    fn timeout(&self, settings: &Settings) -> Time {
        Time(settings.timeout.0.saturating_mul(1 << self.timeouts.min(MOST_DOUBLINGS)))
    }

    /// When the packet that was sent first times out.
    #[inline]
    pub fn times_out(&mut self, settings: &Settings) -> Time {
        while let Some(&(sent, number)) = self.order.front() {
            if self.record(number).is_some_and(|record| record.state == State::Sent(sent)) {
                // A packet in the card has not left.
                let waits = self.in_card == Some(number);
                return if waits { Time::NEVER } else { sent.saturating_add(self.timeout(settings)) };
            }
            self.order.pop_front();
        }
        Time::NEVER
    }

    /// The packet that was sent first has timed out.
    pub fn time_out(&mut self, now: Time, settings: &Settings) {
        let Some(&(_, number)) = self.order.front() else { return };
        let bytes = self.record(number).map_or(0, |record| settings.wire_bytes(record.payload.into()));
        if let uet::Sender::Windowed(law) = &mut self.law {
            law.timed_out(bytes);
        }
        let path = self.record(number).and_then(|record| record.path);
        self.paths.timed_out(now, path);
        self.order.pop_front();
        self.lose(number, bytes);
        self.moved_at = now;
        self.timeouts += 1;
    }
}
