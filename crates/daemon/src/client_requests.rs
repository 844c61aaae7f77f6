//! Clients' requests: parsing and dispatch.

use std::io;

use fanin_memcache::{Get, LONGEST_KEY, Next, Request, Shape, Store, text};

use crate::client::Kind;
use crate::front::{Front, READ};
use crate::log::{Logged, Tap};
use crate::multiget::Multiget;
use crate::net::Net;
use crate::server::Part;
use crate::table::Id;

/// Body of the error response to a client that uses the binary protocol.
const NOT_BINARY: &[u8] = b"only the text protocol is supported; disable the binary protocol in the client";
/// Header size of the binary protocol.
const BINARY_HEADER: usize = 24;

/// Reason why a client pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// It waits for responses, for input, or not at all.
    Blocked,
    /// Other clients are next.
    ForOthers,
    /// Memory is short.
    ForMemory,
}

impl<N: Net> Front<N> {
    /// Reads and handles a client's requests until it has to wait.
    pub(crate) fn resume_client(&mut self, id: Id) {
        match self.takes_all(id) {
            Waits::Blocked => {}
            Waits::ForOthers => self.look_again(id),
            Waits::ForMemory => self.short.push(id),
        }
    }

    fn takes_all(&mut self, id: Id) -> Waits {
        loop {
            let Some(client) = self.clients.get_mut(id) else { return Waits::Blocked };
            if let Some(get) = client.unfinished_multiget {
                self.ask_batches(get);
            }
            let Some(client) = self.clients.get(id) else { return Waits::Blocked };
            if client.broken || client.is_blocked() {
                return Waits::Blocked;
            }
            if client.holds() > self.held.share || self.is_spent() {
                return Waits::ForMemory;
            }
            let Some(client) = self.clients.get_mut(id) else { return Waits::Blocked };
            if client.has_more() {
                if !client.budget.of(self.number).is_left() {
                    return Waits::ForOthers;
                }
                let before = client.rest.len();
                self.take_rest(id);
                let went_on = self.clients.get(id).is_some_and(|client| client.rest.len() < before);
                if went_on {
                    continue;
                }
            }
            let Some(client) = self.clients.get_mut(id) else { return Waits::Blocked };
            if client.is_blocked() {
                continue;
            }
            if client.closing || !client.readable {
                // All complete requests are handled, and there will be no more input.
                client.closing |= client.ended;
                return Waits::Blocked;
            }
            if !client.budget.of(self.number).reads() {
                return Waits::ForOthers;
            }
            self.read_once(id);
        }
    }

    /// Reads once from a client and handles its requests.
    fn read_once(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let mut bytes = std::mem::take(&mut self.scratch);
        let result = self.net.read(&mut client.socket, &mut bytes[..READ]);
        match result {
            Ok(0) => (client.readable, client.ended) = (false, true),
            Ok(count) => {
                client.active = self.now;
                client.readable = count == READ || client.ending;
                if client.rest.is_empty() {
                    let took = self.take(id, &bytes[..count]);
                    if let Some(client) = self.clients.get_mut(id) {
                        client.rest.put(&bytes[took..count]);
                    }
                } else {
                    client.rest.put(&bytes[..count]);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => client.readable = false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => (client.readable, client.broken) = (false, true),
        }
        self.scratch = bytes;
    }

    /// Handles requests in the unparsed input.
    fn take_rest(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let mut rest = std::mem::take(&mut client.rest);
        let took = self.take(id, &rest);
        rest.take(took);
        if rest.is_empty() {
            // An idle client does not keep the buffer of a large value.
            self.spare.keep(std::mem::take(&mut rest).into_buffer());
        }
        if let Some(client) = self.clients.get_mut(id) {
            client.rest = rest;
        }
    }

    /// Handles requests in order until one has to wait; returns the number of bytes consumed.
    fn take(&mut self, id: Id, bytes: &[u8]) -> usize {
        let (turn, share) = (self.number, self.held.share);
        let mut at = 0;
        while let Some(client) = self.clients.get_mut(id) {
            if client.closing && !client.lines.is_in_a_list() {
                return bytes.len();
            }
            if client.swallow > 0 {
                let some = (bytes.len() - at).min(client.swallow as usize);
                (client.swallow, at) = (client.swallow - some as u64, at + some);
            }
            let rest = &bytes[at..];
            if rest.is_empty() || rest.len() < client.need || client.is_blocked() {
                return at;
            }
            if share < usize::MAX && client.holds() > share || !client.budget.of(turn).takes() {
                return at;
            }
            if self.is_spent() {
                return at;
            }
            let Some(client) = self.clients.get_mut(id) else { return at };
            let limits = self.pools[client.pool].limits;
            let goes_on = client.lines.is_in_a_list();
            let is_planned = self.pools[client.pool].plan_state.is_some();
            let next = client.lines.next(rest, &limits);
            if is_planned
                && let Next::Request(request, _) = &next
                && self.waits_alone(id, request)
            {
                return at;
            }
            match next {
                Next::More => return at,
                Next::Request(Request::Store(store), line) => match self.take_store(id, &store, line, &rest[line..]) {
                    Some(value) => at += line + value,
                    None => return at,
                },
                Next::Request(Request::Get(get), line) => at += self.take_get(id, &get, &rest[..line], goes_on),
                Next::Request(request, line) => {
                    self.take_request(id, &request);
                    at += line;
                }
                Next::Binary if rest.len() < BINARY_HEADER => return at,
                Next::Binary => return self.refuse_binary(id, rest).map_or(at, |()| bytes.len()),
                Next::Endless => self.ends_with(id, b""),
                Next::TooManyKeys => self.ends_with(id, text::LINE_TOO_LONG.as_bytes()),
            }
        }
        bytes.len()
    }

    /// Ends a client after input that cannot be continued.
    fn ends_with(&mut self, id: Id, told: &[u8]) {
        let Some(client) = self.clients.get_mut(id) else { return };
        if !told.is_empty() {
            client.say(told, self.now);
        }
        client.closing = true;
    }

    /// Handles a request with a value; returns the value's bytes consumed, if it is complete.
    fn take_store(&mut self, id: Id, store: &Store<'_>, line: usize, behind: &[u8]) -> Option<usize> {
        let follow = store.follow as usize;
        if store.too_large {
            self.refuse_value(id, &store.keyed);
            if let Some(client) = self.clients.get_mut(id) {
                client.swallow = u64::from(store.follow);
            }
            return Some(0);
        }
        let value = behind.get(..follow);
        if let Some(client) = self.clients.get_mut(id) {
            client.need = if value.is_some() { 0 } else { line + follow };
        }
        let value = value?;
        self.store(id, store, value);
        Some(follow)
    }

    /// Handles a request without a value and without a list of keys.
    fn take_request(&mut self, id: Id, request: &Request<'_>) {
        self.counters.requests.add(1);
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        if let Some(refusal) = request.administers().filter(|_| !self.pools[client.pool].admin) {
            self.counters.errors_refused.add(1);
            return client.say(refusal.as_bytes(), now);
        }
        match request {
            Request::Get(_) | Request::Store(_) => {}
            Request::Keyed(keyed) => {
                self.ask_keyed(id, keyed, Part::Relay { quiet: keyed.quiet }, None);
            }
            Request::Every(every, silent) => {
                self.shared.writes.flushed();
                let mut line = Vec::new();
                every.line(|bytes| line.extend_from_slice(bytes));
                let kind = Kind::Every { well: "OK\r\n", silent: *silent };
                self.ask_every(id, kind, |_| Part::Every, Shape::Done, &line, false);
            }
            Request::Stats(figures) => self.take_stats(id, figures),
            Request::Version => {
                let server = self.pools[client.pool].first;
                let ask = self.expect_one(id, Part::Relay { quiet: false }, Shape::Version);
                self.ask(server, ask, &[], &[b"version\r\n"]);
            }
            Request::Barrier => client.say(text::BARRIER.as_bytes(), now),
            Request::Quit => client.closing = true,
            Request::Refused(text, swallowed) => {
                client.swallow = u64::from(*swallowed);
                client.say(text.as_bytes(), now);
                self.counters.errors_refused.add(1);
            }
        }
    }

    /// Handles a list of keys or the rest of one; returns the bytes of the line consumed.
    fn take_get(&mut self, id: Id, get: &Get<'_>, line: &[u8], goes_on: bool) -> usize {
        let mut keys = get.keys();
        let (Some(first), more) = (keys.next(), keys.next().is_some()) else { return line.len() };
        if !goes_on {
            self.counters.requests.add(1);
            let logged = self.tap.as_mut().and_then(Tap::begins);
            self.clients.get_mut(id).into_iter().for_each(|client| client.logged = logged);
        }
        if more || goes_on {
            return self.take_many(id, get, line, goes_on);
        }
        self.counters.get_keys.add(1);
        if first.len() > LONGEST_KEY {
            self.refuse(id);
        } else {
            self.log_one(id, first);
            self.ask_for(id, get, first);
        }
        line.len()
    }

    /// Sends as many keys as the client may request at once, batched by server; the rest of the line follows when these are answered.
    fn take_many(&mut self, id: Id, get: &Get<'_>, line: &[u8], goes_on: bool) -> usize {
        let Some(client) = self.clients.get_mut(id) else { return line.len() };
        let pool = &mut self.pools[client.pool];
        let number = client.next_number();
        let begins = pool.begins(self.now);
        let made = Multiget::new(get, client.keys_at_once(), (id, number), begins, pool, &mut self.spare).map(
            |(mut multiget, rest)| {
                multiget.logged = client.logged;
                (multiget, rest)
            },
        );
        // If one key is too long, the whole list is refused.
        let Some((multiget, rest)) = made.filter(|(_, rest)| goes_on || !rest.is_some_and(|rest| rest.is_refused()))
        else {
            self.refuse(id);
            return line.len();
        };
        let (keys, tables) = (multiget.keys(), multiget.tables());
        self.counters.get_keys.add(keys as u64);
        self.counters.multigets[(keys.ilog2() as usize).min(15)].add(1);
        let multiget = self.gets.insert(multiget);
        client.expect(Kind::Multiget(multiget), 1, keys, (self.now, true));
        client.tables += tables;
        client.unfinished_multiget = Some(multiget);
        let took = rest.map_or(line.len(), |rest| client.lines.leave(&rest, line));
        self.ask_batches(multiget);
        took
    }

    /// Logs a key that is requested alone, if its query is in the sample. Its size is not known yet.
    fn log_one(&mut self, id: Id, key: &[u8]) {
        if let Some(tap) = &mut self.tap
            && let Some(client) = self.clients.get(id)
            && let Some(query) = client.logged
        {
            let server = self.pools[client.pool].router.server(key);
            tap.asked(self.now, query, self.now, Logged { key, size: None, server });
            self.counters.log_keys.add(1);
        }
    }

    fn refuse(&mut self, id: Id) {
        self.counters.errors_refused.add(1);
        if let Some(client) = self.clients.get_mut(id) {
            client.say(text::BAD_FORMAT.as_bytes(), self.now);
        }
    }

    /// Sends an error in the binary protocol.
    fn refuse_binary(&mut self, id: Id, header: &[u8]) -> Option<()> {
        let client = self.clients.get_mut(id)?;
        let mut answer = [0; BINARY_HEADER];
        // Magic, the client's opcode, "not supported", body length, the client's opaque.
        (answer[0], answer[1], answer[7], answer[11]) = (0x81, *header.get(1)?, 0x83, NOT_BINARY.len() as u8);
        answer[12..16].copy_from_slice(header.get(12..16)?);
        client.say(&[&answer, NOT_BINARY].concat(), self.now);
        client.closing = true;
        self.counters.errors_refused.add(1);
        Some(())
    }
}
