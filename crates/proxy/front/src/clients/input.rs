//! Input of a client: bytes that are not parsed yet, and how much of them may be handled now.

use std::io;

use fanin_memcache::{Get, Limits, Lines, Next};

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::bytes::Bytes;
use fanin_proxy_net::Received;

/// Time for a request, and the slowest rate in bytes per second by which a large one takes longer.
const REQUEST_TIME: Nanos = 30_000_000_000;
const SLOWEST: u64 = 16 << 10;

/// A request that is not complete: when it began, when something last came, and how many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Unfinished {
    begun: Nanos,
    pub since: Nanos,
    bytes: u64,
}

impl Unfinished {
    /// Whether it takes too long for its bytes.
    pub fn is_late(&self, now: Nanos) -> bool {
        self.begun + REQUEST_TIME + self.bytes * 1_000_000_000 / SLOWEST <= now
    }
}

/// Input of a client.
#[derive(Debug, Default)]
pub struct Input {
    lines: Lines,
    /// Bytes read but not parsed.
    rest: Bytes,
    /// Parsing cannot continue before this many bytes have arrived.
    need: usize,
    /// Bytes of a value to discard.
    swallow: u64,
    /// The request whose beginning is among them.
    unfinished: Option<Unfinished>,
    /// Everything has been read for now; the peer has closed; everything has been read for ever.
    drained: bool,
    ending: bool,
    ended: bool,
    /// No more requests are read; the connection closes when all output is written.
    closing: bool,
    /// The connection has failed and closes at once.
    broken: bool,
    /// Number of the current list of keys in the log.
    logged: Option<u64>,
}

impl Input {
    /// Handles the result of a read; returns the number of bytes.
    pub fn received(&mut self, result: io::Result<Received>) -> usize {
        match result {
            Ok(Received { count: 0, .. }) => (self.drained, self.ended) = (true, true),
            Ok(Received { count, more }) => {
                self.drained = !more && !self.ending;
                return count;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.drained = true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => (self.drained, self.broken) = (true, true),
        }
        0
    }

    /// There is input, or its end.
    pub fn becomes_readable(&mut self, ended: bool) {
        self.drained = false;
        self.ending |= ended;
    }

    /// Whether there will be no more input: all has been read, or the rest is not wanted. Call it when all complete requests are handled.
    pub fn has_no_input(&mut self) -> bool {
        let none = self.closing || self.drained;
        self.closing |= none && self.ended;
        none
    }

    /// Notes how many bytes have come, and whether a request has been taken since the last call.
    pub fn progresses(&mut self, count: usize, taken: bool, now: Nanos) {
        self.unfinished = match self.unfinished.filter(|_| !taken) {
            _ if self.rest.is_empty() && self.swallow == 0 => None,
            Some(before) if count == 0 => Some(before),
            Some(before) => Some(Unfinished { since: now, bytes: before.bytes + count as u64, ..before }),
            None => Some(Unfinished { begun: now, since: now, bytes: count as u64 }),
        };
    }

    /// The request that is not complete, if everything has been read that is there.
    pub fn unfinished(&self) -> Option<Unfinished> {
        self.unfinished.filter(|_| self.drained && !self.closing)
    }

    /// Whether unparsed input may have complete requests.
    pub fn has_more(&self) -> bool {
        !self.rest.is_empty() && self.rest.len() >= self.need && (!self.closing || self.lines.is_in_a_list())
    }

    /// Number of bytes read but not parsed.
    pub fn unparsed(&self) -> usize {
        self.rest.len()
    }

    /// Keeps bytes that were read but not parsed.
    pub fn keep_unparsed(&mut self, bytes: &[u8]) {
        self.rest.put(bytes);
    }

    /// Takes the unparsed bytes; return the rest with [`Client::return_unparsed`].
    pub fn take_unparsed(&mut self) -> Bytes {
        std::mem::take(&mut self.rest)
    }

    pub fn return_unparsed(&mut self, rest: Bytes) {
        self.rest = rest;
    }

    /// Parses the next request.
    pub fn parse<'a>(&mut self, bytes: &'a [u8], limits: &Limits) -> Next<'a> {
        self.lines.next(bytes, limits)
    }

    /// Whether the input is within a list of keys.
    pub fn is_in_a_list(&self) -> bool {
        self.lines.is_in_a_list()
    }

    /// Whether unparsed input begins with a request, and is to be parsed.
    pub fn is_between_requests(&self) -> bool {
        !self.is_in_a_list() && self.swallow == 0 && !self.closing && !self.broken
    }

    /// Interrupts a list of keys before these ones; returns the number of bytes that are parsed.
    pub fn leave(&mut self, rest: &Get<'_>, line: &[u8]) -> usize {
        self.lines.leave(rest, line)
    }

    /// Whether these bytes may have a complete request.
    pub fn suffices(&self, bytes: usize) -> bool {
        bytes > 0 && bytes >= self.need
    }

    /// Does not parse before this many bytes have arrived.
    pub fn needs(&mut self, bytes: usize) {
        self.need = bytes;
    }

    /// Discards this many bytes of input.
    pub fn discard(&mut self, bytes: u64) {
        self.swallow = bytes;
    }

    /// Number of these bytes to discard.
    pub fn discards(&mut self, bytes: usize) -> usize {
        let some = bytes.min(self.swallow as usize);
        self.swallow -= some as u64;
        some
    }

    /// Reads no more requests; the connection closes when all output is written.
    pub fn close_after_output(&mut self) {
        self.closing = true;
    }

    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether the connection has failed.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Begins a list of keys with this number in the log.
    pub fn begin_logged(&mut self, number: Option<u64>) {
        self.logged = number;
    }

    /// Number of the current list of keys in the log.
    pub fn logged(&self) -> Option<u64> {
        self.logged
    }

    /// Memory of the unparsed bytes.
    pub fn holds(&self) -> usize {
        self.rest.room()
    }
}
