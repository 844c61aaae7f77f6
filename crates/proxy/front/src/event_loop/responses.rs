//! Delivery of responses and failures by the destination of a request: the only place that distinguishes all destinations.

use std::rc::Rc;

use fanin_memcache::{Shape, response, text};

use super::Front;
use super::multigets::Settled;
use super::upstreams::ask::{Ask, Destination};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

/// Error for a value larger than the pool's `item`.
pub const TOO_LARGE: &str = "SERVER_ERROR value exceeds this front end's limit\r\n";

impl<N: Net> Front<N> {
    /// Counts a value of this size, with its line and without, for the destination; returns whether it expects the key there, if it knows.
    pub(super) fn expects_value(&mut self, ask: &Ask, key: &[u8], size: usize, value: usize) -> Option<bool> {
        if matches!(ask.to, Destination::GivenUp) {
            // Its keys are not known any more.
            return Some(true);
        }
        let Destination::Batch { get, batch } = ask.to else {
            self.clients.get_mut(ask.client).into_iter().for_each(|client| client.has_seen(1, value));
            return None;
        };
        // Without a multiget, the client is gone.
        let Some(multiget) = self.multigets.get_mut(get) else { return Some(true) };
        Some(u32::try_from(size).is_ok_and(|size| multiget.value(batch, key, size)))
    }

    /// Delivers response bytes.
    pub(super) fn deliver(&mut self, ask: &Ask, bytes: &[u8]) {
        match ask.to {
            Destination::GivenUp => {}
            _ if ask.hushed => {}
            Destination::Batch { get, batch } => {
                if self.multigets.hold(get, batch, bytes)
                    && let Some(client) = self.clients.get_mut(ask.client)
                {
                    client.responses.holds_more(bytes.len());
                }
            }
            Destination::KeyMigration(migration) => self.migrations.receives(migration, bytes),
            Destination::KeyOfBatch(read) => self.primary_reads.receives(read, bytes),
            Destination::Joined(get) => self.coalescing.receives(get, bytes),
            Destination::Direct(direct) => {
                self.hubs.direct.get_mut(direct).into_iter().for_each(|direct| direct.receives(bytes));
            }
            _ => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.responses.put(ask.number, bytes);
                }
            }
        }
    }

    /// Delivers a response line.
    pub(super) fn deliver_line(&mut self, ask: &Ask, line: &[u8], last: bool) {
        match ask.to {
            Destination::Batch { get, batch } => {
                if response::is_error(line)
                    && let Some(multiget) = self.multigets.get_mut(get)
                {
                    // Values received before the error stay valid.
                    multiget.end(batch, false, Some("SERVER_ERROR a server responded with an error\r\n"));
                }
            }
            Destination::Relay { quiet: true } if !matches!(ask.shape, Shape::Meta { .. }) => {}
            Destination::Relay { .. }
            | Destination::Joined(_)
            | Destination::Direct(_)
            | Destination::KeyMigration(_) => self.deliver(ask, line),
            Destination::KeyOfBatch(read) => self.primary_reads.receives_line(read, line),
            Destination::Probe | Destination::GivenUp => {}
            Destination::Purge { of, .. } if response::is_error(line) => self.purge_refused(of as usize),
            Destination::Purge { .. } => {}
            Destination::Every | Destination::Flush { .. } => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.responses.put_of_every(ask.number, line);
                }
            }
            Destination::Listing(_) if ask.hushed => {}
            Destination::Listing(server) => {
                let name = self.upstreams.server(server).label.as_bytes();
                let parts: [&[u8]; 4] = match line.strip_prefix(b"STAT ") {
                    Some(rest) => [b"STAT ", name, b":", rest],
                    // Not a list.
                    None if last && line != b"END\r\n" => [b"STAT ", name, b":error refused", b"\r\n"],
                    None if last => [b""; 4],
                    None => [b"", b"", b"", line],
                };
                if let Some(client) = self.clients.get_mut(ask.client) {
                    parts.iter().for_each(|part| client.responses.put(ask.number, part));
                }
            }
            Destination::TooLarge { .. } => {
                self.deliver(ask, ask.to.replacement().unwrap_or_default().as_bytes());
            }
        }
    }

    /// Replaces a value above the limit and the rest of the response by an error.
    pub(super) fn deliver_too_large(&mut self, server: usize, ask: &Ask) {
        self.counters.errors_refused.add(1);
        if let Destination::Batch { get, .. } = ask.to {
            self.multigets.get_mut(get).into_iter().for_each(|multiget| multiget.fail(TOO_LARGE));
            return;
        }
        self.deliver(ask, TOO_LARGE.as_bytes());
        self.upstreams.server_mut(server).front_mut().into_iter().for_each(|ask| ask.hushed = true);
    }

    /// Ends a response.
    pub(super) fn deliver_end(&mut self, server: usize, ask: &Ask) {
        if let Destination::KeyOfBatch(read) = ask.to {
            return self.key_of_batch_ends(read, None);
        }
        self.primary_reads.ends(ask);
        match ask.to {
            Destination::GivenUp => return,
            Destination::Joined(get) => {
                let (who, held) = self.coalescing.over(get);
                let held = Rc::new(held);
                for (id, number) in who {
                    if let Some(client) = self.clients.get_mut(id) {
                        client.responses.put_joined(number, &held);
                        client.responses.part_ends(number);
                    }
                    self.clients.mark(id);
                }
            }
            Destination::Batch { get, batch } => {
                if !self.batch_needs_more(get, batch, self.upstreams.server(server).pool) {
                    self.batch_is_whole(get, batch);
                }
            }
            Destination::KeyMigration(migration) => return self.migration_continues(migration),
            Destination::Direct(direct) => return self.direct_ends(direct, None),
            Destination::Purge { of, round } => return self.purge_ends(of as usize, round),
            Destination::Flush { again } => self.part_of_flush_ends(ask.recipient(), again),
            _ => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.responses.part_ends(ask.number);
                }
            }
        }
        self.clients.mark(ask.client);
        if let Some(migration) = ask.then {
            self.change_responded(migration);
        }
    }

    /// Handles a failed request; with `closes`, the client has part of the response and must be closed.
    pub(super) fn fails(&mut self, server: usize, ask: &Ask, trouble: ServerError, closes: bool) {
        if let Destination::Purge { of, round } = ask.to {
            return self.purge_fails(of as usize, round, server);
        }
        if !matches!(ask.to, Destination::Probe | Destination::GivenUp) {
            self.counters.failed(trouble);
        }
        if self.asks_again(ask, trouble, closes) {
            return;
        }
        if let Some(change) = ask.then {
            self.change_fails(change, trouble);
        }
        self.has_written(ask);
        let pool = self.clients.get(ask.client).map(|client| self.upstreams.pool(client.pool()));
        let misses = ask.shape == Shape::Values && pool.is_some_and(|pool| pool.misses(trouble));
        let text = if misses { text::END } else { trouble.text() };
        match ask.to {
            Destination::Probe | Destination::Purge { .. } | Destination::GivenUp => return,
            Destination::KeyMigration(migration) => return self.migration_fails(migration, trouble),
            Destination::Direct(direct) => return self.direct_ends(direct, Some(trouble)),
            Destination::KeyOfBatch(read) => return self.key_of_batch_ends(read, (!misses).then_some(text)),
            Destination::Joined(get) => {
                let (who, _) = self.coalescing.over(get);
                self.counters.get_misses.add(if misses { who.len() as u64 } else { 0 });
                for (id, number) in who {
                    if let Some(client) = self.clients.get_mut(id) {
                        client.responses.put(number, text.as_bytes());
                        client.responses.part_ends(number);
                    }
                    self.has_failed(id, closes);
                }
            }
            Destination::Batch { get, batch } => {
                if self.read_batch_elsewhere(get, batch) {
                    return;
                }
                if let Some(multiget) = self.multigets.get_mut(get) {
                    self.counters.get_misses.add(if misses { multiget.keys_of(batch) as u64 } else { 0 });
                    multiget.lost(batch, self.now, (!misses).then_some(text));
                    self.batch_ends(get, batch);
                }
            }
            Destination::Relay { .. }
            | Destination::Every
            | Destination::Flush { .. }
            | Destination::Listing(_)
            | Destination::TooLarge { .. } => {
                self.note_flush(server, ask);
                self.counters.get_misses.add(u64::from(misses));
                self.report_failure(ask, trouble, text);
            }
        }
        self.has_failed(ask.client, closes);
        if let Some(migration) = ask.then {
            self.change_responded(migration);
        }
    }

    /// Reports a failure to the client, unless it asked for silence.
    fn report_failure(&mut self, ask: &Ask, trouble: ServerError, text: &'static str) {
        let Some(client) = self.clients.get_mut(ask.client) else { return };
        match ask.to {
            Destination::Relay { quiet: true } if !matches!(ask.shape, Shape::Meta { .. }) => {}
            Destination::TooLarge { silent: true } => {}
            Destination::Every | Destination::Flush { .. } => {
                client.responses.fail_of_every(ask.number, text.as_bytes());
            }
            Destination::Listing(server) => {
                let line = format!("STAT {}:error {}\r\n", self.upstreams.server(server).label, trouble.name());
                client.responses.put(ask.number, line.as_bytes());
            }
            _ => client.responses.put(ask.number, text.as_bytes()),
        }
        match ask.to {
            Destination::Flush { again } => self.part_of_flush_ends(ask.recipient(), again),
            _ => client.responses.part_ends(ask.number),
        }
    }

    /// After a reported failure, closes the client if its response was truncated.
    fn has_failed(&mut self, id: Id, closes: bool) {
        if closes && let Some(client) = self.clients.get_mut(id) {
            client.input.close_after_output();
        }
        self.clients.mark(id);
    }

    /// Registers a write before its client learns of it, so that no later get joins an earlier one.
    pub(super) fn has_written(&self, ask: &Ask) {
        match ask.writes {
            Some(group) => self.shared.writes.wrote(group),
            None if matches!(ask.to, Destination::Flush { .. }) => {
                self.shared.writes.flushed();
                self.shared.writes.flush_ends();
            }
            None => {}
        }
    }

    /// Handles a complete batch.
    fn batch_is_whole(&mut self, get: Id, batch: u32) {
        let Some(multiget) = self.multigets.get_mut(get) else { return };
        let failed = multiget.is_over(batch);
        let (values, bytes) = multiget.answered(batch, self.now);
        let (id, keys) = (multiget.client, if failed { values } else { multiget.keys_of(batch) });
        self.count_gets(keys, values);
        self.clients.get_mut(id).into_iter().for_each(|client| client.has_seen(values, bytes));
        self.batch_ends(get, batch);
        self.clients.mark(id);
    }

    /// Settles one key of a batch that was looked up elsewhere; the last one completes the batch.
    pub(super) fn batch_settles(&mut self, get: Id, batch: u32, settled: (u32, Settled), failed: Option<&'static str>) {
        let Some(multiget) = self.multigets.get_mut(get) else { return };
        multiget.fail_first(failed);
        let before = multiget.bytes_of(batch);
        let is_whole = multiget.settle(batch, settled);
        let (after, id) = (multiget.bytes_of(batch), multiget.client);
        let Some(client) = self.clients.get_mut(id) else { return };
        client.responses.holds_instead(before as usize, after as usize);
        if is_whole {
            self.batch_is_whole(get, batch);
        }
    }

    /// Ends a batch, successful or not, and sends further batches.
    fn batch_ends(&mut self, get: Id, batch: u32) {
        let Some(multiget) = self.multigets.get(get) else { return };
        let (keys, number) = (multiget.keys_of(batch), multiget.number);
        if let Some(client) = self.clients.get_mut(multiget.client) {
            client.responses.keys_end(number, keys);
        }
        self.ask_batches(get);
    }

    /// Schedules a check for late batches, if the multiget's concurrency limit uses them and none is scheduled.
    pub(super) fn watch_multiget(&mut self, get: Id) {
        let Some(multiget) = self.multigets.get_mut(get) else { return };
        let Some(client) = self.clients.get(multiget.client) else { return };
        if let Some(at) = multiget.watch() {
            self.upstreams.pool_mut(client.pool()).check_for_late(at, get);
        }
    }

    /// Reports late batches to the concurrency limits.
    pub(super) fn check_for_late(&mut self) {
        for pool in 0..self.upstreams.pools_mut().len() {
            while let Some(get) = self.upstreams.pool_mut(pool).next_late(self.now) {
                if let Some(multiget) = self.multigets.get_mut(get) {
                    multiget.report_late(self.now);
                    self.counters.late_batches.add(1);
                    self.watch_multiget(get);
                }
            }
        }
    }
}
