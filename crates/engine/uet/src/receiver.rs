//! The receiving half: arrivals, acknowledgements and grants.

use std::collections::VecDeque;

use fanin_laws::uet;
use fanin_transport::Awaited;

use crate::packet::{Sack, first_of};
use crate::settings::Settings;

/// A packet beyond the expected one has arrived: this bit above its payload.
const ARRIVED: u16 = 1 << 15;
const CLOSES: u16 = 1 << 14;

#[derive(Clone, Debug)]
pub struct Receiver {
    pub law: uet::Receiver,
    /// First packet that has not arrived.
    expected: u32,
    /// Packets from `expected` on; zero for those that have not arrived.
    beyond: VecDeque<u16>,
    /// How many of them have arrived.
    early: u32,
    /// Bytes on the wire that have arrived, and those that were not acknowledged.
    arrived: u64,
    unacknowledged: u64,
    /// The sender has asked for an acknowledgement once nothing is missing.
    asked: bool,
    /// Bytes delivered in order, and whether the stream has ended.
    pub delivered: u64,
    pub closed: bool,
    pub awaited: Awaited,
    /// Anything has come from the sender.
    pub has_heard: bool,
    /// Whether it is in its host's queues for turns: now, and when the others are satisfied.
    pub is_queued: [bool; 2],
}

/// A packet of the stream as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub number: u32,
    pub payload: u16,
    pub closes: bool,
    pub asks: bool,
    pub again: bool,
    pub marked: bool,
}

impl Receiver {
    pub fn new(law: uet::Receiver) -> Receiver {
        Receiver {
            law,
            expected: 0,
            beyond: VecDeque::new(),
            early: 0,
            arrived: 0,
            unacknowledged: 0,
            asked: false,
            delivered: 0,
            closed: false,
            awaited: Awaited::NONE,
            has_heard: false,
            is_queued: [false; 2],
        }
    }

    /// Whether a packet has arrived.
    pub fn has(&self, number: u32) -> bool {
        number < self.expected || self.beyond.get((number - self.expected) as usize).is_some_and(|&slot| slot != 0)
    }

    /// Takes a whole packet that is new; returns whether to acknowledge it now.
    pub fn take(&mut self, arrival: Arrival, settings: &Settings) -> bool {
        let first = self.arrived == 0;
        let bytes = settings.wire_bytes(arrival.payload.into());
        self.arrived += bytes;
        self.unacknowledged += bytes;
        self.asked |= arrival.asks;
        self.note(arrival);
        let complete = self.early == 0 && self.asked;
        self.asked &= !complete;
        let enough = self.unacknowledged >= settings.laws.uet.ack_after.0;
        arrival.marked || enough || first || arrival.asks || complete
    }

    fn note(&mut self, Arrival { number, payload, closes, .. }: Arrival) {
        let place = (number - self.expected) as usize;
        if self.beyond.len() <= place {
            self.beyond.resize(place + 1, 0);
        }
        self.beyond[place] = ARRIVED | payload | if closes { CLOSES } else { 0 };
        self.early += 1;
        while let Some(&slot) = self.beyond.front()
            && slot != 0
        {
            self.beyond.pop_front();
            self.expected += 1;
            self.early -= 1;
            self.delivered += u64::from(slot & !(ARRIVED | CLOSES));
            self.closed |= slot & CLOSES != 0;
        }
    }

    /// The acknowledgement that a packet causes.
    pub fn acknowledge(&mut self, arrival: Arrival) -> Sack {
        self.unacknowledged = 0;
        let Arrival { number, marked, asks, again, .. } = arrival;
        let first = if marked || asks { number } else { first_of(self.expected, number) };
        Sack {
            expected: self.expected,
            packet: number,
            first,
            bitmap: self.bitmap(first),
            arrived: self.arrived as u32,
            marked,
            again,
        }
    }

    fn bitmap(&self, first: u32) -> u64 {
        if self.early == 0 {
            return 0;
        }
        let bit = |at: u32| {
            let place = u64::from(first + at).checked_sub(self.expected.into());
            let slot = place.and_then(|place| self.beyond.get(place as usize));
            u64::from(slot.is_some_and(|&slot| slot != 0)) << at
        };
        (0..64).map(bit).sum()
    }
}
