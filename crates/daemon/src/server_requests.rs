//! Requests to servers: destination, format, and the note by which the response is recognised.

use std::collections::VecDeque;

use fanin_memcache::{Command, Flags, Get, Keyed, LONGEST_KEY, Meta, Shape, Store, text};

use crate::client::Kind;
use crate::clock::{Nanos, span};
use crate::coalescing::Writes;
use crate::flushing::ENOUGH;
use crate::front::Front;
use crate::migration::Location;
use crate::migration::key::{Change, changes};
use crate::net::Net;
use crate::server::{AT_ONCE, Ask, Part, ServerError, State};
use crate::table::Id;

impl<N: Net> Front<N> {
    /// Adds a response from one server.
    pub(crate) fn expect_one(&mut self, id: Id, part: Part, shape: Shape) -> Ask {
        self.expect_change(id, None, part, shape)
    }

    /// Requests a key's value.
    pub(crate) fn ask_for(&mut self, id: Id, get: &Get<'_>, key: &[u8]) {
        let Some(client) = self.clients.get(id) else { return };
        let (number, pool) = (client.pool, &self.pools[client.pool]);
        let place = pool.place(key);
        if let Location::Moving(key_move) = place
            && self.get_moving_key(id, get, key, key_move)
        {
            return;
        }
        let pool = &self.pools[number];
        let (server, joins) = (pool.first + place.authority(), pool.joins);
        let mut ask = self.expect_one(id, Part::Relay { quiet: false }, Shape::Values);
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        get.head(|bytes| line.extend_from_slice(bytes));
        [b" ", key, b"\r\n"].iter().for_each(|bytes| line.extend_from_slice(bytes));
        let whose = (id, ask.number);
        let joined = joins.then(|| self.coalescing.join(number, line.clone(), key, &self.shared.writes, whose));
        match joined {
            // An equal get is outstanding.
            Some(None) => self.counters.get_joined.add(1),
            Some(Some(get)) => {
                ask.part = Part::Joined(get);
                self.ask(server, ask, key, &[&line]);
            }
            None => self.ask(server, ask, key, &[&line]),
        }
        self.line = line;
    }

    /// Sends a command for one key, with or without a value.
    pub(crate) fn ask_keyed(&mut self, id: Id, keyed: &Keyed<'_>, part: Part, value: Option<&[u8]>) {
        let Some(client) = self.clients.get(id) else { return };
        let number = client.pool;
        let pool = &self.pools[number];
        let mut room = [0; LONGEST_KEY];
        let key = keyed.stored(&mut room);
        let place = pool.place(key);
        let server = pool.first + place.authority();
        // From now on no get joins an earlier one.
        let writes = pool.joins.then(|| Writes::group(key));
        writes.into_iter().for_each(|group| self.shared.writes.wrote(group));
        let key_move = self.key_move_of(number, place, changes(keyed)).filter(|_| keyed.shape() != Shape::Alone);
        let ask = Ask { writes, ..self.expect_change(id, key_move, part, keyed.shape()) };
        let mark = self.mark();
        let (mut line, mut note) = (std::mem::take(&mut self.line), std::mem::take(&mut self.note));
        line.clear();
        note.clear();
        keyed.line(value.map(|value| value.len() as u32), mark, |bytes| line.extend_from_slice(bytes));
        keyed.note(mark, |bytes| note.extend_from_slice(bytes));
        if ask.shape == Shape::Alone {
            self.ask_alone(server + self.shared_servers, ask, &line);
        } else if let Some(key_move) = key_move {
            let bytes = [&line, value.unwrap_or_default()].concat();
            let silent = keyed.quiet && !matches!(keyed.command, Command::Meta(..));
            let change = Change { ask, note: note.clone(), bytes, stores: value.is_some(), silent };
            self.change(number, (keyed.key, keyed.base64()), key_move, change, changes(keyed));
        } else {
            self.ask(server, ask, &note, &[&line, value.unwrap_or_default()]);
        }
        (self.line, self.note) = (line, note);
    }

    /// Stores a value that has arrived completely, if its terminator is right.
    pub(crate) fn store(&mut self, id: Id, store: &Store<'_>, value: &[u8]) {
        let is_meta = matches!(store.keyed.command, Command::Meta(..));
        self.counters.requests.add(1);
        if value.ends_with(b"\r\n") {
            self.counters.stores.add(1);
            self.clients.get_mut(id).into_iter().for_each(|client| client.has_seen(1, value.len()));
            return self.ask_keyed(id, &store.keyed, Part::Relay { quiet: store.keyed.quiet }, Some(value));
        }
        self.counters.errors_refused.add(1);
        let text = if store.keyed.quiet && !is_meta { "" } else { text::BAD_CHUNK };
        self.clients.get_mut(id).into_iter().for_each(|client| client.say(text.as_bytes(), self.now));
    }

    /// Refuses a value that is too large; like memcached, this deletes the old value.
    pub(crate) fn refuse_value(&mut self, id: Id, keyed: &Keyed<'_>) {
        self.counters.requests.add(1);
        self.counters.errors_refused.add(1);
        let meta = matches!(keyed.command, Command::Meta(..));
        let text = if keyed.quiet && !meta { "" } else { text::TOO_LARGE };
        if !keyed.forgets() {
            self.clients.get_mut(id).into_iter().for_each(|client| client.say(text.as_bytes(), self.now));
            return;
        }
        let base64: &[u8] = if keyed.base64() { b"b" } else { b"" };
        let command = match Flags::read(Meta::Delete, keyed.key, base64) {
            Ok(flags) if meta => Command::Meta(Meta::Delete, flags),
            _ => Command::Delete,
        };
        self.ask_keyed(id, &Keyed { command, key: keyed.key, quiet: false }, Part::Instead(text), None);
    }

    /// Sends a request; it fails if the server does not accept it.
    pub(crate) fn ask(&mut self, server: usize, ask: Ask, note: &[u8], bytes: &[&[u8]]) {
        let (client, to) = (self.clients.get_mut(ask.client), &mut self.servers[server]);
        let (under_way, unanswered) =
            client.as_ref().map_or((0, 0), |client| (client.under_way(), client.unanswered()));
        match to.accepts(under_way, unanswered) {
            Ok(()) => {
                bytes.iter().for_each(|bytes| to.out.extend(bytes));
                to.was_asked(ask, note);
                if let Some(client) = client {
                    client.asks(ask.number, bytes.iter().map(|bytes| bytes.len()).sum());
                }
                self.mark_server(server);
            }
            Err(trouble) => self.fails(&ask, trouble, false),
        }
    }

    /// Queues a request for a server's second connection.
    fn ask_alone(&mut self, server: usize, ask: Ask, line: &[u8]) {
        let unanswered = self.clients.get(ask.client).map_or(0, |client| client.unanswered());
        match (self.servers[server].accepts(0, unanswered), &mut self.servers[server].alone) {
            (Ok(()), Some(alone)) => {
                alone.push_back((ask, line.to_vec().into()));
                self.asks_alone = true;
                if let State::Down { until } = &mut self.servers[server].state {
                    *until = AT_ONCE;
                }
                self.next_alone(server);
            }
            (Ok(()), None) => {}
            (Err(trouble), _) => self.fails(&ask, trouble, false),
        }
    }

    /// Opens the second connection.
    pub(crate) fn open_alone(&mut self, server: usize) {
        if self.servers[server].alone.as_ref().is_none_or(|alone| alone.is_empty()) {
            self.servers[server].state = State::Down { until: Nanos::MAX };
        } else if !self.connect(server) {
            self.server_fails(server, ServerError::Down, false);
        }
    }

    /// Sends the next request on the second connection if it is open and idle, followed by one with an opaque token.
    pub(crate) fn next_alone(&mut self, server: usize) {
        let to = &mut self.servers[server];
        let is_free = matches!(to.state, State::Open(_)) && to.front().is_none();
        let next = to.alone.as_mut().filter(|_| is_free).and_then(VecDeque::pop_front);
        let Some((ask, line)) = next else { return };
        let mark = self.mark();
        let to = &mut self.servers[server];
        to.out.extend(&line);
        fanin_memcache::closing_question(mark, |bytes| to.out.extend(bytes));
        to.was_asked(Ask { at: self.now, ..ask }, mark.bytes());
        self.mark_server(server);
    }

    /// Fails requests that have waited for the second connection longer than the timeout.
    pub(crate) fn fail_expired_requests(&mut self, server: usize, timeout: Nanos) {
        let now = self.now;
        while let Some(alone) = &mut self.servers[server].alone
            && let Some((ask, _)) = alone.pop_front_if(|(ask, _)| ask.at + timeout <= now)
        {
            self.fails(&ask, ServerError::Timeout, false);
        }
    }

    /// Sends a request to every server of the client's pool, on the shared or the second connection.
    pub(crate) fn ask_every(
        &mut self,
        id: Id,
        kind: Kind,
        part: fn(usize) -> Part,
        shape: Shape,
        line: &[u8],
        alone: bool,
    ) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let pool = &self.pools[client.pool];
        let (first, count) = (pool.first, pool.servers);
        let number = client.expect(kind, count as u32, 1, (self.now, false));
        for server in first..first + count {
            let ask = Ask::new((id, number), part(server), shape, self.now);
            if alone {
                self.ask_alone(server + self.shared_servers, ask, line);
            } else {
                self.ask(server, ask, &[], &[line]);
            }
        }
    }

    /// Sends as many batches as the concurrency limit allows, while the client reads, and schedules a check for late ones.
    pub(crate) fn ask_batches(&mut self, get: Id) {
        self.ask_allowed_batches(get);
        self.schedule_late_check(get);
    }

    fn ask_allowed_batches(&mut self, get: Id) {
        while let Some(multiget) = self.gets.get_mut(get) {
            let (client, number) = (multiget.client, multiget.number);
            let Some(of_client) = self.clients.get_mut(client) else { return };
            if of_client.out.left() >= ENOUGH {
                return;
            }
            let Some(batch) = multiget.schedule.ask(span(multiget.since, self.now)) else { return };
            if multiget.schedule.has_asked_all() {
                of_client.unfinished_multiget = None;
            }
            let server = self.pools[of_client.pool].first + multiget.batches[batch as usize].server as usize;
            self.counters.batches.add(1);
            match self.servers[server].accepts(of_client.under_way(), of_client.unanswered()) {
                Ok(()) => {
                    self.servers[server].out.extend(multiget.request(batch));
                    let ask = Ask::new((client, number), Part::Batch { get, batch }, Shape::Values, self.now);
                    self.servers[server].was_asked(ask, &[]);
                    self.mark_server(server);
                }
                Err(trouble) => {
                    self.counters.failed(trouble);
                    multiget.schedule.lost(batch);
                    let misses = self.pools[of_client.pool].misses(trouble);
                    multiget.end(batch, false, (!misses).then_some(trouble.text()));
                    of_client.keys_end(number, multiget.keys_of(batch));
                    self.mark_client(client);
                }
            }
        }
    }
}
