//! Reads that failed at their primary, and are sent once more.

use fanin_memcache::Shape;

use super::Front;
use super::clients::ClientLoad;
use super::multigets::Settled;
use super::primary_reads::{PAUSE, PrimaryRead, TIMEOUTS};
use super::upstreams::ask::{Ask, Destination, Recipient};
use super::upstreams::shares::NOBODY;
use fanin_proxy_core::memory::Buffer;
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

impl<N: Net> Front<N> {
    /// The request, kept so that it can be sent again, if its pool permits that; the key is as the server stores it.
    pub(super) fn may_ask_again(&mut self, ask: Ask, pool: usize, key: &[u8], note: &[u8], request: &[u8]) -> Ask {
        if !self.upstreams.pool(pool).has_replicas() {
            return ask;
        }
        let read = self.keep_read(ask, pool, key, note, request, None);
        Ask { again: Some(read), ..ask }
    }

    fn keep_read(
        &mut self,
        ask: Ask,
        pool: usize,
        key: &[u8],
        note: &[u8],
        request: &[u8],
        of_batch: Option<(Id, u32, u32)>,
    ) -> Id {
        let mut text = Buffer::default();
        text.extend(note);
        text.extend(request);
        let ask = Ask { note: note.len() as u32, ..ask };
        self.primary_reads.table.insert(PrimaryRead {
            ask,
            pool,
            key: key.to_vec().into(),
            text,
            of_batch,
            value: Buffer::default(),
            failed: false,
            due: self.now,
        })
    }

    /// Reads every key of a failed batch with CAS uniques again.
    pub(super) fn read_batch_again(&mut self, pool: usize, get: Id, batch: u32, keys: Vec<(u32, Vec<u8>)>) {
        let Some(multiget) = self.multigets.get(get) else { return };
        let recipient = Recipient { client: multiget.client, number: multiget.number };
        for (place, key) in keys {
            let request = [b"gets ", &key[..], b"\r\n"].concat();
            let ask = Ask::new(recipient, Destination::Relay { quiet: false }, Shape::Values, self.now);
            let read = self.keep_read(ask, pool, &key, &key, &request, Some((get, batch, place)));
            if let Some(kept) = self.primary_reads.table.get_mut(read) {
                kept.ask = Ask { to: Destination::KeyOfBatch(read), again: Some(read), ..kept.ask };
            }
            self.primary_reads.wait(read, self.now);
        }
    }

    /// Schedules a failed read once more; returns false if it stays failed.
    pub(super) fn asks_again(&mut self, ask: &Ask, trouble: ServerError, closes: bool) -> bool {
        let Some((id, read)) = ask.again.and_then(|id| Some((id, self.primary_reads.table.get_mut(id)?))) else {
            return false;
        };
        let timeout = self.upstreams.server(self.upstreams.pool(read.pool).server(0)).timeout;
        // The client may have a part of the response.
        let has_part = read.of_batch.is_none() && (closes || ask.has_value || ask.hushed);
        if has_part || !trouble.is_away() || read.ask.at + TIMEOUTS * timeout <= self.now {
            if read.of_batch.is_none() {
                self.primary_reads.ends(ask);
            }
            return false;
        }
        (read.value, read.failed) = (Buffer::default(), false);
        self.primary_reads.wait(id, self.now + PAUSE);
        true
    }

    /// Sends requests again that are due: each to the server that is its key's primary now, once that accepts requests.
    pub(super) fn ask_due_again(&mut self) {
        while let Some(id) = self.primary_reads.take_due(self.now) {
            let Some(read) = self.primary_reads.table.get(id) else { continue };
            let (ask, pool) = (read.ask, self.upstreams.pool(read.pool));
            let server = pool.server(pool.place(&read.key).authority());
            let to = self.upstreams.server(server);
            if to.accepts(ClientLoad::default(), NOBODY) == Err(ServerError::Down)
                && ask.at + TIMEOUTS * to.timeout > self.now
            {
                self.primary_reads.wait(id, self.now + PAUSE);
                continue;
            }
            self.counters.replicas_retried.add(1);
            let text = read.text.to_vec();
            let (note, request) = text.split_at(ask.note as usize);
            self.ask(server, Ask { at: self.now, again: Some(id), ..ask }, note, &[request]);
        }
    }

    /// A key of a batch has been read again, or has failed for good.
    pub(super) fn key_of_batch_ends(&mut self, read: Id, failed: Option<&'static str>) {
        let Some(read) = self.primary_reads.table.remove(read) else { return };
        let Some((get, batch, place)) = read.of_batch else { return };
        let failed = failed.or(read.failed.then_some("SERVER_ERROR a server responded with an error\r\n"));
        let settled = if read.value.is_empty() { Settled::Missed } else { Settled::Value(read.value) };
        self.batch_settles(get, batch, (place, settled), failed);
    }
}
