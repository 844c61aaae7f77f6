//! Delivery of responses and failures by the destination of a request: the only place that distinguishes all destinations.

use fanin_memcache::{Shape, response, text};

use crate::Front;
use crate::multigets::{KeyResult, PlaceInBatch, Settled};
use crate::upstreams::ask::{Ask, Destination, Recipient};
use crate::upstreams::receiving::{END, TOO_LARGE, Value};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;

impl<N: Net> Front<N> {
    /// Counts a value for the destination; returns whether it expects the key there, if it knows.
    pub(crate) fn expects_value(&mut self, ask: &Ask, value: &Value<'_>, too_large: bool) -> Option<bool> {
        if matches!(ask.to, Destination::GivenUp) {
            // Its keys are not known any more.
            return Some(true);
        }
        let Destination::Batch { get, batch } = ask.to else {
            let size = value.follow as usize;
            self.clients.get_mut(ask.client).into_iter().for_each(|client| client.has_seen(1, size));
            return None;
        };
        // Without a multiget, the client is gone.
        let Some(multiget) = self.multigets.get_mut(get) else { return Some(true) };
        let Ok(size) = u32::try_from(value.size()) else { return Some(false) };
        let whole = KeyResult { size, value: value.follow - END.len() as u32 };
        Some(multiget.value(batch, value.key, if too_large { KeyResult::MISSED } else { whole }))
    }

    /// Delivers response bytes.
    pub(crate) fn deliver(&mut self, ask: &Ask, bytes: &[u8]) {
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
            Destination::Direct(direct) => self.hubs.receives(direct, bytes),
            _ => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.responses.put(ask.number, bytes);
                }
            }
        }
    }

    /// Delivers a response line.
    pub(crate) fn deliver_line(&mut self, ask: &Ask, line: &[u8], last: bool) {
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
            Destination::Purge { of, .. } if response::is_error(line) => self.upstreams.purge_refused(of as usize),
            Destination::Purge { .. } => {}
            Destination::Every | Destination::Flush { .. } => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.responses.put_of_every(ask.number, line);
                }
            }
            Destination::Listing(_) if ask.hushed => {}
            Destination::Listing(server) => {
                let label = &self.upstreams.server(server).label;
                self.clients.deliver_listing(ask, line, last, label);
            }
            Destination::TooLarge { .. } => {
                self.deliver(ask, ask.to.replacement().unwrap_or_default().as_bytes());
            }
        }
    }

    /// Replaces a value above the limit and the rest of the response by an error.
    pub(crate) fn deliver_too_large(&mut self, server: usize, ask: &Ask) {
        self.context.counters.errors_refused.add(1);
        if let Destination::Batch { get, .. } = ask.to {
            self.multigets.get_mut(get).into_iter().for_each(|multiget| multiget.fail(TOO_LARGE));
            return;
        }
        self.deliver(ask, TOO_LARGE.as_bytes());
        self.upstreams.server_mut(server).front_mut().into_iter().for_each(|ask| ask.hushed = true);
    }

    /// Ends a response.
    pub(crate) fn deliver_end(&mut self, server: usize, ask: &Ask) {
        if let Destination::KeyOfBatch(read) = ask.to {
            return self.key_of_batch_ends(read, None);
        }
        self.primary_reads.ends(ask);
        match ask.to {
            Destination::GivenUp => return,
            Destination::Joined(get) => {
                let (who, held) = self.coalescing.over(get);
                self.clients.deliver_joined(who, held);
            }
            Destination::Batch { get, batch } => {
                if !self.batch_needs_more(get, batch, self.upstreams.server(server).pool) {
                    self.batch_is_whole(get, batch);
                }
            }
            Destination::KeyMigration(migration) => return self.migration_continues(migration),
            Destination::Direct(direct) => return self.direct_ends(direct, None),
            Destination::Purge { of, round } => return self.upstreams.purge_ends(of as usize, round),
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
    pub(crate) fn fails(&mut self, server: usize, ask: &Ask, trouble: ServerError, closes: bool) {
        if let Destination::Purge { of, round } = ask.to {
            return self.upstreams.purge_fails(of as usize, round, server);
        }
        if !matches!(ask.to, Destination::Probe | Destination::GivenUp) {
            self.context.counters.failed(trouble);
        }
        if self.primary_reads.asks_again(ask, trouble, closes, &self.upstreams, self.context.now) {
            return;
        }
        if let Some(change) = ask.then {
            let action = self.migrations.change_fails(change, trouble, &self.upstreams);
            action.into_iter().for_each(|action| self.carry_out(action));
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
                self.context.counters.get_misses.add(if misses { who.len() as u64 } else { 0 });
                self.clients.fail_joined(who, text, closes);
            }
            Destination::Batch { get, batch } => {
                if self.read_batch_elsewhere(get, batch) {
                    return;
                }
                if let Some(multiget) = self.multigets.get_mut(get) {
                    self.context.counters.get_misses.add(if misses { multiget.keys_of(batch) as u64 } else { 0 });
                    multiget.lost(batch, self.context.now, (!misses).then_some(text));
                    self.batch_ends(get, batch);
                }
            }
            Destination::Relay { .. }
            | Destination::Every
            | Destination::Flush { .. }
            | Destination::Listing(_)
            | Destination::TooLarge { .. } => {
                self.upstreams.note_flush(server, ask);
                self.context.counters.get_misses.add(u64::from(misses));
                self.report_failure(ask, trouble, text);
            }
        }
        self.clients.has_failed(ask.client, closes);
        if let Some(migration) = ask.then {
            self.change_responded(migration);
        }
    }

    /// Reports a failure to the client, unless it asked for silence.
    fn report_failure(&mut self, ask: &Ask, trouble: ServerError, text: &'static str) {
        let label = if let Destination::Listing(server) = ask.to { &self.upstreams.server(server).label } else { "" };
        self.clients.report_failure(ask, trouble, text, label);
        if let Destination::Flush { again } = ask.to {
            self.part_of_flush_ends(ask.recipient(), again);
        }
    }

    /// Registers a write before its client learns of it, so that no later get joins an earlier one.
    pub(crate) fn has_written(&self, ask: &Ask) {
        let writes = self.context.writes();
        match ask.writes {
            Some(group) => writes.wrote(group),
            None if matches!(ask.to, Destination::Flush { .. }) => {
                writes.flushed();
                writes.flush_ends();
            }
            None => {}
        }
    }

    /// A part of a flush has ended. After the last one, the servers flush again if values are copied between them: a value that was read at
    /// one server before it flushed may have been stored at another one since. They do not have the lease for such a value any more when
    /// they have flushed again.
    fn part_of_flush_ends(&mut self, of: Recipient, again: bool) {
        let Recipient { client: id, number } = of;
        let Some(client) = self.clients.get_mut(id) else { return };
        if again && client.responses.parts_left(number) == 1 {
            let pool = client.pool();
            client.responses.more_parts(number, self.upstreams.pool(pool).servers().len() as u32);
            let to = |_| Destination::Flush { again: false };
            for (server, ask) in self.upstreams.asks_of_every(pool, of, to, Shape::Done, &self.context) {
                self.ask(server, ask, &[], &[b"flush_all\r\n"]);
            }
        }
        self.clients.get_mut(id).into_iter().for_each(|client| client.responses.part_ends(number));
    }

    /// A key of a batch has been read again, or has failed for good.
    fn key_of_batch_ends(&mut self, read: Id, failed: Option<&'static str>) {
        if let Some((of, settled, failed)) = self.primary_reads.key_of_batch_ends(read, failed) {
            self.batch_settles(of, settled, failed);
        }
    }

    /// Handles a complete batch.
    fn batch_is_whole(&mut self, get: Id, batch: u32) {
        let Some(whole) = self.multigets.end_batch(get, batch, self.context.now) else { return };
        self.context.count_gets(whole.keys, whole.values);
        let client = self.clients.get_mut(whole.client);
        client.into_iter().for_each(|client| client.has_seen(whole.values, whole.bytes));
        self.batch_ends(get, batch);
        self.clients.mark(whole.client);
    }

    /// Settles one key of a batch that was looked up elsewhere; the last one completes the batch.
    pub(crate) fn batch_settles(&mut self, of: PlaceInBatch, settled: Settled, failed: Option<&'static str>) {
        let Some(batch) = self.multigets.settle(of, settled, failed) else { return };
        let Some(client) = self.clients.get_mut(batch.client) else { return };
        client.responses.holds_instead(batch.before, batch.after);
        if batch.is_whole {
            self.batch_is_whole(of.get, of.batch);
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
}
