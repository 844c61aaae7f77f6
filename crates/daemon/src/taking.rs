//! Taking requests: what a client has sent, and who is asked for it.

use std::io;

use fanin_memcache::{Get, Keyed, LONGEST_KEY, Next, Quiet, Request, Shape, Store, decoded, text};

use crate::client::{Client, Kind};
use crate::clock::span;
use crate::flushing::ENOUGH;
use crate::front::{Front, READ};
use crate::joining::Writes;
use crate::multiget::Multiget;
use crate::server::{Ask, Heed, Part, print_of};
use crate::table::Id;

/// So often a client that sends on and on is read in a turn.
const READS: usize = 4;
/// What a client that speaks the binary protocol is answered, behind the first bytes of its own header: not supported.
const NOT_BINARY: &[u8] = b"fanin speaks the text protocol: turn the binary one off in the client";

impl Front {
    /// Reads what a client has sent and takes what it can of it.
    pub fn client_reads(&mut self, id: Id) {
        for _ in 0..READS {
            let Some(client) = self.clients.get_mut(id) else { return };
            if !client.readable || client.closing && client.rest.is_empty() || client.is_held_up() {
                break;
            }
            let mut bytes = std::mem::take(&mut self.scratch);
            // What is left of before goes in front; what is much is gathered where it is.
            let gathers = client.rest.len() > READ / 4;
            let before = if gathers { 0 } else { client.rest.len() };
            bytes[..before].copy_from_slice(&client.rest[..before]);
            let result = self.sockets.read(&mut client.socket, &mut bytes[before..]);
            match result {
                Ok(0) => (client.readable, client.closing) = (false, true),
                Ok(count) => {
                    client.readable = count == READ - before || client.ended;
                    let whole = before + count;
                    if gathers {
                        client.rest.extend_from_slice(&bytes[..whole]);
                        self.take_rest(id);
                    } else {
                        client.rest.clear();
                        let took = self.take(id, &bytes[..whole]);
                        if let Some(client) = self.clients.get_mut(id) {
                            client.rest.extend_from_slice(&bytes[took..whole]);
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => client.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => (client.readable, client.broken) = (false, true),
            }
            self.scratch = bytes;
        }
        self.mark_client(id);
        if self.clients.get(id).is_some_and(|client| client.readable && !client.is_held_up() && !client.closing) {
            self.read_again(id);
        }
    }

    /// Takes what it can of what a client has sent before.
    pub fn take_rest(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let mut rest = std::mem::take(&mut client.rest);
        let took = self.take(id, &rest);
        rest.drain(..took);
        if rest.is_empty() {
            // One that held a large value is not kept by a client that says no more.
            self.spare.keep(std::mem::take(&mut rest));
        }
        if let Some(client) = self.clients.get_mut(id) {
            client.rest = rest;
        }
    }

    /// Takes requests one after another: how many bytes.
    fn take(&mut self, id: Id, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(client) = self.clients.get_mut(id) {
            if client.closing {
                return bytes.len();
            }
            if client.swallow > 0 {
                let some = (bytes.len() - at).min(client.swallow as usize);
                (client.swallow, at) = (client.swallow - some as u64, at + some);
            }
            if at == bytes.len() || bytes.len() - at < client.need || client.is_held_up() {
                return at;
            }
            let limits = self.pools[client.pool].limits;
            match client.lines.next(&bytes[at..], &limits) {
                Next::More => return at,
                Next::Request(Request::Store(store), line) => match self.take_store(id, &store, &bytes[at + line..]) {
                    Some(value) => at += line + value,
                    None => {
                        let needs = line + store.follow as usize;
                        self.clients.get_mut(id).into_iter().for_each(|client| client.need = needs);
                        return at;
                    }
                },
                Next::Request(request, line) => {
                    self.take_request(id, &request);
                    at += line;
                }
                Next::Binary if bytes.len() - at < 24 => return at,
                Next::Binary => return self.refuse_binary(id, &bytes[at..]).map_or(at, |()| bytes.len()),
                Next::Endless => client.closing = true,
                Next::TooManyKeys => {
                    client.say(text::LINE_TOO_LONG.as_bytes(), self.now);
                    client.closing = true;
                }
            }
        }
        bytes.len()
    }

    /// A request without a value.
    fn take_request(&mut self, id: Id, request: &Request<'_>) {
        self.counters.requests.add(1);
        let now = self.now;
        let Some(client) = self.clients.get_mut(id) else { return };
        match request {
            Request::Get(get) => self.take_get(id, get),
            Request::Keyed(keyed) => {
                let to = self.place(id, keyed);
                self.ask_keyed(id, to, keyed, &[]);
            }
            Request::Store(_) => {}
            Request::Every(line, silent) => {
                let kind = Kind::Every { silent: *silent };
                self.shared.writes.flushed();
                self.ask_every(id, kind, |_| Part::Every, Shape::Line, line);
            }
            Request::Stats(what) => self.take_stats(id, what),
            Request::Version => {
                let server = self.pools[client.pool].first;
                let to = (server, Heed::Nothing);
                self.relay(id, to, Shape::Line, Part::Relay(Quiet::No), &[b"version\r\n"]);
            }
            Request::Barrier => client.say(text::BARRIER.as_bytes(), now),
            Request::Quit => client.closing = true,
            Request::Refused(text) => {
                client.say(text.as_bytes(), now);
                self.counters.errors_refused.add(1);
            }
        }
    }

    fn take_get(&mut self, id: Id, get: &Get<'_>) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let pool = &self.pools[client.pool];
        let mut keys = get.keys();
        let (Some(first), more) = (keys.next(), keys.next().is_some()) else { return };
        if !more {
            self.counters.get_keys.add(1);
            if first.len() > LONGEST_KEY {
                return self.refuse(id);
            }
            let to = (pool.first + pool.router.server(first), Heed::Print(print_of(first)));
            let line = [get.head, b" ", first, b"\r\n"];
            if pool.joins {
                return self.join(id, to, first, line.concat());
            }
            return self.relay(id, to, Shape::Values, Part::Relay(Quiet::No), &line);
        }
        let number = client.expect(Kind::Relay, 1, self.now);
        let whose = (id, number, self.now);
        let multiget = Multiget::new(get, whose, &pool.router, pool.window, pool.servers, &mut self.spare);
        let Some(multiget) = multiget else {
            client.put(number, text::BAD_FORMAT.as_bytes());
            client.part_ends(number);
            self.counters.errors_refused.add(1);
            return;
        };
        let keys = multiget.keys();
        self.counters.get_keys.add(keys as u64);
        self.counters.multigets[(keys.ilog2() as usize).min(15)].add(1);
        let multiget = self.gets.insert(multiget);
        if let Some(answer) = self.clients.get_mut(id).and_then(|client| client.answer(number)) {
            answer.kind = Kind::Multiget(multiget);
        }
        self.ask_batches(multiget);
        self.wait_for_late(multiget);
    }

    /// Asks for as many batches as the window allows, while the client takes what there is: what waits for other batches needs these.
    pub fn ask_batches(&mut self, get: Id) {
        while let Some(multiget) = self.gets.get_mut(get) {
            let (client, number) = (multiget.client, multiget.number);
            let Some(of_client) = self.clients.get_mut(client) else { return };
            of_client.asking = !multiget.schedule.has_asked_all();
            if of_client.out.left() >= ENOUGH {
                return;
            }
            let Some(batch) = multiget.schedule.ask(span(multiget.began, self.now)) else { return };
            of_client.asking = !multiget.schedule.has_asked_all();
            let server = self.pools[of_client.pool].first + multiget.batches[batch as usize].server as usize;
            self.counters.batches.add(1);
            match self.servers[server].accepts() {
                Ok(()) => {
                    self.servers[server].out.extend(multiget.request(batch));
                    let part = Part::Batch { get, batch };
                    let ask = Ask { client, number, part, shape: Shape::Values, at: self.now, heed: Heed::Nothing };
                    self.servers[server].asked.push_back(ask);
                    self.mark_server(server);
                }
                Err(trouble) => {
                    self.counters.failed(trouble);
                    multiget.schedule.lost(batch);
                    multiget.end(batch, Some(trouble.text()));
                    self.mark_client(client);
                }
            }
        }
    }

    /// A request with a value: how many bytes of it are taken, if they are there.
    fn take_store(&mut self, id: Id, store: &Store<'_>, behind: &[u8]) -> Option<usize> {
        let Store { keyed, follow, too_large, forgets } = store;
        if *too_large {
            self.counters.requests.add(1);
            self.refuse_value(id, keyed, *forgets);
            if let Some(client) = self.clients.get_mut(id) {
                client.swallow = u64::from(*follow);
            }
            return Some(0);
        }
        let value = behind.get(..*follow as usize)?;
        self.counters.requests.add(1);
        self.counters.stores.add(1);
        self.clients.get_mut(id).into_iter().for_each(|client| client.need = 0);
        let to = self.place(id, keyed);
        self.ask_keyed(id, to, keyed, value);
        Some(*follow as usize)
    }

    /// A value that is too large: memcached says so, and forgets the one that it had.
    fn refuse_value(&mut self, id: Id, keyed: &Keyed<'_>, forgets: bool) {
        self.counters.errors_refused.add(1);
        let to = self.place(id, keyed);
        let text = if keyed.quiet == Quiet::All { "" } else { text::TOO_LARGE };
        let Some(client) = self.clients.get_mut(id) else { return };
        if !forgets {
            return client.say(text.as_bytes(), self.now);
        }
        let (verb, flag): (&[u8], &[u8]) = match (keyed.meta, keyed.base64) {
            (false, _) => (b"delete ", b"\r\n"),
            (true, false) => (b"md ", b"\r\n"),
            (true, true) => (b"md ", b" b\r\n"),
        };
        self.relay(id, to, Shape::Line, Part::Instead(text), &[verb, keyed.key, flag]);
    }

    /// Whose a key is, which may be written: where gets join one another, from now on they do not join those before.
    fn place(&self, id: Id, keyed: &Keyed<'_>) -> (usize, Heed) {
        let Some(Client { pool, .. }) = self.clients.get(id) else { return (0, Heed::Nothing) };
        let pool = &self.pools[*pool];
        let mut room = [0; LONGEST_KEY];
        let key = if keyed.base64 { decoded(keyed.key, &mut room).unwrap_or(keyed.key) } else { keyed.key };
        let server = pool.first + pool.router.server(key);
        if !pool.joins {
            return (server, Heed::Nothing);
        }
        let group = Writes::group(key);
        self.shared.writes.wrote(group);
        (server, Heed::Write(group))
    }

    /// A get of one key where equal ones are asked once.
    fn join(&mut self, id: Id, to: (usize, Heed), key: &[u8], line: Vec<u8>) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let (number, pool) = (client.expect(Kind::Relay, 1, self.now), client.pool);
        let Some(get) = self.joining.join(pool, line.clone(), key, &self.shared.writes, (id, number)) else {
            return self.counters.get_joined.add(1);
        };
        let (server, heed) = to;
        let ask = Ask { client: id, number, part: Part::Joined(get), shape: Shape::Values, at: self.now, heed };
        self.ask(server, ask, &[&line]);
    }

    fn ask_keyed(&mut self, id: Id, to: (usize, Heed), keyed: &Keyed<'_>, value: &[u8]) {
        let shape = match (keyed.meta, keyed.quiet) {
            (false, _) => Shape::Line,
            (true, Quiet::Servers) => Shape::UntilBarrier,
            (true, _) => Shape::Meta,
        };
        let barrier: &[u8] = if shape == Shape::UntilBarrier { b"mn\r\n" } else { b"" };
        let [line, after] = keyed.line;
        self.relay(id, to, shape, Part::Relay(keyed.quiet), &[line, after, b"\r\n", value, barrier]);
    }

    /// Asks one server, whose answer is the client's.
    fn relay(&mut self, id: Id, (server, heed): (usize, Heed), shape: Shape, part: Part, bytes: &[&[u8]]) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let number = client.expect(Kind::Relay, 1, self.now);
        self.ask(server, Ask { client: id, number, part, shape, at: self.now, heed }, bytes);
    }

    /// Asks a server; one that cannot be asked has failed.
    fn ask(&mut self, server: usize, ask: Ask, bytes: &[&[u8]]) {
        match self.servers[server].accepts() {
            Ok(()) => {
                let to = &mut self.servers[server];
                bytes.iter().for_each(|bytes| to.out.extend(bytes));
                to.asked.push_back(ask);
                self.mark_server(server);
            }
            Err(trouble) => self.fails(&ask, trouble, false),
        }
    }

    /// Asks every server of the client's pool the same.
    pub fn ask_every(&mut self, id: Id, kind: Kind, part: fn(usize) -> Part, shape: Shape, line: &[u8]) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let pool = &self.pools[client.pool];
        let (first, count) = (pool.first, pool.servers);
        let number = client.expect(kind, count as u32, self.now);
        for server in first..first + count {
            let ask = Ask { client: id, number, part: part(server), shape, at: self.now, heed: Heed::Nothing };
            self.ask(server, ask, &[line, b"\r\n"]);
        }
    }

    fn refuse(&mut self, id: Id) {
        self.counters.errors_refused.add(1);
        if let Some(client) = self.clients.get_mut(id) {
            client.say(text::BAD_FORMAT.as_bytes(), self.now);
        }
    }

    /// Tells a client of the other protocol, in it, that this is not spoken here.
    fn refuse_binary(&mut self, id: Id, header: &[u8]) -> Option<()> {
        let client = self.clients.get_mut(id)?;
        let mut answer = [0; 24];
        // Magic, the client's own operation code, "not supported", the length of the body, the client's own mark.
        (answer[0], answer[1], answer[7], answer[11]) = (0x81, *header.get(1)?, 0x83, NOT_BINARY.len() as u8);
        answer[12..16].copy_from_slice(header.get(12..16)?);
        client.say(&[&answer, NOT_BINARY].concat(), self.now);
        client.closing = true;
        self.counters.errors_refused.add(1);
        Some(())
    }
}
