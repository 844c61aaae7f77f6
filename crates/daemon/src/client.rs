//! A client's connection: what it has sent and has not been taken, its answers in the order of its requests, what waits to be written.

use std::collections::VecDeque;
use std::rc::Rc;

use fanin_memcache::Lines;

use crate::bytes::Bytes;
use crate::clock::Nanos;
use crate::memory::{Buffer, Charge};
use crate::net::Outgoing;
use crate::table::Id;

/// Above so many bytes that a client has not read, nothing more is taken from it.
pub const ENOUGH_HELD: usize = 1 << 20;
/// So many of its requests may wait for answers at once, of a client whose answers are small; and of one that has had none yet.
const MOST_ASKED: usize = 1024;
const FIRST_ASKED: usize = 64;
/// A client's keys are asked for at once up to so many bytes of values, by the mean of its own values so far; but so many keys at least,
/// and no more.
const ENOUGH_ASKED: usize = 4 << 20;
const LEAST_KEYS: usize = 16;
const MOST_KEYS: usize = 1024;
/// The mean that is assumed of a client that has had no values yet.
const FIRST_MEAN: usize = ENOUGH_ASKED / FIRST_ASKED;
/// An idle client keeps room for no more answers and bytes.
const IDLE_ANSWERS: usize = 8;
const IDLE_BYTES: usize = 4 << 10;
/// So many requests of a client are taken in a turn, and so often it is read.
const REQUESTS_A_TURN: u32 = 1024;
const READS_A_TURN: u32 = 4;

/// What an answer is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One server's, as it comes.
    Relay,
    /// A multiget's.
    Multiget(Id),
    /// One server's, which is held until another one has done its part.
    Kept,
    /// Every server's: what differs from this word first, and nothing where silence was asked for.
    Every { well: &'static str, silent: bool },
    /// Every server's list.
    Listing,
}

/// An answer that is not yet written, or not all of it.
#[derive(Debug)]
pub struct Answer {
    pub kind: Kind,
    /// What has come while others were before it.
    pub held: Buffer,
    /// The whole answer, where several clients asked for the same, and how much of it has been written.
    pub joined: Option<Rc<Buffer>>,
    pub joined_written: usize,
    /// Servers whose part is missing.
    pub left: u32,
    /// When its request was taken, and whether that is a get.
    pub at: Nanos,
    pub is_get: bool,
    /// Keys that are asked for and not answered, and the bytes of what is asked.
    pub keys: usize,
    pub asks: usize,
    /// Bytes that have come of it.
    bytes: usize,
}

impl Answer {
    /// Whether a server's line says no more than that all went well.
    pub fn is_well(&self, line: &[u8]) -> bool {
        matches!(self.kind, Kind::Every { well, .. } if well.as_bytes() == line)
    }
}

/// What may still be done for a client in this turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    turn: u64,
    requests: u32,
    reads: u32,
}

impl Budget {
    /// That of a turn, which is new where the turn is.
    pub fn of(&mut self, turn: u64) -> &mut Budget {
        if self.turn != turn {
            *self = Budget { turn, requests: REQUESTS_A_TURN, reads: READS_A_TURN };
        }
        self
    }

    /// Whether one more request may be taken, which is so counted.
    pub fn takes(&mut self) -> bool {
        let takes = self.requests > 0;
        self.requests = self.requests.saturating_sub(1);
        takes
    }

    /// Whether it may be read once more, which is so counted.
    pub fn reads(&mut self) -> bool {
        let reads = self.reads > 0 && self.requests > 0;
        self.reads = self.reads.saturating_sub(1);
        reads
    }

    /// Whether a request may be taken.
    pub fn is_left(&self) -> bool {
        self.requests > 0
    }
}

/// One client.
#[derive(Debug)]
pub struct Client<S> {
    pub socket: S,
    pub pool: usize,
    pub lines: Lines,
    /// Bytes that were read and not taken.
    pub rest: Bytes,
    /// It is of no use to look at them before there are so many.
    pub need: usize,
    /// Bytes of a value that nobody wants.
    pub swallow: u64,
    pub budget: Budget,
    /// There may be more to read; nothing comes behind it; and all of it was read.
    pub readable: bool,
    pub ending: bool,
    pub ended: bool,
    /// Nothing more is taken from it; it is closed when all is written.
    pub closing: bool,
    /// An answer broke off in its middle: it is closed at once.
    pub broken: bool,
    /// A multiget of which not all has been asked: what follows must not overtake it.
    pub asking: Option<Id>,
    /// Nothing more is taken before it has had all answers.
    pub alone: bool,
    /// The number of its present list of keys, where that is logged.
    pub logged: Option<u64>,
    /// What went wrong first with a list of keys that is answered piece by piece.
    pub lacks: Option<&'static str>,
    /// Whether it is among those to be looked at when the turn ends, and among those to be looked at in the next.
    pub dirty: bool,
    pub again: bool,
    answers: VecDeque<Answer>,
    charge: Charge,
    /// The mean length of its values, later ones counting for more.
    mean_value: usize,
    /// What an answer is expected to take: the largest so far, of which a part is forgotten with each.
    expected: usize,
    /// The number of the first of them.
    first: u64,
    /// Keys that are asked for and not answered.
    keys: usize,
    /// What the answers hold, what of multigets is kept beside, and what servers were asked.
    pub held: usize,
    pub tables: usize,
    asks: usize,
    /// When it last sent something, or was sent an answer.
    pub active: Nanos,
    pub out: Outgoing,
}

impl<S> Client<S> {
    pub fn new(socket: S, pool: usize, now: Nanos) -> Client<S> {
        Client {
            socket,
            pool,
            lines: Lines::default(),
            rest: Bytes::default(),
            need: 0,
            swallow: 0,
            budget: Budget::default(),
            readable: true,
            ending: false,
            ended: false,
            closing: false,
            broken: false,
            asking: None,
            alone: false,
            logged: None,
            lacks: None,
            dirty: false,
            again: false,
            answers: VecDeque::new(),
            charge: Charge::default(),
            mean_value: FIRST_MEAN,
            expected: ENOUGH_HELD / FIRST_ASKED,
            first: 0,
            keys: 0,
            held: 0,
            tables: 0,
            asks: 0,
            active: now,
            out: Outgoing::default(),
        }
    }

    /// What it has not read yet.
    pub fn backlog(&self) -> usize {
        self.out.left() + self.held
    }

    /// How many of its keys may be asked for before it is another client's turn.
    pub fn keys_at_once(&self) -> usize {
        (ENOUGH_ASKED / self.mean_value.max(1)).clamp(LEAST_KEYS, MOST_KEYS)
    }

    /// It has had, or stored, so many values of so many bytes together.
    pub fn has_seen(&mut self, values: usize, bytes: usize) {
        if let Some(size) = bytes.checked_div(values) {
            // A list of many counts no more than eight.
            let weight = values.min(8);
            self.mean_value = (self.mean_value * (64 - weight) + size * weight) / 64;
        }
    }

    /// Whether its next request has to wait for answers to what it has asked.
    pub fn is_held_up(&self) -> bool {
        let may_ask = (ENOUGH_HELD / self.expected.max(1)).clamp(1, MOST_ASKED);
        let asks_enough = self.keys >= self.keys_at_once() || self.answers.len() >= may_ask || self.asks > ENOUGH_HELD;
        self.asking.is_some() || self.alone && self.waits_for_answers() || asks_enough || self.backlog() > ENOUGH_HELD
    }

    /// Bytes that servers are asked for it, of requests that are not answered.
    pub fn under_way(&self) -> usize {
        self.asks
    }

    /// How many of its requests are not answered.
    pub fn unanswered(&self) -> usize {
        self.answers.len()
    }

    /// Whether requests can be taken of what was read.
    pub fn has_more(&self) -> bool {
        !self.rest.is_empty() && self.rest.len() >= self.need && (!self.closing || self.lines.is_in_a_list())
    }

    /// Whether nothing waits: no list of keys that is half asked for, no answer, and no bytes of one.
    pub fn is_through(&self) -> bool {
        self.answers.is_empty() && self.out.left() == 0 && !self.lines.is_in_a_list()
    }

    /// What memory it takes.
    pub fn holds(&self) -> usize {
        let answers = self.answers.capacity() * size_of::<Answer>();
        self.rest.room() + self.out.holds() + self.held + self.tables + self.asks + answers
    }

    /// Gives back what it needs no more while nothing is under way: a buffer that others can use.
    pub fn rest_idle(&mut self) -> Option<Buffer> {
        if self.answers.is_empty() && self.answers.capacity() > IDLE_ANSWERS {
            self.answers.shrink_to(IDLE_ANSWERS);
            self.charge.set(self.answers.capacity() * size_of::<Answer>());
        }
        if self.out.holds() > IDLE_BYTES { self.out.take_empty() } else { None }
    }

    /// A request for so many keys, taken then, a get or not, whose answer has so many parts: its number.
    pub fn expect(&mut self, kind: Kind, left: u32, keys: usize, (at, is_get): (Nanos, bool)) -> u64 {
        let (held, joined) = (Buffer::default(), None);
        let room = self.answers.capacity();
        self.answers.push_back(Answer {
            kind,
            held,
            joined,
            joined_written: 0,
            left,
            at,
            is_get,
            keys,
            asks: 0,
            bytes: 0,
        });
        if self.answers.capacity() != room {
            self.charge.set(self.answers.capacity() * size_of::<Answer>());
        }
        self.keys += keys;
        self.next_number() - 1
    }

    /// The number of what is expected next.
    pub fn next_number(&self) -> u64 {
        self.first + self.answers.len() as u64
    }

    /// An answer that is known.
    pub fn say(&mut self, text: &[u8], at: Nanos) {
        let number = self.expect(Kind::Relay, 0, 0, (at, false));
        self.put(number, text);
    }

    /// Takes bytes of an answer.
    pub fn put(&mut self, number: u64, bytes: &[u8]) {
        let index = number.wrapping_sub(self.first) as usize;
        let Some(answer) = self.answers.get_mut(index) else { return };
        answer.bytes += bytes.len();
        if index == 0 && answer.kind == Kind::Relay && answer.held.is_empty() {
            self.out.extend(bytes);
        } else {
            answer.held.extend(bytes);
            self.held += bytes.len();
        }
    }

    /// Takes a whole answer that others are given, too.
    pub fn put_joined(&mut self, number: u64, joined: &Rc<Buffer>) {
        if let Some(answer) = self.answer(number) {
            answer.bytes += joined.len();
            answer.joined = Some(joined.clone());
            self.held += joined.len();
        }
    }

    /// Writes more of its first answer where that is one that others are given, too: whether that was all.
    pub fn writes_joined(&mut self, enough: usize) -> bool {
        let Some(answer) = self.answers.front_mut() else { return true };
        let Some(joined) = &answer.joined else { return true };
        let rest = &joined[answer.joined_written..];
        let some = rest.len().min(enough);
        self.out.extend(&rest[..some]);
        answer.joined_written += some;
        self.held -= some;
        answer.joined_written == joined.len()
    }

    /// An answer's.
    pub fn answer(&mut self, number: u64) -> Option<&mut Answer> {
        self.answers.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// What an answer holds is not to be told.
    pub fn retract(&mut self, number: u64) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            self.held -= std::mem::take(&mut answer.held).len();
        }
    }

    /// Whether it waits for an answer.
    pub fn waits_for_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// A server is asked so many bytes for an answer.
    pub fn asks(&mut self, number: u64, bytes: usize) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            answer.asks += bytes;
            self.asks += bytes;
        }
    }

    /// A part of an answer has ended.
    pub fn part_ends(&mut self, number: u64) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            answer.left = answer.left.saturating_sub(1);
            if answer.left == 0 {
                self.keys -= std::mem::take(&mut answer.keys);
            }
        }
    }

    /// So many keys of a multiget are answered, or never will be.
    pub fn keys_end(&mut self, number: u64, keys: usize) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            let keys = keys.min(answer.keys);
            (answer.keys, self.keys) = (answer.keys - keys, self.keys - keys);
        }
    }

    /// The first answer that is not written.
    pub fn front(&mut self) -> Option<&mut Answer> {
        self.answers.front_mut()
    }

    /// The first answer has been written.
    pub fn pop(&mut self) {
        if let Some(answer) = self.answers.pop_front() {
            self.first += 1;
            self.alone &= !self.answers.is_empty();
            (self.keys, self.asks) = (self.keys - answer.keys, self.asks - answer.asks);
            self.expected = answer.bytes.max(self.expected - self.expected / 8);
        }
    }

    /// A multiget has brought so many bytes.
    pub fn expects_as_much(&mut self, bytes: usize) {
        self.expected = self.expected.max(bytes);
    }

    /// The multigets among its answers.
    pub fn multigets(&self) -> impl Iterator<Item = Id> + '_ {
        self.answers.iter().filter_map(|answer| match answer.kind {
            Kind::Multiget(id) => Some(id),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_keys_are_asked_for_at_once_follows_from_the_clients_own_values() {
        let (mut small, mut large) = (Client::new((), 0, 0), Client::new((), 0, 0));
        assert_eq!((small.keys_at_once(), large.keys_at_once()), (64, 64));
        for _ in 0..64 {
            small.has_seen(8, 800);
            large.has_seen(8, 8 << 20);
        }
        assert_eq!((small.keys_at_once(), large.keys_at_once()), (MOST_KEYS, LEAST_KEYS));
    }

    #[test]
    fn a_client_that_has_much_under_way_waits_for_its_answers() {
        let mut client = Client::new((), 0, 0);
        let number = client.expect(Kind::Relay, 1, 1, (0, false));
        client.asks(number, ENOUGH_HELD);
        assert!(!client.is_held_up());
        client.asks(number, 1);
        assert!(client.is_held_up());
        client.pop();
        assert!(!client.is_held_up());
    }
}
