//! Life of a request, from top to bottom: a client's bytes arrive, are parsed, routed and queued at a server; the server's response
//! arrives and is delivered; `writing` writes it to the client.
//!
//! Details are elsewhere: `refusal` has requests that no server gets, `moving` keys that move, `second` requests for the second
//! connections, `response` the validation of responses, and `delivery` their destinations.

use fanin_memcache::{Command, Every, Get, Keyed, LONGEST_KEY, Next, Request, Shape, Store, text};
use fanin_ring::Event;

use super::clients::{Client, ClientLoad, Kind};
use super::counting::class;
use super::key_migration::{Change, SentKey, changes};
use super::multigets::{Multiget, Origin};
use super::upstreams::ask::{Ask, Destination, Expected, Recipient};
use super::upstreams::room::{Waiter, WaitingGet};
use super::upstreams::shares::NOBODY;
use super::writing::ENOUGH;
use super::{Front, READ};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_migration::Location;
use fanin_proxy_net::Net;
use fanin_proxy_net::budget::{KEY, REQUEST, RESPONSE};
use fanin_proxy_observe::log::{Logged, Tap};
use fanin_proxy_observe::metrics::Class;
use fanin_proxy_routing::writes::Writes;

/// Header size of the binary protocol.
pub const BINARY_HEADER: usize = 24;

/// Reason why a client pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// It waits for responses, for input, for other clients, or not at all.
    Blocked,
    /// Memory is short.
    ForMemory,
}

/// Turn of a get that has waited for room at a server, maybe for too long.
#[derive(Clone, Copy, Debug)]
struct Turn {
    server: usize,
    has_waited_too_long: bool,
}

/// 1. Bytes of a client arrive.
impl<N: Net> Front<N> {
    pub(super) fn client_event(&mut self, id: Id, event: Event) {
        if event.writable {
            self.clients.mark(id);
        }
        if event.readable {
            self.clients.get_mut(id).into_iter().for_each(|client| client.input.becomes_readable(event.ended));
            self.resume_client(id);
            self.clients.mark(id);
        }
    }

    /// Reads and handles a client's requests until it has to wait.
    pub(super) fn resume_client(&mut self, id: Id) {
        match self.takes_all(id) {
            Waits::Blocked => {}
            Waits::ForMemory => self.limits.delay_client(id),
        }
    }

    fn takes_all(&mut self, id: Id) -> Waits {
        loop {
            let Some(client) = self.clients.get(id) else { return Waits::Blocked };
            if let Some(get) = client.unfinished_multiget() {
                self.ask_batches(get);
            }
            self.follow_settings(id);
            if self.is_departing(id) {
                return Waits::Blocked;
            }
            let Some(client) = self.clients.get_mut(id) else { return Waits::Blocked };
            if client.input.is_broken() || client.is_blocked() {
                return Waits::Blocked;
            }
            if self.limits.exceeds_share(client.tenant(), || client.holds()) || self.limits.is_spent(&self.net) {
                return Waits::ForMemory;
            }
            if client.input.has_more() {
                if !client.may_work(&mut self.net) {
                    return Waits::Blocked;
                }
                let before = client.input.unparsed();
                self.take_unparsed(id);
                let went_on = self.clients.get(id).is_some_and(|client| client.input.unparsed() < before);
                if went_on {
                    continue;
                }
            }
            let Some(client) = self.clients.get_mut(id) else { return Waits::Blocked };
            if client.is_blocked() {
                continue;
            }
            // All complete requests are handled.
            if client.input.has_no_input() {
                return Waits::Blocked;
            }
            self.read_once(id);
        }
    }

    /// Reads once from a client and handles its requests.
    fn read_once(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let mut bytes = std::mem::take(&mut self.scratch.bytes);
        let count = client.read(&mut self.net, &mut bytes[..READ], self.now);
        if count > 0 {
            let took = if client.input.unparsed() == 0 { self.take(id, &bytes[..count]) } else { 0 };
            if let Some(client) = self.clients.get_mut(id) {
                client.input.keep_unparsed(&bytes[took..count]);
            }
            self.identify(id);
            self.notes_progress(id, count, took > 0);
        }
        self.scratch.bytes = bytes;
    }

    /// Notes that bytes of a client have come, and whether a request has been taken.
    fn notes_progress(&mut self, id: Id, count: usize, taken: bool) {
        let Some(client) = self.clients.get_mut(id) else { return };
        client.input.progresses(count, taken, self.now);
        if client.input.unparsed() > 0 {
            self.clients.may_be_unfinished(self.now);
        }
    }

    /// Handles requests in the unparsed input.
    fn take_unparsed(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let mut rest = client.input.take_unparsed();
        let took = self.take(id, &rest);
        rest.take(took);
        if rest.is_empty() {
            // An idle client does not keep the buffer of a large value.
            self.multigets.spare().keep(std::mem::take(&mut rest).into_buffer());
        }
        if let Some(client) = self.clients.get_mut(id) {
            client.input.return_unparsed(rest);
        }
        self.notes_progress(id, 0, took > 0);
    }
}

/// 2. They are parsed.
impl<N: Net> Front<N> {
    /// Handles requests in order until one has to wait, and counts them for the tenant; returns the number of bytes consumed.
    fn take(&mut self, id: Id, bytes: &[u8]) -> usize {
        let before = self.counters.requests.get();
        let took = self.take_requests(id, bytes);
        let requests = self.counters.requests.get() - before;
        if requests > 0
            && let Some(client) = self.clients.get(id)
        {
            client.tenant().has_requested(requests);
        }
        took
    }

    fn take_requests(&mut self, id: Id, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(client) = self.clients.get_mut(id) {
            if client.input.is_closing() && !client.input.is_in_a_list() {
                return bytes.len();
            }
            at += client.input.discards(bytes.len() - at);
            let rest = &bytes[at..];
            if !client.input.suffices(rest.len()) || client.is_blocked() {
                return at;
            }
            if self.limits.exceeds_share(client.tenant(), || client.holds()) || self.limits.is_spent(&self.net) {
                return at;
            }
            if !client.may_work(&mut self.net) {
                return at;
            }
            client.works(&mut self.net, REQUEST);
            let pool = self.upstreams.pool(client.pool());
            let goes_on = client.input.is_in_a_list();
            let next = client.input.parse(rest, &pool.limits);
            if pool.makes_copies()
                && let Next::Request(request, _) = &next
                && self.waits_for_earlier(id, request)
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

    /// Handles a request with a value; returns the value's bytes consumed, if it is complete.
    fn take_store(&mut self, id: Id, store: &Store<'_>, line: usize, behind: &[u8]) -> Option<usize> {
        let follow = store.follow as usize;
        if store.too_large {
            self.refuse_value(id, &store.keyed);
            self.clients.get_mut(id).into_iter().for_each(|client| client.input.discard(store.follow.into()));
            return Some(0);
        }
        let value = behind.get(..follow);
        if let Some(client) = self.clients.get_mut(id) {
            client.input.needs(if value.is_some() { 0 } else { line + follow });
        }
        let value = value?;
        self.counters.requests.add(1);
        if value.ends_with(b"\r\n") {
            self.counters.stores.add(1);
            self.clients.get_mut(id).into_iter().for_each(|client| client.has_seen(1, value.len()));
            self.ask_keyed(id, &store.keyed, Destination::Relay { quiet: store.keyed.quiet }, Some(value));
        } else {
            self.refuse_chunk(id, &store.keyed);
        }
        Some(follow)
    }

    /// Handles a request without a value and without a list of keys.
    fn take_request(&mut self, id: Id, request: &Request<'_>) {
        self.counters.requests.add(1);
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        if let Some(refusal) = request.administers().filter(|_| !self.upstreams.pool(client.pool()).admin) {
            self.counters.errors_refused.add(1);
            return client.responses.say(refusal.as_bytes(), now);
        }
        match request {
            Request::Get(_) | Request::Store(_) => {}
            Request::Keyed(keyed) => self.ask_keyed(id, keyed, Destination::Relay { quiet: keyed.quiet }, None),
            Request::Every(every, silent) => {
                self.shared.writes.flushed();
                let mut line = Vec::new();
                every.line(|bytes| line.extend_from_slice(bytes));
                let kind = Kind::Every { well: "OK\r\n", silent: *silent };
                let copies = self.upstreams.pool(client.pool()).makes_copies();
                let to = match every {
                    Every::Flush(time) => {
                        Destination::Flush { again: copies && time.is_none_or(|seconds| seconds == 0) }
                    }
                    _ => Destination::Every,
                };
                self.ask_every(id, kind, |_| to, Shape::Done, &line, false);
            }
            Request::Stats(figures) => self.take_stats(id, figures),
            Request::Version => {
                let servers = self.upstreams.pool(client.pool()).servers();
                let in_use =
                    servers.iter().map(|server| *server as usize).find(|one| !self.upstreams.server(*one).is_out());
                let server = in_use.unwrap_or(servers[0] as usize);
                let ask = self.expect_one(id, false, Destination::Relay { quiet: false }, Shape::Version, Class::Other);
                self.ask(server, ask, &[], &[b"version\r\n"]);
            }
            Request::Barrier => client.responses.say(text::BARRIER.as_bytes(), now),
            Request::Quit => client.input.close_after_output(),
            Request::Refused(text, swallowed) => {
                client.input.discard((*swallowed).into());
                client.responses.say(text.as_bytes(), now);
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
            let logged = self.log.as_mut().and_then(Tap::begins);
            self.clients.get_mut(id).into_iter().for_each(|client| client.input.begin_logged(logged));
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
        let pool_number = client.pool();
        let (since, window) = self.upstreams.pool_mut(pool_number).begins(self.now);
        let recipient = Recipient { client: id, number: client.responses.next_number() };
        let origin = Origin { recipient, logged: client.input.logged(), begun: self.now, since };
        let most = client.keys_at_once();
        let chosen = self.choose_servers(pool_number, get, most);
        let pool = self.upstreams.pool(pool_number);
        let built = self.multigets.build(get, most, origin, window, pool, chosen);
        // If one key is too long, the whole list is refused.
        let Some((multiget, rest)) = built.filter(|(_, rest)| goes_on || !rest.is_some_and(|rest| rest.is_refused()))
        else {
            self.refuse(id);
            return line.len();
        };
        let (keys, tables) = (multiget.keys(), multiget.tables());
        self.count_multiget(pool_number, &multiget);
        let multiget = self.multigets.add(multiget);
        let Some(client) = self.clients.get_mut(id) else { return line.len() };
        client.expect_multiget(multiget, keys, tables, self.now);
        client.works(&mut self.net, KEY * keys as u64);
        self.counters.requests_active.add(1);
        let took = rest.map_or(line.len(), |rest| client.input.leave(&rest, line));
        self.ask_hubs(pool_number, multiget);
        self.ask_batches(multiget);
        took
    }

    /// Logs a key that is requested alone, if its query is in the sample. Its size is not known yet.
    fn log_one(&mut self, id: Id, key: &[u8]) {
        if let Some(tap) = &mut self.log
            && let Some(client) = self.clients.get(id)
            && let Some(query) = client.input.logged()
        {
            let server = self.upstreams.pool(client.pool()).router.server(key);
            tap.asked(self.now, query, self.now, Logged { key, size: None, server });
            self.counters.log_keys.add(1);
        }
    }
}

/// 3. They are routed and queued at servers.
impl<N: Net> Front<N> {
    /// Requests a key's value.
    fn ask_for(&mut self, id: Id, get: &Get<'_>, key: &[u8]) {
        let Some(number) = self.clients.get(id).map(|client| client.pool()) else { return };
        self.count_key(number, key);
        if self.upstreams.pool(number).has_replicas() && self.get_replicated(id, get, key) {
            return;
        }
        let place = self.upstreams.pool(number).place(key);
        if let Location::Moving(key_move) = place
            && self.get_moving_key(id, get, key, key_move)
        {
            return;
        }
        let pool = self.upstreams.pool(number);
        let (server, joins) = (pool.server(place.authority()), pool.joins);
        let ask = self.expect_one(id, false, Destination::Relay { quiet: false }, Shape::Values, Class::Get);
        let mut line = std::mem::take(&mut self.scratch.line);
        line.clear();
        get.head(|bytes| line.extend_from_slice(bytes));
        [b" ", key, b"\r\n"].iter().for_each(|bytes| line.extend_from_slice(bytes));
        let whose = (id, ask.number);
        let joined = joins.then(|| self.coalescing.join(number, line.clone(), key, &self.shared.writes, whose));
        let to = match joined {
            // An equal get is outstanding.
            Some(None) => None,
            Some(Some(get)) => Some(Destination::Joined(get)),
            None => Some(ask.to),
        };
        match to {
            None => self.counters.get_joined.add(1),
            Some(to) => {
                let ask = self.may_ask_again(Ask { to, ..ask }, number, key, key, &line);
                self.ask(server, ask, key, &[&line]);
            }
        }
        self.scratch.line = line;
    }

    /// Sends a command for one key, with or without a value.
    pub(super) fn ask_keyed(&mut self, id: Id, keyed: &Keyed<'_>, to: Destination, value: Option<&[u8]>) {
        let Some(number) = self.clients.get(id).map(|client| client.pool()) else { return };
        let mut room = [0; LONGEST_KEY];
        let key = keyed.stored(&mut room);
        self.count_key(number, key);
        let pool = self.upstreams.pool(number);
        let place = pool.place(key);
        let server = pool.server(place.authority());
        // From now on no get joins an earlier one.
        let writes = pool.joins.then(|| Writes::group(key));
        writes.into_iter().for_each(|group| self.shared.writes.wrote(group));
        let key_move = pool.key_move_of(place, changes(keyed)).filter(|_| keyed.shape() != Shape::Alone);
        let fails_over = pool.fails_over() && changes(keyed);
        let class = class(keyed, value);
        self.counters.meta_gets.add(u64::from(class == Class::Get));
        let held = fails_over || key_move.is_some_and(|key_move| !key_move.stage.is_turned());
        let ask = Ask { writes, changes: fails_over, ..self.expect_one(id, held, to, keyed.shape(), class) };
        let mark = self.upstreams.random_mark();
        let (mut line, mut note) = (std::mem::take(&mut self.scratch.line), std::mem::take(&mut self.scratch.note));
        line.clear();
        note.clear();
        keyed.line(value.map(|value| value.len() as u32), mark, |bytes| line.extend_from_slice(bytes));
        keyed.note(mark, |bytes| note.extend_from_slice(bytes));
        if ask.shape == Shape::Alone {
            self.ask_alone(server, ask, &line);
        } else if fails_over || key_move.is_some() {
            let bytes = [&line, value.unwrap_or_default()].concat();
            let silent = keyed.quiet && !matches!(keyed.command, Command::Meta(..));
            let change = Change { ask, note: note.clone(), bytes, stores: value.is_some(), silent };
            let sent = SentKey { bytes: keyed.key, base64: keyed.base64() };
            match key_move {
                Some(key_move) => self.change_moving_key(number, sent, key_move, change, changes(keyed)),
                None => self.change_with_failover(number, key, sent, change),
            }
        } else {
            let ask = if class == Class::Get { self.may_ask_again(ask, number, key, &note, &line) } else { ask };
            self.ask(server, ask, &note, &[&line, value.unwrap_or_default()]);
        }
        (self.scratch.line, self.scratch.note) = (line, note);
    }

    /// Adds a pending response from one server; if it is `held`, it ends when other servers have deleted their copies.
    pub(super) fn expect_one(&mut self, id: Id, held: bool, to: Destination, shape: Shape, class: Class) -> Ask {
        let (kind, left) = if held { (Kind::Held, 2) } else { (Kind::Relay, 1) };
        let number = self.clients.get_mut(id).map_or(0, |client| {
            self.counters.requests_active.add(1);
            client.responses.expect(kind, left, 1, self.now, class)
        });
        Ask::new(Recipient { client: id, number }, to, shape, self.now)
    }

    /// Sends a request, a get when there is room for its response; it fails if the server does not accept it.
    pub(super) fn ask(&mut self, server: usize, ask: Ask, note: &[u8], bytes: &[&[u8]]) {
        let client = self.clients.get_mut(ask.client);
        let tenant = client.as_ref().map_or(NOBODY, |client| client.tenant().number);
        let expects = match &client {
            _ if !ask.reads() => Expected::default(),
            Some(client) => client.expects(1),
            None => Expected { values: 1, bytes: 0 },
        };
        let ask = Ask { expects, tenant, ..ask };
        let to = self.upstreams.server_mut(server);
        if ask.reads() && to.must_wait(expects, false) {
            client.into_iter().for_each(Client::get_waits);
            let get = WaitingGet::new(ask, note, bytes);
            return to.wait(self.now, expects, Waiter::Get(Box::new(get)));
        }
        self.send(server, ask, note, bytes);
    }

    /// Sends a request, whether there is room for its response or not.
    fn send(&mut self, server: usize, ask: Ask, note: &[u8], bytes: &[&[u8]]) {
        let client = self.clients.get_mut(ask.client);
        let load = client.as_ref().map_or(ClientLoad::default(), |client| client.responses.load());
        match self.upstreams.queue(server, load, ask, note, bytes) {
            Ok(()) => {
                if let Some(client) = client {
                    client.responses.asks(ask.number, bytes.iter().map(|bytes| bytes.len()).sum());
                }
            }
            Err(trouble) => {
                self.count_refusal(server, trouble);
                self.fails(server, &ask, trouble, false);
            }
        }
    }

    /// Sends as many batches as the concurrency limit allows, while the client reads and servers have room, and schedules a check for late
    /// ones.
    pub(super) fn ask_batches(&mut self, get: Id) {
        self.ask_next_batches(get, None);
    }

    /// The same; at one server, it is its turn.
    fn ask_next_batches(&mut self, get: Id, turn: Option<Turn>) {
        while let Some(room) = self.room_for_batch(get, turn) {
            let Some(recipient) = self.recipient(get) else { return };
            let (Some(multiget), Some(client)) = (self.multigets.get_mut(get), self.clients.get_mut(recipient.client))
            else {
                return;
            };
            let pool = client.pool();
            let next = multiget.next_batch(self.now);
            if multiget.has_asked_all() {
                client.has_asked_all();
            }
            let Some(batch) = next else { break };
            self.counters.batches.add(1);
            let from = self.upstreams.pool(pool);
            if let Some(figures) = &from.figures().multigets {
                figures.waits.add(self.now.saturating_sub(multiget.begun()));
            }
            let server = from.server(multiget.server_of(batch));
            let mut ask = Ask::new(recipient, Destination::Batch { get, batch }, Shape::Values, self.now);
            (ask.expects, ask.tenant) = (client.expects(multiget.keys_of(batch)), client.tenant().number);
            let queued = match room {
                true => self.upstreams.queue(server, client.responses.load(), ask, &[], &[multiget.request(batch)]),
                false => Err(ServerError::Busy),
            };
            if let Err(trouble) = queued {
                self.batch_is_refused(get, batch, server, trouble);
            }
        }
        self.watch_multiget(get);
    }

    /// The pending response of a multiget.
    fn recipient(&self, get: Id) -> Option<Recipient> {
        self.multigets.get(get).map(|multiget| Recipient { client: multiget.client, number: multiget.number })
    }

    /// Whether the next batch of a multiget finds room at its server; none if it has to wait, for that or for its client. It does not wait
    /// for longer than the timeout.
    fn room_for_batch(&mut self, get: Id, turn: Option<Turn>) -> Option<bool> {
        let multiget = self.multigets.get_mut(get)?;
        let client = self.clients.get(multiget.client).filter(|client| client.responses.unsent() < ENOUGH)?;
        let Some((server, keys)) = multiget.next_server() else { return Some(true) };
        let server = self.upstreams.pool(client.pool()).server(server);
        let (to, expects) = (self.upstreams.server_mut(server), client.expects(keys));
        let turn = turn.filter(|turn| turn.server == server);
        if !to.must_wait(expects, turn.is_some()) {
            return Some(true);
        }
        if turn.is_some_and(|turn| turn.has_waited_too_long) {
            return Some(false);
        }
        if multiget.enters_list() {
            to.wait(self.now, expects, Waiter::Batch(get));
        }
        None
    }

    /// A server does not accept a batch.
    fn batch_is_refused(&mut self, get: Id, batch: u32, server: usize, trouble: ServerError) {
        self.counters.failed(trouble);
        self.count_refusal(server, trouble);
        if self.read_batch_elsewhere(get, batch) {
            return;
        }
        let Some(Recipient { client: id, number }) = self.recipient(get) else { return };
        let (Some(multiget), Some(client)) = (self.multigets.get_mut(get), self.clients.get_mut(id)) else { return };
        let misses = self.upstreams.pool(client.pool()).misses(trouble);
        self.counters.get_misses.add(if misses { multiget.keys_of(batch) as u64 } else { 0 });
        multiget.lost(batch, self.now, (!misses).then_some(trouble.text()));
        client.responses.keys_end(number, multiget.keys_of(batch));
        self.clients.mark(id);
    }

    /// Sends gets that have waited for room at a server, and fails those that have waited for too long.
    pub(super) fn ask_waiting(&mut self, server: usize) {
        while let Some((waiter, has_waited_too_long)) = self.upstreams.server_mut(server).next_waiting(self.now) {
            match waiter {
                Waiter::Batch(get) => {
                    self.multigets.get_mut(get).into_iter().for_each(Multiget::leaves_list);
                    self.ask_next_batches(get, Some(Turn { server, has_waited_too_long }));
                }
                Waiter::Get(get) => {
                    let (ask, (note, request)) = (get.ask, get.text());
                    self.clients.get_mut(ask.client).into_iter().for_each(Client::get_is_sent);
                    self.clients.mark(ask.client);
                    if has_waited_too_long {
                        self.count_refusal(server, ServerError::Busy);
                        self.fails(server, &ask, ServerError::Busy, false);
                    } else {
                        self.send(server, Ask { at: self.now, ..ask }, note, &[request]);
                    }
                }
            }
        }
    }
}

/// 4. A server's response arrives and is delivered.
impl<N: Net> Front<N> {
    pub(super) fn server_event(&mut self, server: usize, event: Event) {
        let mut opened = false;
        if self.upstreams.server(server).is_opening() {
            match self.upstreams.server_mut(server).opens(&mut self.net) {
                Ok(opens) if !event.failed => opened = opens,
                _ => return self.server_fails(server, ServerError::Down, false),
            }
            self.counters.server_connects.add(u64::from(opened && self.upstreams.is_shared(server)));
        }
        if opened && self.wants_answer(server) {
            self.upstreams.probe(server, self.now);
        }
        if event.writable || opened {
            self.upstreams.send_next_single(server, self.now);
            self.upstreams.mark(server);
        }
        if event.readable && event.ended {
            self.upstreams.server_mut(server).ends();
        }
        if event.readable || opened {
            self.read_server(server);
        }
    }

    /// Reads from a server while there is memory. After the peer has closed, reads everything, since no further event comes.
    pub(super) fn read_server(&mut self, server: usize) {
        loop {
            if self.limits.is_spent(&self.net) {
                if self.upstreams.server_mut(server).pause(self.now) {
                    self.limits.delay_server(server);
                }
                return;
            }
            let from = self.upstreams.server_mut(server);
            let mut bytes = std::mem::take(&mut self.scratch.bytes);
            let there = from.unparsed();
            if bytes.len() < there + READ / 4 {
                bytes.resize(there + READ, 0);
            }
            let result = from.read(&mut self.net, &mut bytes[there..], self.now);
            let read = result.map(|result| self.handle_read(server, result, there, &mut bytes));
            self.scratch.bytes = bytes;
            match read {
                None | Some(Ok(false)) => return,
                Some(Ok(true)) => {}
                Some(Err((trouble, closes))) => return self.server_fails(server, trouble, closes),
            }
        }
    }

    /// Ends a response of the first outstanding request.
    pub(super) fn response_ends(&mut self, server: usize, ask: Ask) {
        let from = self.upstreams.server_mut(server);
        from.pop();
        from.works(&mut self.net, RESPONSE);
        let is_out = from.is_out();
        if from.is_well() {
            self.report_state(server, None);
        }
        if is_out {
            self.answers_again(server);
        }
        self.has_written(&ask);
        self.count_response(server, &ask);
        self.deliver_end(server, &ask);
        self.ask_waiting(server);
        if self.upstreams.server_mut(server).is_no_longer_busy() {
            self.report_busy(server, false);
        }
    }
}
