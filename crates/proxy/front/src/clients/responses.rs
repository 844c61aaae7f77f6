//! Pending responses of a client in request order, and its output.

use std::collections::VecDeque;
use std::rc::Rc;

use fanin_memcache::text;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::memory::{Buffer, Charge};
use fanin_proxy_net::Outgoing;
use fanin_proxy_observe::metrics::Class;

/// Above this many unread bytes, the client's requests are not read.
const ENOUGH_HELD: usize = 1 << 20;
/// Maximum number of pending requests for a client with small responses, and for a client without any responses yet.
const MOST_ASKED: usize = 1024;
pub const FIRST_ASKED: usize = 64;
/// Capacity that an idle client keeps.
const IDLE_ANSWERS: usize = 8;
const IDLE_BYTES: usize = 4 << 10;

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
struct Answer {
    kind: Kind,
    /// Bytes that wait for earlier responses.
    held: Buffer,
    /// Shared response of several clients' equal gets, and the number of bytes written.
    joined: Option<Rc<Buffer>>,
    joined_written: usize,
    /// Missing parts.
    left: u32,
    /// When the request was read, and its class.
    at: Nanos,
    class: Class,
    /// Whether it was not complete at once.
    active: bool,
    /// Outstanding keys, and request bytes.
    keys: usize,
    asks: usize,
    /// Response bytes so far.
    bytes: usize,
}

/// Progress of the first pending response towards the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// It waits for servers.
    Waits,
    /// Some bytes; there are more.
    Some,
    /// All bytes.
    Whole,
    /// It is a multiget, of a request read at this time.
    Multiget(Id, Nanos),
}

/// A client's unanswered requests to servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientLoad {
    pub bytes: usize,
    pub requests: usize,
}

/// Pending responses and output.
#[derive(Debug)]
pub struct Responses {
    queue: VecDeque<Answer>,
    charge: Charge,
    /// Number of the first pending response.
    first: u64,
    /// Expected response size: a decaying maximum.
    expected: usize,
    /// First error in a list of keys that is answered in pieces.
    lacks: Option<&'static str>,
    /// Outstanding keys.
    keys: usize,
    /// Bytes of pending responses, of multigets' tables, and of requests to servers.
    held: usize,
    tables: usize,
    asks: usize,
    out: Outgoing,
}

impl Responses {
    pub fn new() -> Responses {
        Responses {
            queue: VecDeque::new(),
            charge: Charge::default(),
            first: 0,
            expected: ENOUGH_HELD / FIRST_ASKED,
            lacks: None,
            keys: 0,
            held: 0,
            tables: 0,
            asks: 0,
            out: Outgoing::default(),
        }
    }

    /// Whether no more requests should be sent: for this many keys, for the responses to come, or for those not read.
    pub fn is_full(&self, keys_at_once: usize) -> bool {
        let may_ask = (ENOUGH_HELD / self.expected.max(1)).clamp(1, MOST_ASKED);
        self.keys >= keys_at_once
            || self.queue.len() >= may_ask
            || self.asks > ENOUGH_HELD
            || self.unsent() + self.held > ENOUGH_HELD
    }

    /// Memory that they take.
    pub fn holds(&self) -> usize {
        self.out.holds() + self.held + self.tables + self.asks + self.queue.capacity() * size_of::<Answer>()
    }

    /// Frees memory of an idle client; returns a buffer for reuse.
    pub fn rest_idle(&mut self) -> Option<Buffer> {
        if self.queue.is_empty() && self.queue.capacity() > IDLE_ANSWERS {
            self.queue.shrink_to(IDLE_ANSWERS);
            self.charge.set(self.queue.capacity() * size_of::<Answer>());
        }
        if self.out.holds() > IDLE_BYTES { self.out.take_empty() } else { None }
    }

    /// Whether much is held for it.
    pub fn holds_enough(&self) -> bool {
        self.held >= ENOUGH_HELD
    }

    /// Unanswered requests to servers.
    pub fn load(&self) -> ClientLoad {
        ClientLoad { bytes: self.asks, requests: self.queue.len() }
    }

    /// The pending multigets.
    pub fn multigets(&self) -> impl Iterator<Item = Id> + '_ {
        self.queue.iter().filter_map(|answer| match answer.kind {
            Kind::Multiget(id) => Some(id),
            _ => None,
        })
    }

    /// Adds a pending response for a request with these keys and parts; returns its number.
    pub fn expect(&mut self, kind: Kind, left: u32, keys: usize, at: Nanos, class: Class) -> u64 {
        let (held, joined) = (Buffer::default(), None);
        let room = self.queue.capacity();
        self.queue.push_back(Answer {
            kind,
            held,
            joined,
            joined_written: 0,
            left,
            at,
            class,
            active: left > 0,
            keys,
            asks: 0,
            bytes: 0,
        });
        if self.queue.capacity() != room {
            self.charge.set(self.queue.capacity() * size_of::<Answer>());
        }
        self.keys += keys;
        self.next_number() - 1
    }

    /// Number of the next pending response.
    pub fn next_number(&self) -> u64 {
        self.first + self.queue.len() as u64
    }

    fn answer(&mut self, number: u64) -> Option<&mut Answer> {
        self.queue.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Whether it waits for responses.
    pub fn waits_for_answers(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether it waits for responses to gets.
    pub fn waits_for_gets(&self) -> bool {
        self.queue.iter().any(|answer| matches!(answer.class, Class::Get | Class::Multiget))
    }

    /// Whether it waits for responses to requests that may change keys, those without a response for the client among them.
    pub fn waits_for_changes(&self) -> bool {
        self.queue.iter().any(|answer| answer.left > 0 && !answer.class.is_get())
    }

    /// Adds a complete response.
    pub fn say(&mut self, text: &[u8], at: Nanos) {
        let number = self.expect(Kind::Relay, 0, 0, at, Class::Other);
        self.put(number, text);
    }

    /// Adds bytes to a response.
    pub fn put(&mut self, number: u64, bytes: &[u8]) {
        let index = number.wrapping_sub(self.first) as usize;
        let Some(answer) = self.queue.get_mut(index) else { return };
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

    /// Adds a server's line to a response of all servers: only the first that differs from success counts.
    pub fn put_of_every(&mut self, number: u64, line: &[u8]) {
        let Some(answer) = self.answer(number) else { return };
        let is_well = matches!(answer.kind, Kind::Every { well, .. } if well.as_bytes() == line);
        if answer.held.is_empty() && !is_well {
            answer.held.extend(line);
        }
    }

    /// Makes this error the response of all servers.
    pub fn fail_of_every(&mut self, number: u64, text: &[u8]) {
        if let Some(answer) = self.answer(number) {
            answer.held.clear();
            answer.held.extend(text);
        }
    }

    /// Counts bytes that are held for it elsewhere.
    pub fn holds_more(&mut self, bytes: usize) {
        self.held += bytes;
    }

    /// Changes the number of these bytes.
    pub fn holds_instead(&mut self, before: usize, after: usize) {
        self.held = (self.held + after).saturating_sub(before);
    }

    /// Discards the bytes held for a response.
    pub fn retract(&mut self, number: u64) {
        if let Some(answer) = self.queue.get_mut(number.wrapping_sub(self.first) as usize) {
            self.held -= std::mem::take(&mut answer.held).len();
        }
    }

    /// Counts request bytes for a response.
    pub fn asks(&mut self, number: u64, bytes: usize) {
        if let Some(answer) = self.queue.get_mut(number.wrapping_sub(self.first) as usize) {
            answer.asks += bytes;
            self.asks += bytes;
        }
    }

    /// Ends a part of a response.
    pub fn part_ends(&mut self, number: u64) {
        if let Some(answer) = self.queue.get_mut(number.wrapping_sub(self.first) as usize) {
            answer.left = answer.left.saturating_sub(1);
            if answer.left == 0 {
                self.keys -= std::mem::take(&mut answer.keys);
            }
        }
    }

    /// Number of missing parts of a response.
    pub fn parts_left(&mut self, number: u64) -> u32 {
        self.answer(number).map_or(0, |answer| answer.left)
    }

    /// Adds parts to a response.
    pub fn more_parts(&mut self, number: u64, parts: u32) {
        self.answer(number).into_iter().for_each(|answer| answer.left += parts);
    }

    /// Leaves one part of a response missing.
    pub fn last_part(&mut self, number: u64) {
        self.answer(number).into_iter().for_each(|answer| answer.left = 1);
    }

    /// Counts keys of a multiget as answered or given up.
    pub fn keys_end(&mut self, number: u64, keys: usize) {
        if let Some(answer) = self.queue.get_mut(number.wrapping_sub(self.first) as usize) {
            let keys = keys.min(answer.keys);
            (answer.keys, self.keys) = (answer.keys - keys, self.keys - keys);
        }
    }

    /// Moves the first response, or some of it, to the output; of a shared response up to `enough` bytes.
    pub fn gather(&mut self, enough: usize) -> Gathered {
        let Some(answer) = self.queue.front_mut() else { return Gathered::Waits };
        let left = answer.left;
        match answer.kind {
            Kind::Multiget(get) => return Gathered::Multiget(get, answer.at),
            Kind::Relay => {
                self.append_held();
                if !self.writes_joined(enough) {
                    return Gathered::Some;
                }
                if left > 0 {
                    return Gathered::Waits;
                }
            }
            Kind::Held | Kind::Every { .. } | Kind::Listing if left > 0 => return Gathered::Waits,
            Kind::Held => self.append_held(),
            Kind::Every { well, silent } => {
                let answer = if answer.held.is_empty() { well.as_bytes() } else { &answer.held };
                self.out.extend(if silent { b"" } else { answer });
            }
            Kind::Listing => {
                self.append_held();
                self.out.extend(text::END.as_bytes());
            }
        }
        Gathered::Whole
    }

    /// Moves the bytes held for the first response to the output.
    fn append_held(&mut self) {
        if let Some(answer) = self.queue.front_mut() {
            let held = std::mem::take(&mut answer.held);
            self.held -= held.len();
            self.out.append(held);
        }
    }

    /// Writes more of a shared first response; returns whether all is written.
    fn writes_joined(&mut self, enough: usize) -> bool {
        let Some(answer) = self.queue.front_mut() else { return true };
        let Some(joined) = &answer.joined else { return true };
        let rest = &joined[answer.joined_written..];
        let some = rest.len().min(enough);
        self.out.extend(&rest[..some]);
        answer.joined_written += some;
        self.held -= some;
        answer.joined_written == joined.len()
    }

    /// Adds a pending multiget with tables of this size.
    pub fn expect_multiget(&mut self, get: Id, keys: usize, tables: usize, at: Nanos) {
        self.expect(Kind::Multiget(get), 1, keys, at, Class::Multiget);
        self.tables += tables;
    }

    /// Ends a multiget of this size with its error, if any; the `last` one of a list ends the response.
    pub fn multiget_ends(&mut self, bytes: usize, tables: usize, failed: Option<&'static str>, last: bool) {
        self.held -= bytes.min(self.held);
        self.tables -= tables.min(self.tables);
        self.expected = self.expected.max(bytes);
        self.lacks = self.lacks.or(failed);
        if last {
            self.out.extend(self.lacks.take().unwrap_or(text::END).as_bytes());
        }
    }

    /// Number of responses that were not complete at once.
    pub fn active(&self) -> u64 {
        self.queue.iter().map(|answer| u64::from(answer.active)).sum()
    }

    /// Removes the first response; returns when its request was read, its class, and whether it was not complete at once.
    pub fn pop(&mut self) -> Option<(Nanos, Class, bool)> {
        let answer = self.queue.pop_front()?;
        self.first += 1;
        (self.keys, self.asks) = (self.keys - answer.keys, self.asks - answer.asks);
        self.expected = answer.bytes.max(self.expected - self.expected / 8);
        Some((answer.at, answer.class, answer.active))
    }

    /// Number of bytes to write.
    pub fn unsent(&self) -> usize {
        self.out.left()
    }

    /// The output.
    pub fn output(&mut self) -> &mut Outgoing {
        &mut self.out
    }
}
