//! Input of a client: bytes that are not parsed yet, and how much of them may be handled now.

use std::io;

use fanin_memcache::{Get, Limits, Lines, Next};

use crate::memory::bytes::Bytes;
use crate::net::Received;

/// Requests taken and reads made per client and loop iteration.
const REQUESTS_A_TURN: u32 = 1024;
const READS_A_TURN: u32 = 4;

/// Work that may still be done for a client in this loop iteration.
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    turn: u64,
    requests: u32,
    reads: u32,
}

impl Budget {
    /// The budget in this iteration; a new iteration refills it.
    fn of(&mut self, turn: u64) -> &mut Budget {
        if self.turn != turn {
            *self = Budget { turn, requests: REQUESTS_A_TURN, reads: READS_A_TURN };
        }
        self
    }

    /// Counts a request; returns whether it is within the budget.
    fn takes(&mut self) -> bool {
        let takes = self.requests > 0;
        self.requests = self.requests.saturating_sub(1);
        takes
    }

    /// Counts a read; returns whether it is within the budget.
    fn reads(&mut self) -> bool {
        let reads = self.reads > 0 && self.requests > 0;
        self.reads = self.reads.saturating_sub(1);
        reads
    }

    /// Whether another request is within the budget.
    fn is_left(&self) -> bool {
        self.requests > 0
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
    budget: Budget,
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

    /// Whether this iteration's budget has another request.
    pub fn may_request(&mut self, turn: u64) -> bool {
        self.budget.of(turn).is_left()
    }

    /// Counts a request; returns whether it is within the iteration's budget.
    pub fn takes_request(&mut self, turn: u64) -> bool {
        self.budget.of(turn).takes()
    }

    /// Counts a read; returns whether it is within the iteration's budget.
    pub fn takes_read(&mut self, turn: u64) -> bool {
        self.budget.of(turn).reads()
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
