//! Reads that only the primary of a key answers (`gets`, `gat`, `mg`), in pools with replicas. If its server fails, the request is sent once
//! more to the server that is the key's primary then: a copy's CAS unique is not the primary's, so it could not be used.

use std::collections::VecDeque;

use fanin_memcache::{Shape, response};

use crate::clients::ClientLoad;
use crate::multigets::{PlaceInBatch, Settled};
use crate::upstreams::Upstreams;
use crate::upstreams::ask::{Ask, Destination, Recipient};
use crate::upstreams::shares::NOBODY;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::memory::Buffer;
use fanin_proxy_core::memory::table::{Id, Table};
use fanin_proxy_core::server_error::ServerError;

/// Pause before the request is sent again, and the number of timeouts after which it is not: two until a silent server is ejected, and one
/// for the next primary.
const PAUSE: Nanos = 2_000_000;
const TIMEOUTS: u64 = 3;

/// A read that only the primary answers.
#[derive(Debug)]
struct PrimaryRead {
    ask: Ask,
    pool: usize,
    key: Buffer,
    /// The note, then the request.
    text: Buffer,
    /// The key's place in its batch, and the value.
    of_batch: Option<PlaceInBatch>,
    value: Buffer,
    failed: bool,
    /// When to send the request again.
    due: Nanos,
}

/// A read to send again.
#[derive(Debug)]
pub struct Again {
    pub server: usize,
    pub ask: Ask,
    /// The note, then the request.
    pub text: Vec<u8>,
}

/// Those of a thread.
#[derive(Debug, Default)]
pub struct PrimaryReads {
    table: Table<PrimaryRead>,
    waiting: VecDeque<Id>,
}

impl PrimaryReads {
    /// The next time at which a request is sent again.
    pub fn next_due(&self) -> Option<Nanos> {
        self.waiting.front().and_then(|read| self.table.get(*read)).map(|read| read.due)
    }

    /// Keeps a request, so that it can be sent again; the key is as the server stores it.
    pub fn keep(&mut self, ask: Ask, pool: usize, key: &[u8], note: &[u8], request: &[u8]) -> Ask {
        let mut text = Buffer::default();
        text.extend(note);
        text.extend(request);
        let kept = Ask { note: note.len() as u32, ..ask };
        let read = self.table.insert(PrimaryRead {
            ask: kept,
            pool,
            key: key.to_vec().into(),
            text,
            of_batch: None,
            value: Buffer::default(),
            failed: false,
            due: ask.at,
        });
        Ask { again: Some(read), ..ask }
    }

    /// Reads a key of a failed batch with CAS uniques again, for this response of a client.
    pub fn read_key_again(&mut self, pool: usize, recipient: Recipient, of: PlaceInBatch, key: &[u8], now: Nanos) {
        let request = [b"gets ", key, b"\r\n"].concat();
        let ask = Ask::new(recipient, Destination::Relay { quiet: false }, Shape::Values, now);
        let Ask { again: Some(read), .. } = self.keep(ask, pool, key, key, &request) else { return };
        if let Some(kept) = self.table.get_mut(read) {
            kept.of_batch = Some(of);
            kept.ask = Ask { to: Destination::KeyOfBatch(read), again: Some(read), ..kept.ask };
        }
        self.wait(read, now);
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

    /// Schedules a failed read once more; returns false if it stays failed.
    pub fn asks_again<S>(
        &mut self,
        ask: &Ask,
        trouble: ServerError,
        closes: bool,
        upstreams: &Upstreams<S>,
        now: Nanos,
    ) -> bool {
        let Some((id, read)) = ask.again.and_then(|id| Some((id, self.table.get_mut(id)?))) else { return false };
        let timeout = upstreams.server(upstreams.pool(read.pool).server(0)).timeout;
        // The client may have a part of the response.
        let has_part = read.of_batch.is_none() && (closes || ask.has_value || ask.hushed);
        if has_part || !trouble.is_away() || read.ask.at + TIMEOUTS * timeout <= now {
            if read.of_batch.is_none() {
                self.ends(ask);
            }
            return false;
        }
        (read.value, read.failed) = (Buffer::default(), false);
        self.wait(id, now + PAUSE);
        true
    }

    /// Waits until this time to send the request again.
    fn wait(&mut self, read: Id, due: Nanos) {
        let waits = self.table.get_mut(read).map(|read| read.due = due);
        if waits.is_some() {
            self.waiting.push_back(read);
        }
    }

    /// The next read that is due: to be sent to the server that is its key's primary now, once that accepts requests.
    pub fn next_again<S>(&mut self, upstreams: &Upstreams<S>, now: Nanos) -> Option<Again> {
        while self.next_due().is_some_and(|due| due <= now) {
            let Some((id, read)) = self.waiting.pop_front().and_then(|id| Some((id, self.table.get(id)?))) else {
                continue;
            };
            let (ask, pool) = (read.ask, upstreams.pool(read.pool));
            let server = pool.server(pool.place(&read.key).authority());
            let to = upstreams.server(server);
            let is_down = to.accepts(ClientLoad::default(), NOBODY) == Err(ServerError::Down);
            if (is_down || pool.must_clear(&read.key)) && ask.at + TIMEOUTS * to.timeout > now {
                self.wait(id, now + PAUSE);
                continue;
            }
            return Some(Again { server, ask: Ask { at: now, again: Some(id), ..ask }, text: read.text.to_vec() });
        }
        None
    }

    /// A key of a batch has been read again, or has failed for good; returns its place and result, and the error.
    pub fn key_of_batch_ends(
        &mut self,
        read: Id,
        failed: Option<&'static str>,
    ) -> Option<(PlaceInBatch, Settled, Option<&'static str>)> {
        let read = self.table.remove(read)?;
        let of = read.of_batch?;
        let failed = failed.or(read.failed.then_some("SERVER_ERROR a server responded with an error\r\n"));
        let settled = if read.value.is_empty() { Settled::Missed } else { Settled::response(read.value) };
        Some((of, settled, failed))
    }
}
