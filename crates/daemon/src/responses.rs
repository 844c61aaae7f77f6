//! Responses of servers: validation, delivery to clients, and requests whose server fails.
//!
//! Before a client gets a response it is checked: values by their whole key, meta responses by their opaque token, others by their words.
//! An unexpected, excess or truncated response closes the server's connection, and all its requests fail.

use std::io;
use std::rc::Rc;

use fanin_memcache::{Cursor, Meta, Piece, Shape, closes, response, retold, text};
use fanin_ring::Event;

use crate::clock::{nanos, span};
use crate::front::{Front, READ};
use crate::memory::Buffer;
use crate::multiget::Settled;
use crate::net::Net;
use crate::server::{Ask, Part, ServerError, State, StreamedValue};
use crate::table::Id;

/// Error for a value larger than the pool's `item`.
const TOO_LARGE: &str = "SERVER_ERROR value exceeds this front end's limit\r\n";
/// Up to this size a value is parsed whole; larger ones are streamed.
const WHOLE: usize = READ / 2;
/// Reads from a server per loop iteration.
const READS: usize = 4;
/// Terminator of values and lines.
const END: &[u8] = b"\r\n";

/// An invalid response; and whether the client, which has part of its response, must be closed.
type Broken = (ServerError, bool);
/// Malformed.
const INVALID: Broken = (ServerError::Invalid, false);
/// Truncated: a value has not the announced length.
const TRUNCATED: Broken = (ServerError::Invalid, true);

impl<N: Net> Front<N> {
    pub(crate) fn server_event(&mut self, server: usize, event: Event) {
        if let State::Opening { socket, .. } = &self.servers[server].state {
            match self.net.is_open(socket) {
                Ok(open) if !event.failed => {
                    if event.writable && open {
                        self.servers[server].opened();
                        self.counters.server_connects.add(u64::from(self.servers[server].alone.is_none()));
                    }
                }
                _ => return self.server_fails(server, ServerError::Down, false),
            }
        }
        if event.writable {
            self.next_alone(server);
            self.mark_server(server);
        }
        if event.readable {
            self.servers[server].ending |= event.ended;
            self.server_reads(server);
        }
    }

    /// Reads from a server while there is memory. After the peer has closed, reads everything, since no further event comes.
    pub(crate) fn server_reads(&mut self, server: usize) {
        for reads in 1.. {
            if self.is_spent() {
                return self.read_later(server);
            }
            let from = &mut self.servers[server];
            let State::Open(socket) = &mut from.state else { return };
            let mut bytes = std::mem::take(&mut self.scratch);
            let there = from.rest.len();
            if bytes.len() < there + READ / 4 {
                bytes.resize(there + READ, 0);
            }
            let room = bytes.len() - there;
            let result = self.net.read(socket, &mut bytes[there..]);
            let (trouble, more) = match result {
                Ok(0) => (Some((ServerError::Closed, false)), false),
                Ok(count) => match self.handle_bytes(server, &mut bytes[..there + count]) {
                    Ok(()) => (None, count == room || self.servers[server].ending),
                    Err(broken) => (Some(broken), false),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (None, false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (None, true),
                Err(_) => (Some((ServerError::Closed, false)), false),
            };
            self.scratch = bytes;
            if let Some((trouble, closes)) = trouble {
                self.server_fails(server, trouble, closes);
            }
            if !more {
                return;
            }
            if reads == READS {
                return self.read_again(server);
            }
        }
    }

    /// Handles bytes from a server; there is space before them for earlier, unparsed bytes.
    fn handle_bytes(&mut self, server: usize, bytes: &mut [u8]) -> Result<(), Broken> {
        let rest = &mut self.servers[server].rest;
        bytes[..rest.len()].copy_from_slice(rest);
        rest.clear();
        let took = self.answers(server, bytes)?;
        self.servers[server].rest.extend(&bytes[took..]);
        Ok(())
    }

    /// Delivers responses; returns the number of bytes parsed.
    fn answers(&mut self, server: usize, bytes: &[u8]) -> Result<usize, Broken> {
        let mut at = 0;
        while at < bytes.len() {
            let from = &mut self.servers[server];
            // A response without a request is invalid.
            let Some(&ask) = from.front() else { return Err(INVALID) };
            if from.alone.is_some() {
                match self.alone_line(server, ask, &bytes[at..])? {
                    0 => break,
                    len => at += len,
                }
                continue;
            }
            if let Some(passing) = &mut from.passing {
                let some = (bytes.len() - at).min(passing.left as usize);
                at += passing.take(&bytes[at..at + some]);
                if passing.left == 0 {
                    self.large_value_ends(server, ask)?;
                }
                continue;
            }
            match from.cursor.next(&bytes[at..], ask.shape) {
                Piece::More => break,
                Piece::Broken => return Err(INVALID),
                Piece::Line { line, last } => {
                    self.line(server, &ask, line, last)?;
                    at += line.len();
                    if last {
                        self.ends(server, ask);
                    }
                }
                Piece::Value { line, key, follow, last } => {
                    let (size, there) = (line.len() + follow as usize, bytes.len() - at);
                    if size <= WHOLE && size > there {
                        break;
                    }
                    let value = &bytes[at + line.len()..at + size.min(there)];
                    if size <= there && !value.ends_with(END) {
                        return Err(TRUNCATED);
                    }
                    let ask = self.wants(server, ask, (line, key, follow))?;
                    if size > there {
                        self.large_value_begins(server, &ask, (line, follow), value, last);
                    } else {
                        self.give_value(&ask, line, &bytes[at..at + size]);
                        if last {
                            self.ends(server, ask);
                        }
                    }
                    at += size.min(there);
                }
            }
        }
        Ok(at)
    }

    /// Handles a line on a server's second connection: it belongs to the request until the closing line comes. Returns its length.
    #[cold]
    fn alone_line(&mut self, server: usize, ask: Ask, bytes: &[u8]) -> Result<usize, Broken> {
        let from = &mut self.servers[server];
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return if bytes.len() > response::LONGEST_LINE { Err(INVALID) } else { Ok(0) };
        };
        let line = &bytes[..end + 1];
        if closes(line, from.note()) {
            // The response is incomplete.
            if !ask.hushed {
                return Err(INVALID);
            }
            self.ends(server, Ask { hushed: false, ..ask });
            self.next_alone(server);
            return Ok(line.len());
        }
        if from.is_too_long(line.len()) {
            return Err(INVALID);
        }
        if !ask.hushed
            && let Piece::Line { line, last } = Cursor::default().next(bytes, ask.shape)
        {
            self.line(server, &ask, line, last)?;
            if let Some(front) = self.servers[server].front_mut() {
                front.hushed |= last;
            }
        }
        Ok(line.len())
    }

    /// Whether a value with this line and key matches the request; prepares the client's version of it.
    fn wants(&mut self, server: usize, ask: Ask, (line, key, follow): (&[u8], &[u8], u32)) -> Result<Ask, Broken> {
        let from = &mut self.servers[server];
        let too_large = follow > self.pools[from.pool].longest_answer;
        if !matches!(ask.part, Part::Batch { .. }) {
            self.clients.get_mut(ask.client).into_iter().for_each(|client| client.has_seen(1, follow as usize));
        }
        let right = match (ask.shape, ask.part) {
            (Shape::Meta { .. }, _) => return self.prepare_meta(server, ask, line),
            (_, Part::Batch { get, batch }) => match self.gets.get_mut(get) {
                Some(multiget) => {
                    let size = if too_large { 0 } else { line.len() + follow as usize };
                    u32::try_from(size).is_ok_and(|size| multiget.value(batch, key, size))
                }
                // The client is gone.
                None => true,
            },
            _ => from.note() == key && from.front_mut().is_some_and(|ask| !std::mem::replace(&mut ask.has_value, true)),
        };
        if right { Ok(ask) } else { Err(INVALID) }
    }

    /// Delivers a whole value.
    fn give_value(&mut self, ask: &Ask, line: &[u8], all: &[u8]) {
        if let Shape::Meta { .. } = ask.shape {
            let told = std::mem::take(&mut self.line);
            self.give(ask, &told);
            self.line = told;
            self.give(ask, &all[line.len()..]);
        } else {
            self.give(ask, all);
        }
    }

    /// Begins a value that is held until its terminator has been seen; one that is too large is dropped with an error.
    fn large_value_begins(&mut self, server: usize, ask: &Ask, (line, follow): (&[u8], u32), come: &[u8], last: bool) {
        let keeps = follow <= self.pools[self.servers[server].pool].longest_answer;
        if !keeps {
            self.lacks(server, ask);
        }
        let head = if matches!(ask.shape, Shape::Meta { .. }) { &self.line } else { line };
        let mut passing = StreamedValue { bytes: Buffer::default(), left: follow, last, keeps };
        if keeps {
            passing.bytes.extend(head);
        }
        passing.take(come);
        self.servers[server].passing = Some(passing);
    }

    /// Ends such a value.
    fn large_value_ends(&mut self, server: usize, ask: Ask) -> Result<(), Broken> {
        let Some(passing) = self.servers[server].passing.take() else { return Ok(()) };
        if passing.keeps && !passing.bytes.ends_with(END) {
            return Err(TRUNCATED);
        }
        self.give(&ask, &passing.bytes);
        if passing.last {
            self.ends(server, ask);
        }
        Ok(())
    }

    /// Replaces a value above the limit and the rest of the response by an error.
    fn lacks(&mut self, server: usize, ask: &Ask) {
        self.counters.errors_refused.add(1);
        if let Part::Batch { get, .. } = ask.part {
            self.gets.get_mut(get).into_iter().for_each(|multiget| multiget.failed = Some(TOO_LARGE));
            return;
        }
        self.give(ask, TOO_LARGE.as_bytes());
        self.servers[server].front_mut().into_iter().for_each(|ask| ask.hushed = true);
    }

    /// Handles a response line.
    fn line(&mut self, server: usize, ask: &Ask, line: &[u8], last: bool) -> Result<(), Broken> {
        if matches!(ask.shape, Shape::Meta { .. }) && !response::is_error(line) {
            let ask = self.prepare_meta(server, *ask, line)?;
            self.give_value(&ask, b"", b"");
            return Ok(());
        }
        match ask.part {
            Part::Batch { get, batch } => {
                if response::is_error(line)
                    && let Some(multiget) = self.gets.get_mut(get)
                {
                    // Values received before the error stay valid.
                    multiget.end(batch, false, Some("SERVER_ERROR a server responded with an error\r\n"));
                }
            }
            Part::Relay { quiet: true } if !matches!(ask.shape, Shape::Meta { .. }) => {}
            Part::Relay { .. } | Part::Joined(_) | Part::KeyMigration(_) => self.give(ask, line),
            Part::Every => {
                let answer = self.clients.get_mut(ask.client).and_then(|client| client.answer(ask.number));
                if let Some(answer) = answer.filter(|answer| answer.held.is_empty() && !answer.is_well(line)) {
                    answer.held.extend(line);
                }
            }
            Part::Listing(server) => {
                let name = std::mem::take(&mut self.servers[server].name);
                let named: Option<[&[u8]; 4]> = match line.strip_prefix(b"STAT ") {
                    Some(rest) => Some([b"STAT ", name.as_bytes(), b":", rest]),
                    // Not a list.
                    None if last && line != b"END\r\n" => Some([b"STAT ", name.as_bytes(), b":error ", line]),
                    None => None,
                };
                match named {
                    Some(parts) => parts.iter().for_each(|bytes| self.give(ask, bytes)),
                    None if !last => self.give(ask, line),
                    None => {}
                }
                self.servers[server].name = name;
            }
            Part::Instead(text) => self.give(ask, text.as_bytes()),
        }
        Ok(())
    }

    /// Checks the first line of a meta response and writes the client's version of it to `self.line`.
    fn prepare_meta(&mut self, server: usize, ask: Ask, line: &[u8]) -> Result<Ask, Broken> {
        let told = &mut self.line;
        told.clear();
        let words = line.strip_suffix(END).unwrap_or(line);
        let is_it = retold(words, self.servers[server].note(), |bytes| told.extend_from_slice(bytes)).is_some();
        told.extend_from_slice(END);
        if let Part::Instead(text) = ask.part {
            told.clear();
            told.extend_from_slice(text.as_bytes());
        }
        let now = self.servers[server].front_mut().filter(|_| is_it).ok_or(INVALID)?;
        now.hushed = is_hushed(&ask, words);
        Ok(*now)
    }

    /// Delivers response bytes.
    fn give(&mut self, ask: &Ask, bytes: &[u8]) {
        match ask.part {
            _ if ask.hushed => {}
            Part::Batch { get, batch } => {
                if let Some(multiget) = self.gets.get_mut(get) {
                    multiget.hold(batch, bytes, &mut self.spare);
                    if let Some(client) = self.clients.get_mut(ask.client) {
                        client.held += bytes.len();
                    }
                }
            }
            Part::KeyMigration(migration) => self.migration_receives(migration, bytes),
            Part::Joined(get) => self.coalescing.receives(get, bytes),
            _ => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.put(ask.number, bytes);
                }
            }
        }
    }

    /// Ends a response.
    fn ends(&mut self, server: usize, ask: Ask) {
        self.servers[server].pop();
        if self.servers[server].is_well() {
            self.report_state(server, None);
        }
        self.has_written(&ask);
        match ask.part {
            Part::Joined(get) => {
                let (who, held) = self.coalescing.over(get);
                let held = Rc::new(held);
                for (client, number) in who {
                    if let Some(client) = self.clients.get_mut(client) {
                        client.put_joined(number, &held);
                        client.part_ends(number);
                    }
                    self.mark_client(client);
                }
            }
            Part::Batch { get, batch } => {
                if !self.batch_needs_more(get, batch, self.servers[server].pool) {
                    self.batch_is_whole(get, batch);
                }
            }
            Part::KeyMigration(migration) => return self.migration_continues(migration),
            _ => {
                if let Some(client) = self.clients.get_mut(ask.client) {
                    client.part_ends(ask.number);
                }
            }
        }
        self.mark_client(ask.client);
        if let Some(migration) = ask.then {
            self.has_changed(migration);
        }
    }

    /// Handles a complete batch.
    fn batch_is_whole(&mut self, get: Id, batch: u32) {
        let Some(multiget) = self.gets.get_mut(get) else { return };
        let (bytes, values) = (multiget.bytes_of(batch), multiget.values_of(batch));
        multiget.schedule.answered(span(multiget.since, self.now), batch, bytes);
        multiget.end(batch, true, None);
        let client = multiget.client;
        self.clients.get_mut(client).into_iter().for_each(|client| client.has_seen(values, bytes as usize));
        self.batch_ends(get, batch);
        self.mark_client(client);
    }

    /// Settles one key of a batch that was looked up elsewhere; the last one completes the batch.
    pub(crate) fn batch_settles(&mut self, get: Id, batch: u32, settled: (u32, Settled), failed: Option<&'static str>) {
        let Some(multiget) = self.gets.get_mut(get) else { return };
        multiget.failed = multiget.failed.or(failed);
        let before = multiget.bytes_of(batch);
        let is_whole = multiget.settle(batch, settled);
        let (after, id) = (multiget.bytes_of(batch), multiget.client);
        let Some(client) = self.clients.get_mut(id) else { return };
        client.held = (client.held + after as usize).saturating_sub(before as usize);
        if is_whole {
            self.batch_is_whole(get, batch);
        }
    }

    /// Ends a batch, successful or not, and sends further batches.
    fn batch_ends(&mut self, get: Id, batch: u32) {
        let Some(multiget) = self.gets.get(get) else { return };
        let (keys, number) = (multiget.keys_of(batch), multiget.number);
        self.clients.get_mut(multiget.client).into_iter().for_each(|client| client.keys_end(number, keys));
        self.ask_batches(get);
    }

    /// Registers a write before its client learns of it, so that no later get joins an earlier one.
    fn has_written(&self, ask: &Ask) {
        match (ask.writes, ask.part) {
            (Some(group), _) => self.shared.writes.wrote(group),
            (_, Part::Every) => self.shared.writes.flushed(),
            _ => {}
        }
    }

    /// Closes a failed server connection: all its requests fail, and a client with a partial response may be closed.
    pub(crate) fn server_fails(&mut self, server: usize, trouble: ServerError, closes: bool) {
        self.report_state(server, Some(trouble));
        let (socket, asked) = self.servers[server].close(self.now);
        socket.into_iter().for_each(|socket| self.net.close(socket));
        for (index, ask) in asked.into_iter().enumerate() {
            self.fails(&ask, trouble, closes && index == 0);
        }
    }

    /// Reports on stderr that a server is down, or up again, once for all threads.
    fn report_state(&mut self, server: usize, trouble: Option<ServerError>) {
        let from = &self.servers[server];
        if server >= self.shared_servers || self.shared.is_up(server, trouble.is_none()) {
            return;
        }
        let pool = &self.pools[from.pool].name;
        let state = trouble.map_or("up again", ServerError::state);
        self.net.tell(&format!("{pool}: server {} ({}) is {state}", from.name, from.address));
    }

    /// Handles a failed request.
    pub(crate) fn fails(&mut self, ask: &Ask, trouble: ServerError, closes: bool) {
        self.counters.failed(trouble);
        self.has_written(ask);
        let misses = ask.shape == Shape::Values
            && self.clients.get(ask.client).is_some_and(|client| self.pools[client.pool].misses(trouble));
        let text = if misses { text::END } else { trouble.text() };
        match ask.part {
            Part::KeyMigration(migration) => return self.migration_fails(migration, trouble),
            Part::Joined(get) => {
                for (client, number) in self.coalescing.over(get).0 {
                    if let Some(client) = self.clients.get_mut(client) {
                        client.put(number, text.as_bytes());
                        client.part_ends(number);
                    }
                    self.has_failed(client, closes);
                }
            }
            Part::Batch { get, batch } => {
                if let Some(multiget) = self.gets.get_mut(get) {
                    multiget.schedule.lost(batch);
                    multiget.end(batch, false, (!misses).then_some(text));
                    self.batch_ends(get, batch);
                }
            }
            _ => self.report_failure(ask, text),
        }
        self.has_failed(ask.client, closes);
        if let Some(migration) = ask.then {
            self.has_changed(migration);
        }
    }

    /// Reports a failure to the client, unless it asked for silence.
    fn report_failure(&mut self, ask: &Ask, text: &'static str) {
        let Some(client) = self.clients.get_mut(ask.client) else { return };
        match ask.part {
            Part::Relay { quiet: true } if !matches!(ask.shape, Shape::Meta { .. }) => {}
            Part::Instead("") => {}
            Part::Every => {
                if let Some(answer) = client.answer(ask.number) {
                    answer.held.clear();
                    answer.held.extend(text.as_bytes());
                }
            }
            Part::Listing(server) => {
                let line = format!("STAT {}:error {}", self.servers[server].name, text);
                client.put(ask.number, line.as_bytes());
            }
            _ => client.put(ask.number, text.as_bytes()),
        }
        client.part_ends(ask.number);
    }

    /// After a reported failure, closes the client if its response was truncated.
    fn has_failed(&mut self, id: Id, closes: bool) {
        self.clients.get_mut(id).into_iter().for_each(|client| client.closing |= closes);
        self.mark_client(id);
    }

    /// Reports late batches to the concurrency limits.
    pub(crate) fn check_for_late(&mut self) {
        for pool in 0..self.pools.len() {
            while let Some(get) = self.pools[pool].next_late(self.now) {
                if let Some(multiget) = self.gets.get_mut(get) {
                    multiget.is_watched = false;
                    multiget.schedule.report_late(span(multiget.since, self.now));
                    self.counters.late_batches.add(1);
                    self.schedule_late_check(get);
                }
            }
        }
    }

    /// Schedules a check for late batches, if the multiget's concurrency limit uses them and none is scheduled.
    pub(crate) fn schedule_late_check(&mut self, get: Id) {
        let Some(multiget) = self.gets.get_mut(get).filter(|multiget| !multiget.is_watched) else { return };
        let (Some(at), Some(client)) = (multiget.schedule.late_at(), self.clients.get(multiget.client)) else { return };
        multiget.is_watched = true;
        let at = multiget.since + nanos(at);
        self.pools[client.pool].check_for_late(at, get);
    }
}

/// Whether the client suppresses this response to its meta command: a miss, or success.
fn is_hushed(ask: &Ask, words: &[u8]) -> bool {
    let (Shape::Meta { command, .. }, Part::Relay { quiet: true }) = (ask.shape, ask.part) else { return false };
    let codes: &[&[u8]] = if command == Meta::Get { &[b"EN"] } else { &[b"HD", b"VA"] };
    codes.iter().any(|code| words.starts_with(code))
}
