//! Life of a request, from top to bottom: a client's bytes arrive, are parsed, and each request is routed and queued at a server (`asks`). The
//! server's response arrives (`servers`) and is delivered (`responses`); `writing` writes it to the client.

use fanin_memcache::{Command, Every, Figures, Get, Keyed, LONGEST_KEY, Request, Shape, Store, text};
use fanin_ring::Event;

use crate::Front;
use crate::clients::{Kind, NextStep, Parsed, Sent};
use crate::context::READ;
use crate::migrations::{
    Change, MovingGet, Owner, SentKey, Whose, any_replica_answers, change_moving_key, changes, get_as_change, look_up,
    moving_get,
};
use crate::multigets::Origin;
use crate::upstreams::ask::{Ask, Destination, Recipient};
use fanin_proxy_core::memory::table::Id;
use fanin_proxy_migration::{KeyMove, Location};
use fanin_proxy_net::Net;
use fanin_proxy_net::budget::KEY;
use fanin_proxy_observe::metrics::{Class, stats_text};
use fanin_proxy_routing::writes::Writes;

/// 1. Bytes of a client arrive.
impl<N: Net> Front<N> {
    pub(crate) fn client_event(&mut self, id: Id, event: Event) {
        if self.clients.event(id, &event) {
            self.resume_client(id);
            self.clients.mark(id);
        }
    }

    /// Reads and handles a client's requests until it has to wait.
    pub(crate) fn resume_client(&mut self, id: Id) {
        loop {
            let Some(client) = self.clients.get(id) else { return };
            if let Some(get) = client.unfinished_multiget() {
                self.ask_batches(get);
            }
            self.follow_settings(id);
            if self.is_departing(id) {
                return;
            }
            let Some(client) = self.clients.get_mut(id) else { return };
            let mut step = client.next_step(&self.limits, &mut self.context);
            if step == NextStep::Parses {
                if self.take_unparsed(id) {
                    continue;
                }
                let Some(client) = self.clients.get_mut(id) else { return };
                if client.is_blocked() {
                    continue;
                }
                // All complete requests are handled.
                step = client.reads_next();
            }
            match step {
                NextStep::Waits => return,
                NextStep::WaitsForMemory => return self.limits.delay_client(id),
                NextStep::Parses | NextStep::Reads => self.read_once(id),
            }
        }
    }

    /// Reads once from a client and handles its requests.
    fn read_once(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let mut bytes = std::mem::take(&mut self.scratch.bytes);
        let count = client.read(&mut self.context.net, &mut bytes[..READ], self.context.now);
        if count > 0 {
            let took = if client.input.unparsed() == 0 { self.take(id, &bytes[..count]) } else { 0 };
            if let Some(client) = self.clients.get_mut(id) {
                client.input.keep_unparsed(&bytes[took..count]);
            }
            self.clients.identify(id, &mut self.context);
            self.clients.progresses(id, count, took > 0, self.context.now);
        }
        self.scratch.bytes = bytes;
    }

    /// Handles requests in the unparsed input; returns whether there were any.
    fn take_unparsed(&mut self, id: Id) -> bool {
        let Some(client) = self.clients.get_mut(id) else { return false };
        let before = client.input.unparsed();
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
        self.clients.progresses(id, 0, took > 0, self.context.now);
        self.clients.get(id).is_some_and(|client| client.input.unparsed() < before)
    }
}

/// 2. They are parsed.
impl<N: Net> Front<N> {
    /// Handles requests in order until one has to wait, and counts them for the tenant; returns the number of bytes consumed.
    fn take(&mut self, id: Id, bytes: &[u8]) -> usize {
        let before = self.context.counters.requests.get();
        let took = self.take_requests(id, bytes);
        let requests = self.context.counters.requests.get() - before;
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
            let pool = self.upstreams.pool(client.pool());
            match client.next_request(bytes, &mut at, pool, &self.limits, &mut self.context) {
                Parsed::Waits => return at,
                Parsed::Over => return bytes.len(),
                Parsed::Request { request: Request::Store(store), line, .. } => {
                    match self.take_store(id, &store, line, &bytes[at + line..]) {
                        Some(value) => at += line + value,
                        None => return at,
                    }
                }
                Parsed::Request { request: Request::Get(get), line, goes_on } => {
                    at += self.take_get(id, &get, &bytes[at..at + line], goes_on);
                }
                Parsed::Request { request, line, .. } => {
                    self.take_request(id, &request);
                    at += line;
                }
                Parsed::Binary => {
                    return client.refuse_binary(&bytes[at..], &self.context).map_or(at, |()| bytes.len());
                }
                Parsed::Broken(error) => client.ends_with(error, self.context.now),
            }
        }
        bytes.len()
    }

    /// Handles a request with a value; returns the value's bytes consumed, if it is complete.
    fn take_store(&mut self, id: Id, store: &Store<'_>, line: usize, behind: &[u8]) -> Option<usize> {
        let client = self.clients.get_mut(id)?;
        match client.take_value(store, line, behind) {
            Sent::Waits => return None,
            Sent::TooLarge => {
                if let Some((keyed, to)) = client.refuse_value(&store.keyed, &self.context) {
                    self.ask_keyed(id, &keyed, to, None);
                }
                return Some(0);
            }
            Sent::Value(value) => {
                self.context.counters.requests.add(1);
                self.context.counters.stores.add(1);
                self.ask_keyed(id, &store.keyed, Destination::Relay { quiet: store.keyed.quiet }, Some(value));
            }
            Sent::Invalid => {
                self.context.counters.requests.add(1);
                client.refuse_chunk(&store.keyed, &self.context);
            }
        }
        Some(store.follow as usize)
    }

    /// Handles a request without a value and without a list of keys.
    fn take_request(&mut self, id: Id, request: &Request<'_>) {
        self.context.counters.requests.add(1);
        let now = self.context.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        let pool = client.pool();
        if let Some(refusal) = request.administers().filter(|_| !self.upstreams.pool(pool).admin) {
            return client.refuse(refusal, &self.context);
        }
        match request {
            Request::Get(_) | Request::Store(_) => {}
            Request::Keyed(keyed) => self.ask_keyed(id, keyed, Destination::Relay { quiet: keyed.quiet }, None),
            Request::Every(every, silent) => {
                self.context.writes().flushed();
                let mut line = Vec::new();
                every.line(|bytes| line.extend_from_slice(bytes));
                let kind = Kind::Every { well: "OK\r\n", silent: *silent };
                let copies = self.upstreams.pool(pool).makes_copies();
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
                let server = self.upstreams.one_in_use(pool);
                let to = Destination::Relay { quiet: false };
                let ask = client.expect_one(id, false, to, Shape::Version, Class::Other, &self.context);
                self.ask(server, ask, &[], &[b"version\r\n"]);
            }
            Request::Barrier => client.responses.say(text::BARRIER.as_bytes(), now),
            Request::Quit => client.input.close_after_output(),
            Request::Refused(text, swallowed) => {
                client.input.discard((*swallowed).into());
                client.refuse(text, &self.context);
            }
        }
    }

    /// Handles `stats`. Lists of stored bytes, and rare requests, use the second connections.
    fn take_stats(&mut self, id: Id, figures: &Figures) {
        let mut line = Vec::new();
        figures.line(|bytes| line.extend_from_slice(bytes));
        let told = match figures {
            Figures::Own => stats_text(self.figures()),
            Figures::Reset => {
                self.context.shared.reset();
                text::RESET.to_owned()
            }
            Figures::General => {
                return self.ask_every(id, Kind::Listing, Destination::Listing, Shape::Listing, &line, false);
            }
            Figures::List(_) | Figures::Dump(..) => {
                return self.ask_every(id, Kind::Listing, Destination::Listing, Shape::Listing, &line, true);
            }
            Figures::Command(_, well) => {
                let kind = Kind::Every { well, silent: false };
                return self.ask_every(id, kind, |_| Destination::Every, Shape::Alone, &line, true);
            }
        };
        let now = self.context.now;
        self.clients.get_mut(id).into_iter().for_each(|client| client.responses.say(told.as_bytes(), now));
    }

    /// Sends a request to every server of the client's pool, on the shared or the second connection.
    fn ask_every(
        &mut self,
        id: Id,
        kind: Kind,
        to: impl Fn(usize) -> Destination,
        shape: Shape,
        line: &[u8],
        alone: bool,
    ) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let (pool, now) = (client.pool(), self.context.now);
        let servers = self.upstreams.pool(pool).servers().len() as u32;
        let number = client.responses.expect(kind, servers, 1, now, Class::Other);
        self.context.counters.requests_active.add(1);
        let recipient = Recipient { client: id, number };
        for (server, ask) in self.upstreams.asks_of_every(pool, recipient, to, shape, &self.context) {
            if alone {
                self.ask_alone(server, ask, line);
            } else {
                self.ask(server, ask, &[], &[line]);
            }
        }
    }

    /// Handles a list of keys or the rest of one; returns the bytes of the line consumed.
    fn take_get(&mut self, id: Id, get: &Get<'_>, line: &[u8], goes_on: bool) -> usize {
        let mut keys = get.keys();
        let (Some(first), more) = (keys.next(), keys.next().is_some()) else { return line.len() };
        let Some(client) = self.clients.get_mut(id) else { return line.len() };
        if !goes_on {
            self.context.counters.requests.add(1);
            client.input.begin_logged(self.observation.begin_query());
        }
        if more || goes_on {
            return self.take_many(id, get, line, goes_on);
        }
        self.context.counters.get_keys.add(1);
        if first.len() > LONGEST_KEY {
            client.refuse(text::BAD_FORMAT, &self.context);
        } else {
            let pool = self.upstreams.pool(client.pool());
            self.observation.log_key(client.input.logged(), first, pool, &self.context);
            self.observation.key(pool, first, &self.context);
            self.ask_for(id, get, first);
        }
        line.len()
    }

    /// Sends as many keys as the client may request at once, batched by server; the rest of the line follows when these are answered.
    fn take_many(&mut self, id: Id, get: &Get<'_>, line: &[u8], goes_on: bool) -> usize {
        let Some(client) = self.clients.get_mut(id) else { return line.len() };
        let (number, now) = (client.pool(), self.context.now);
        let (since, window) = self.upstreams.pool_mut(number).begins(now);
        let recipient = Recipient { client: id, number: client.responses.next_number() };
        let origin = Origin { recipient, logged: client.input.logged(), begun: now, since };
        if !client.has_values() {
            client.assumes(self.upstreams.mean_value(number, client.tenant().number));
        }
        let most = client.keys_at_once();
        let chosen = self.upstreams.choose_servers(number, get, most, self.context.writes());
        let pool = self.upstreams.pool(number);
        let built = self.multigets.build(get, most, origin, window, pool, chosen);
        // If one key is too long, the whole list is refused.
        let Some((multiget, rest)) = built.filter(|(_, rest)| goes_on || !rest.is_some_and(|rest| rest.is_refused()))
        else {
            client.refuse(text::BAD_FORMAT, &self.context);
            return line.len();
        };
        let (keys, tables) = (multiget.keys(), multiget.tables());
        self.observation.multiget_begins(pool, &multiget, &self.context);
        let multiget = self.multigets.add(multiget);
        client.expect_multiget(multiget, keys, tables, now);
        client.works(&mut self.context.net, KEY * keys as u64);
        self.context.counters.requests_active.add(1);
        let took = rest.map_or(line.len(), |rest| client.input.leave(&rest, line));
        self.ask_hubs(number, multiget);
        self.ask_batches(multiget);
        took
    }
}

/// 3. They are routed.
impl<N: Net> Front<N> {
    /// Requests a key's value.
    fn ask_for(&mut self, id: Id, get: &Get<'_>, key: &[u8]) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let number = client.pool();
        let pool = self.upstreams.pool(number);
        if get.time.is_none() && pool.must_clear(key) {
            let to = Destination::Relay { quiet: false };
            let response = client.expect_one(id, false, to, Shape::Values, Class::Get, &self.context).number;
            let owner = Owner { client: id, whose: Whose::Client { number: response } };
            return self.clear_key(number, owner, key);
        }
        if pool.has_replicas() && any_replica_answers(get) {
            return self.ask_replica(id, number, key);
        }
        if pool.has_replicas() && get.time.is_some() {
            return self.touch_with_replicas(id, get, key);
        }
        let place = pool.place(key);
        if let Location::Moving(key_move) = place
            && self.get_moving_key(id, get, key, key_move)
        {
            return;
        }
        let Some(client) = self.clients.get_mut(id) else { return };
        let pool = self.upstreams.pool(number);
        let (server, joins, keeps) = (pool.server(place.authority()), pool.joins, pool.has_replicas());
        let to = Destination::Relay { quiet: false };
        let ask = client.expect_one(id, false, to, Shape::Values, Class::Get, &self.context);
        let mut line = std::mem::take(&mut self.scratch.line);
        line.clear();
        get.head(|bytes| line.extend_from_slice(bytes));
        [b" ", key, b"\r\n"].iter().for_each(|bytes| line.extend_from_slice(bytes));
        let (writes, whose) = (self.context.writes(), (id, ask.number));
        let joined = joins.then(|| self.coalescing.join(number, line.clone(), key, writes, whose));
        let to = match joined {
            // An equal get is outstanding.
            Some(None) => None,
            Some(Some(get)) => Some(Destination::Joined(get)),
            None => Some(ask.to),
        };
        match to {
            None => self.context.counters.get_joined.add(1),
            Some(to) => {
                let ask = Ask { to, ..ask };
                let ask = if keeps { self.primary_reads.keep(ask, number, key, key, &line) } else { ask };
                self.ask(server, ask, key, &[&line]);
            }
        }
        self.scratch.line = line;
    }

    /// Requests a key with replicas from the one with the fewest outstanding requests.
    fn ask_replica(&mut self, id: Id, pool: usize, key: &[u8]) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let to = Destination::Relay { quiet: false };
        let number = client.expect_one(id, false, to, Shape::Values, Class::Get, &self.context).number;
        let owner = Owner { client: id, whose: Whose::Client { number } };
        let of_pool = self.migrations.of_pool(pool, &self.upstreams);
        let (migration, has_copy) = of_pool.get(owner, key, &mut self.context);
        let (migration, step) = self.migrations.begin(migration);
        if has_copy && let Some(hedges) = &mut self.upstreams.pool_mut(pool).hedges {
            hedges.sent(self.context.now, migration);
        }
        self.take_step(migration, step);
        if self.upstreams.pool(pool).lacks_copies(key) {
            self.copy_by_plan(pool, key);
        }
    }

    /// Requests a key with replicas with a new time to live, which is a change: the copies have the old one.
    fn touch_with_replicas(&mut self, id: Id, get: &Get<'_>, key: &[u8]) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let number = client.pool();
        let to = Destination::Relay { quiet: false };
        let ask = client.expect_one(id, true, to, Shape::Values, Class::Get, &self.context);
        let change = get_as_change(get, key, Ask { changes: true, ..ask });
        self.change_with_failover(number, key, SentKey::plain(key), change);
    }

    /// Handles a single get of a moving key; returns false if one plain request is enough.
    fn get_moving_key(&mut self, id: Id, get: &Get<'_>, key: &[u8], key_move: KeyMove) -> bool {
        let Some(client) = self.clients.get_mut(id) else { return true };
        let pool = self.upstreams.pool(client.pool());
        let (to, class) = (Destination::Relay { quiet: false }, Class::Get);
        let migration = match moving_get(pool, get, key_move) {
            MovingGet::Plain => return false,
            MovingGet::LookUp(first) => {
                let number = client.expect_one(id, false, to, Shape::Values, class, &self.context).number;
                let owner = Owner { client: id, whose: Whose::Client { number } };
                look_up(pool, owner, key, key_move, first)
            }
            MovingGet::Change(key_move) => {
                let held = !key_move.stage.is_turned();
                let ask = client.expect_one(id, held, to, Shape::Values, class, &self.context);
                let change = get_as_change(get, key, ask);
                change_moving_key(pool, SentKey::plain(key), key_move, change, get.time.is_some())
            }
        };
        migration.into_iter().for_each(|migration| self.begin_migration(migration));
        true
    }

    /// Sends a command for one key, with or without a value.
    fn ask_keyed(&mut self, id: Id, keyed: &Keyed<'_>, to: Destination, value: Option<&[u8]>) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let number = client.pool();
        let mut room = [0; LONGEST_KEY];
        let key = keyed.stored(&mut room);
        let pool = self.upstreams.pool(number);
        self.observation.key(pool, key, &self.context);
        let place = pool.place(key);
        let server = pool.server(place.authority());
        // From now on no get joins an earlier one.
        let writes = pool.joins.then(|| Writes::group(key));
        writes.into_iter().for_each(|group| self.context.writes().wrote(group));
        let key_move = pool.key_move_of(place, changes(keyed)).filter(|_| keyed.shape() != Shape::Alone);
        let must_clear = keyed.shape() != Shape::Alone && pool.must_clear(key);
        let fails_over = pool.fails_over() && (changes(keyed) || must_clear);
        let class = class(keyed, value);
        self.context.counters.meta_gets.add(u64::from(class == Class::Get));
        let held = fails_over || key_move.is_some_and(|key_move| !key_move.stage.is_turned());
        let ask = client.expect_one(id, held, to, keyed.shape(), class, &self.context);
        let ask = Ask { writes, changes: fails_over, ..ask };
        let mark = self.context.random_mark();
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
                Some(key_move) => {
                    let pool = self.upstreams.pool(number);
                    let migration = change_moving_key(pool, sent, key_move, change, changes(keyed));
                    migration.into_iter().for_each(|migration| self.begin_migration(migration));
                }
                None => self.change_with_failover(number, key, sent, change),
            }
        } else {
            let keeps = class == Class::Get && self.upstreams.pool(number).has_replicas();
            let ask = if keeps { self.primary_reads.keep(ask, number, key, &note, &line) } else { ask };
            self.ask(server, ask, &note, &[&line, value.unwrap_or_default()]);
        }
        (self.scratch.line, self.scratch.note) = (line, note);
    }

    /// Starts a change of a key in a pool with failover; the key as it is stored, and as it is sent, maybe in base64.
    fn change_with_failover(&mut self, pool: usize, key: &[u8], sent: SentKey<'_>, change: Change) {
        let tenant = self.tenant_of(change.ask.client);
        let of_pool = self.migrations.of_pool(pool, &self.upstreams);
        let change = of_pool.change(key, sent, change, tenant, &self.context);
        match self.migrations.begin_change(change) {
            Ok((id, step)) => self.take_step(id, step),
            Err(refusal) => refusal.into_iter().for_each(|refusal| self.carry_out(refusal)),
        }
    }
}

/// Class of a command for one key.
fn class(keyed: &Keyed<'_>, value: Option<&[u8]>) -> Class {
    use fanin_memcache::Meta;
    match keyed.command {
        _ if value.is_some() => Class::Store,
        Command::Meta(Meta::Get, _) => Class::Get,
        Command::Delete | Command::Meta(Meta::Delete, _) => Class::Delete,
        _ => Class::Other,
    }
}
