//! Reads that only the primary of a key answers (`gets`, `gat`, `mg`), in pools with replicas. If its server fails, the request is sent once
//! more to the server that is the key's primary then: a copy's CAS unique is not the primary's, so it could not be used.

use std::collections::VecDeque;

use fanin_memcache::response;

use super::upstreams::ask::Ask;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::Buffer;
use fanin_proxy_core::memory::table::{Id, Table};

/// Pause before the request is sent again, and the number of timeouts after which it is not: two until a silent server is ejected, and one
/// for the next primary.
pub const PAUSE: Nanos = 2_000_000;
pub const TIMEOUTS: u64 = 3;

/// A read that only the primary answers.
#[derive(Debug)]
pub struct PrimaryRead {
    pub ask: Ask,
    pub pool: usize,
    pub key: Buffer,
    /// The note, then the request.
    pub text: Buffer,
    /// The key's place in its batch, and the value.
    pub of_batch: Option<(Id, u32, u32)>,
    pub value: Buffer,
    pub failed: bool,
    /// When to send the request again.
    pub due: Nanos,
}

/// Those of a thread.
#[derive(Debug, Default)]
pub struct PrimaryReads {
    pub table: Table<PrimaryRead>,
    waiting: VecDeque<Id>,
}

impl PrimaryReads {
    /// The next time at which a request is sent again.
    pub fn next_due(&self) -> Option<Nanos> {
        self.waiting.front().and_then(|read| self.table.get(*read)).map(|read| read.due)
    }

    /// Takes bytes of a value.
    pub fn receives(&mut self, read: Id, bytes: &[u8]) {
        self.table.get_mut(read).into_iter().for_each(|read| read.value.extend(bytes));
    }

    /// Takes a response line that is not of a value.
    pub fn receives_line(&mut self, read: Id, line: &[u8]) {
        self.table.get_mut(read).into_iter().for_each(|read| read.failed |= response::is_error(line));
    }

    /// The response is complete.
    pub fn ends(&mut self, ask: &Ask) {
        ask.again.into_iter().for_each(|read| drop(self.table.remove(read)));
    }

    /// Waits until this time to send the request again.
    pub fn wait(&mut self, read: Id, due: Nanos) {
        let waits = self.table.get_mut(read).map(|read| read.due = due);
        if waits.is_some() {
            self.waiting.push_back(read);
        }
    }

    /// The next read whose request is due.
    pub fn take_due(&mut self, now: Nanos) -> Option<Id> {
        self.next_due().filter(|due| *due <= now)?;
        self.waiting.pop_front()
    }
}
