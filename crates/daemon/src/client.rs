//! A client's connection: what it has sent and has not been taken, its answers in the order of its requests, what waits to be written.

use std::collections::VecDeque;

use fanin_memcache::Lines;

use crate::clock::Nanos;
use crate::sockets::{Outgoing, Socket};
use crate::table::Id;

/// Above so many bytes that a client has not read, nothing more is taken from it.
pub const ENOUGH_HELD: usize = 1 << 20;
/// So many of its requests may wait for answers at once, of a client whose answers are small; and of one that has had none yet.
const MOST_ASKED: usize = 1024;
const FIRST_ASKED: usize = 64;

/// What an answer is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One server's, as it comes.
    Relay,
    /// A multiget's.
    Multiget(Id),
    /// Every server's: what differs from `OK` first, and nothing where silence was asked for.
    Every { silent: bool },
    /// Every server's list.
    Listing,
}

/// An answer that is not yet written, or not all of it.
#[derive(Debug)]
pub struct Answer {
    pub kind: Kind,
    /// What has come while others were before it.
    pub held: Vec<u8>,
    /// Servers whose part is missing.
    pub left: u32,
    /// When its request was taken.
    pub at: Nanos,
    /// Bytes that have come of it.
    bytes: usize,
}

/// One client.
#[derive(Debug)]
pub struct Client {
    pub socket: Socket,
    pub pool: usize,
    pub lines: Lines,
    /// Bytes that were read and not taken.
    pub rest: Vec<u8>,
    /// It is of no use to look at them before there are so many.
    pub need: usize,
    /// Bytes of a value that nobody wants.
    pub swallow: u64,
    /// There may be more to read; and nothing comes behind it.
    pub readable: bool,
    pub ended: bool,
    /// Nothing more is taken from it; it is closed when all is written.
    pub closing: bool,
    /// An answer broke off in its middle: it is closed at once.
    pub broken: bool,
    /// A multiget of which not all has been asked: what follows must not overtake it.
    pub asking: bool,
    /// Whether it is among those to be looked at when the turn ends, and among those to be read in the next.
    pub dirty: bool,
    pub again: bool,
    answers: VecDeque<Answer>,
    /// What an answer is expected to take: the largest so far, of which a part is forgotten with each.
    expected: usize,
    /// The number of the first of them.
    first: u64,
    /// What the answers hold.
    pub held: usize,
    pub out: Outgoing,
}

impl Client {
    pub fn new(socket: Socket, pool: usize) -> Client {
        Client {
            socket,
            pool,
            lines: Lines::default(),
            rest: Vec::new(),
            need: 0,
            swallow: 0,
            readable: true,
            ended: false,
            closing: false,
            broken: false,
            asking: false,
            dirty: false,
            again: false,
            answers: VecDeque::new(),
            expected: ENOUGH_HELD / FIRST_ASKED,
            first: 0,
            held: 0,
            out: Outgoing::default(),
        }
    }

    /// What it has not read yet.
    pub fn backlog(&self) -> usize {
        self.out.left() + self.held
    }

    /// Whether its next request has to wait.
    pub fn is_held_up(&self) -> bool {
        let may_ask = (ENOUGH_HELD / self.expected.max(1)).clamp(1, MOST_ASKED);
        self.asking || self.answers.len() >= may_ask || self.backlog() > ENOUGH_HELD
    }

    /// Whether nothing waits: neither an answer nor bytes of one.
    pub fn is_through(&self) -> bool {
        self.answers.is_empty() && self.out.left() == 0
    }

    /// A request whose answer has so many parts: its number.
    pub fn expect(&mut self, kind: Kind, left: u32, at: Nanos) -> u64 {
        self.answers.push_back(Answer { kind, held: Vec::new(), left, at, bytes: 0 });
        self.first + self.answers.len() as u64 - 1
    }

    /// An answer that is known.
    pub fn say(&mut self, text: &[u8], at: Nanos) {
        let number = self.expect(Kind::Relay, 0, at);
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
            answer.held.extend_from_slice(bytes);
            self.held += bytes.len();
        }
    }

    /// An answer's.
    pub fn answer(&mut self, number: u64) -> Option<&mut Answer> {
        self.answers.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// A part of an answer has ended.
    pub fn part_ends(&mut self, number: u64) {
        if let Some(answer) = self.answer(number) {
            answer.left = answer.left.saturating_sub(1);
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
