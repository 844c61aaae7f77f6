//! Connection of a client: unparsed input, pending responses in request order, and output.

use std::collections::VecDeque;
use std::rc::Rc;

use fanin_memcache::Lines;

use crate::bytes::Bytes;
use crate::clock::Nanos;
use crate::memory::{Buffer, Charge};
use crate::net::Outgoing;
use crate::table::Id;

/// Above this many unread bytes, the client's requests are not read.
pub const ENOUGH_HELD: usize = 1 << 20;
/// Maximum number of pending requests for a client with small responses, and for a client without any responses yet.
const MOST_ASKED: usize = 1024;
const FIRST_ASKED: usize = 64;
/// Limit of requested value bytes per client, estimated with the mean of its earlier values; with a minimum and a maximum number of keys.
const ENOUGH_ASKED: usize = 4 << 20;
const LEAST_KEYS: usize = 16;
const MOST_KEYS: usize = 1024;
/// Assumed mean for a client without values so far.
const FIRST_MEAN: usize = ENOUGH_ASKED / FIRST_ASKED;
/// Capacity that an idle client keeps.
const IDLE_ANSWERS: usize = 8;
const IDLE_BYTES: usize = 4 << 10;
/// Requests taken and reads made per client and loop iteration.
const REQUESTS_A_TURN: u32 = 1024;
const READS_A_TURN: u32 = 4;

/// Source of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One server, relayed as it arrives.
    Relay,
    /// A multiget.
    Multiget(Id),
    /// One server, held until another one has finished its part.
    Held,
    /// All servers: the first line that differs from this one, or nothing if the client asked for silence.
    Every { well: &'static str, silent: bool },
    /// The lists of all servers.
    Listing,
}

/// A response that is not completely written.
#[derive(Debug)]
pub struct Answer {
    pub kind: Kind,
    /// Bytes that wait for earlier responses.
    pub held: Buffer,
    /// Shared response of several clients' equal gets, and the number of bytes written.
    pub joined: Option<Rc<Buffer>>,
    pub joined_written: usize,
    /// Missing parts.
    pub left: u32,
    /// When the request was read, and whether it is a get.
    pub at: Nanos,
    pub is_get: bool,
    /// Outstanding keys, and request bytes.
    pub keys: usize,
    pub asks: usize,
    /// Response bytes so far.
    bytes: usize,
}

impl Answer {
    /// Whether a server's line only reports success.
    pub fn is_well(&self, line: &[u8]) -> bool {
        matches!(self.kind, Kind::Every { well, .. } if well.as_bytes() == line)
    }
}

/// Work that may still be done for a client in this loop iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    turn: u64,
    requests: u32,
    reads: u32,
}

impl Budget {
    /// The budget in this iteration; a new iteration refills it.
    pub fn of(&mut self, turn: u64) -> &mut Budget {
        if self.turn != turn {
            *self = Budget { turn, requests: REQUESTS_A_TURN, reads: READS_A_TURN };
        }
        self
    }

    /// Counts a request; returns whether it is within the budget.
    pub fn takes(&mut self) -> bool {
        let takes = self.requests > 0;
        self.requests = self.requests.saturating_sub(1);
        takes
    }

    /// Counts a read; returns whether it is within the budget.
    pub fn reads(&mut self) -> bool {
        let reads = self.reads > 0 && self.requests > 0;
        self.reads = self.reads.saturating_sub(1);
        reads
    }

    /// Whether another request is within the budget.
    pub fn is_left(&self) -> bool {
        self.requests > 0
    }
}

/// A client.
#[derive(Debug)]
pub struct Client<S> {
    pub socket: S,
    pub pool: usize,
    pub lines: Lines,
    /// Bytes read but not parsed.
    pub rest: Bytes,
    /// Parsing cannot continue before this many bytes have arrived.
    pub need: usize,
    /// Bytes of a value to discard.
    pub swallow: u64,
    pub budget: Budget,
    /// There may be more to read; the peer has closed; everything has been read.
    pub readable: bool,
    pub ending: bool,
    pub ended: bool,
    /// No more requests are read; the connection closes when all output is written.
    pub closing: bool,
    /// A response was truncated: the connection closes at once.
    pub broken: bool,
    /// A multiget with unsent batches: later requests must wait.
    pub unfinished_multiget: Option<Id>,
    /// No requests are read before all responses are complete.
    pub alone: bool,
    /// Number of the current list of keys in the log.
    pub logged: Option<u64>,
    /// First error in a list of keys that is answered in pieces.
    pub lacks: Option<&'static str>,
    /// Whether it is in the list for the end of this loop iteration, and in the list for the next.
    pub dirty: bool,
    pub again: bool,
    answers: VecDeque<Answer>,
    charge: Charge,
    /// Moving average of value lengths.
    mean_value: usize,
    /// Expected response size: a decaying maximum.
    expected: usize,
    /// Number of the first pending response.
    first: u64,
    /// Outstanding keys.
    keys: usize,
    /// Bytes of pending responses, of multigets' tables, and of requests to servers.
    pub held: usize,
    pub tables: usize,
    asks: usize,
    /// Time of the last request or response.
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
            unfinished_multiget: None,
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

    /// Unread output.
    pub fn backlog(&self) -> usize {
        self.out.left() + self.held
    }

    /// Maximum number of keys to request before other clients get their share.
    pub fn keys_at_once(&self) -> usize {
        (ENOUGH_ASKED / self.mean_value.max(1)).clamp(LEAST_KEYS, MOST_KEYS)
    }

    /// Updates the mean with values received or stored.
    pub fn has_seen(&mut self, values: usize, bytes: usize) {
        if let Some(size) = bytes.checked_div(values) {
            // A long list counts as eight values.
            let weight = values.min(8);
            self.mean_value = (self.mean_value * (64 - weight) + size * weight) / 64;
        }
    }

    /// Whether its next request must wait for pending responses.
    pub fn is_blocked(&self) -> bool {
        let may_ask = (ENOUGH_HELD / self.expected.max(1)).clamp(1, MOST_ASKED);
        let asks_enough = self.keys >= self.keys_at_once() || self.answers.len() >= may_ask || self.asks > ENOUGH_HELD;
        self.unfinished_multiget.is_some()
            || self.alone && self.waits_for_answers()
            || asks_enough
            || self.backlog() > ENOUGH_HELD
    }

    /// Bytes of unanswered requests to servers.
    pub fn under_way(&self) -> usize {
        self.asks
    }

    /// Number of unanswered requests.
    pub fn unanswered(&self) -> usize {
        self.answers.len()
    }

    /// Whether unparsed input may have complete requests.
    pub fn has_more(&self) -> bool {
        !self.rest.is_empty() && self.rest.len() >= self.need && (!self.closing || self.lines.is_in_a_list())
    }

    /// Whether nothing is pending: no list of keys, no response, no output.
    pub fn is_through(&self) -> bool {
        self.answers.is_empty() && self.out.left() == 0 && !self.lines.is_in_a_list()
    }

    /// Memory that it takes.
    pub fn holds(&self) -> usize {
        let answers = self.answers.capacity() * size_of::<Answer>();
        self.rest.room() + self.out.holds() + self.held + self.tables + self.asks + answers
    }

    /// Frees memory of an idle client; returns a buffer for reuse.
    pub fn rest_idle(&mut self) -> Option<Buffer> {
        if self.answers.is_empty() && self.answers.capacity() > IDLE_ANSWERS {
            self.answers.shrink_to(IDLE_ANSWERS);
            self.charge.set(self.answers.capacity() * size_of::<Answer>());
        }
        if self.out.holds() > IDLE_BYTES { self.out.take_empty() } else { None }
    }

    /// Adds a pending response for a request with these keys and parts; returns its number.
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

    /// Number of the next pending response.
    pub fn next_number(&self) -> u64 {
        self.first + self.answers.len() as u64
    }

    /// Adds a complete response.
    pub fn say(&mut self, text: &[u8], at: Nanos) {
        let number = self.expect(Kind::Relay, 0, 0, (at, false));
        self.put(number, text);
    }

    /// Adds bytes to a response.
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

    /// Adds a response shared with other clients.
    pub fn put_joined(&mut self, number: u64, joined: &Rc<Buffer>) {
        if let Some(answer) = self.answer(number) {
            answer.bytes += joined.len();
            answer.joined = Some(joined.clone());
            self.held += joined.len();
        }
    }

    /// Writes more of a shared first response; returns whether all is written.
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

    /// A pending response.
    pub fn answer(&mut self, number: u64) -> Option<&mut Answer> {
        self.answers.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Discards the bytes held for a response.
    pub fn retract(&mut self, number: u64) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            self.held -= std::mem::take(&mut answer.held).len();
        }
    }

    /// Whether it waits for responses.
    pub fn waits_for_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Counts request bytes for a response.
    pub fn asks(&mut self, number: u64, bytes: usize) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            answer.asks += bytes;
            self.asks += bytes;
        }
    }

    /// Ends a part of a response.
    pub fn part_ends(&mut self, number: u64) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            answer.left = answer.left.saturating_sub(1);
            if answer.left == 0 {
                self.keys -= std::mem::take(&mut answer.keys);
            }
        }
    }

    /// Counts keys of a multiget as answered or given up.
    pub fn keys_end(&mut self, number: u64, keys: usize) {
        if let Some(answer) = self.answers.get_mut(number.wrapping_sub(self.first) as usize) {
            let keys = keys.min(answer.keys);
            (answer.keys, self.keys) = (answer.keys - keys, self.keys - keys);
        }
    }

    /// The first pending response.
    pub fn front(&mut self) -> Option<&mut Answer> {
        self.answers.front_mut()
    }

    /// Removes the first response.
    pub fn pop(&mut self) {
        if let Some(answer) = self.answers.pop_front() {
            self.first += 1;
            self.alone &= !self.answers.is_empty();
            (self.keys, self.asks) = (self.keys - answer.keys, self.asks - answer.asks);
            self.expected = answer.bytes.max(self.expected - self.expected / 8);
        }
    }

    /// Updates the expected size after a multiget.
    pub fn expects_as_much(&mut self, bytes: usize) {
        self.expected = self.expected.max(bytes);
    }

    /// The pending multigets.
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
    fn key_limit_follows_value_sizes() {
        let (mut small, mut large) = (Client::new((), 0, 0), Client::new((), 0, 0));
        assert_eq!((small.keys_at_once(), large.keys_at_once()), (64, 64));
        for _ in 0..64 {
            small.has_seen(8, 800);
            large.has_seen(8, 8 << 20);
        }
        assert_eq!((small.keys_at_once(), large.keys_at_once()), (MOST_KEYS, LEAST_KEYS));
    }

    #[test]
    fn client_with_much_outstanding_waits() {
        let mut client = Client::new((), 0, 0);
        let number = client.expect(Kind::Relay, 1, 1, (0, false));
        client.asks(number, ENOUGH_HELD);
        assert!(!client.is_blocked());
        client.asks(number, 1);
        assert!(client.is_blocked());
        client.pop();
        assert!(!client.is_blocked());
    }
}
