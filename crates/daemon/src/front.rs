//! One thread's front end: what it has, and what happens in a turn. It has neither sockets nor a clock of its own: a turn is given what
//! has happened and when, and connections are [`Net`]'s.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;

use fanin_memcache::Mark;
use fanin_ring::Event;
use fanin_units::Time;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::bounding::Held;
use crate::carrying::migration::KeyMigration;
use crate::client::Client;
use crate::clock::{Nanos, nanos};
use crate::counters::Counters;
use crate::joining::Joining;
use crate::log::{Rows, Tap};
use crate::multiget::{Multiget, Spare};
use crate::net::Net;
use crate::pace::Pace;
use crate::pool::Pool;
use crate::server::{Server, ServerError, State};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::table::{Id, Table};

/// Bytes that are read at once.
pub const READ: usize = 256 << 10;
/// What a client is told that is one too many: memcached's words.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";
/// How long it waits to take a connection for which there were no files.
const ACCEPT_PAUSE: Nanos = 100_000_000;
/// So often clients are looked at in the time for which they may be idle.
const IDLE_LOOKS: Nanos = 8;
/// How long, where memory is short, until it looks whether that is over.
const SHORT_PAUSE: Nanos = 5_000_000;

/// One thread.
pub struct Front<N: Net> {
    pub(crate) net: N,
    pub(crate) now: Nanos,
    /// How many turns there were.
    pub(crate) number: u64,
    pub(crate) pools: Vec<Pool>,
    pub(crate) clients: Table<Client<N::Socket>>,
    /// The connections that are shared, one a server; then, in the same order, those for one request each.
    pub(crate) servers: Vec<Server<N::Socket>>,
    pub(crate) shared_servers: usize,
    /// Whether something may be asked by one of the latter: most of the time nothing is.
    pub(crate) asks_alone: bool,
    pub(crate) gets: Table<Multiget>,
    pub(crate) joining: Joining,
    /// For keys between two servers; and which edition of the plans the pools have.
    pub(crate) migrations: Table<KeyMigration>,
    pub(crate) edition: u64,
    pub(crate) spare: Spare,
    pub(crate) scratch: Vec<u8>,
    /// What is composed, and noted of it.
    pub(crate) line: Vec<u8>,
    pub(crate) note: Vec<u8>,
    pub(crate) held: Held,
    /// Who is looked at when the turn ends.
    pub(crate) dirty_clients: Vec<Id>,
    pub(crate) dirty_servers: Vec<usize>,
    /// Of whom there is more to be had than was taken at once; and who waits for memory.
    again_clients: Vec<Id>,
    again_servers: Vec<usize>,
    pub(crate) short: Vec<Id>,
    pub(crate) short_servers: Vec<usize>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Arc<Counters>,
    marks: StdRng,
    pub(crate) tap: Option<Tap>,
    pace: Pace,
    stop: Arc<AtomicBool>,
    drain: Nanos,
    /// When to look for connections that could not be taken.
    accept_at: Option<Nanos>,
    /// When it stops, whatever is unfinished.
    ends: Option<Nanos>,
    /// How long a client may be idle, and when to look for clients that were; none where they may be so for ever.
    idle: Option<(Nanos, Nanos)>,
}

/// How many events' tokens there are before those of clients: pools, each server's two connections, and one for who wakes the thread,
/// the last.
pub fn tokens(settings: &Settings) -> usize {
    let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
    settings.pools.len() + 2 * servers + 1
}

impl<N: Net> Front<N> {
    /// A thread, which is the `number`th of those that share this. Nobody may know the seed. Where what is asked is logged: to whom rows
    /// go, and Unix time as its clock begins.
    pub fn new(
        settings: &Settings,
        net: N,
        shared: Arc<Shared>,
        number: usize,
        stop: Arc<AtomicBool>,
        (seed, rows): ([u8; 32], Option<(SyncSender<Rows>, u64)>),
    ) -> Front<N> {
        let mut pools = Vec::new();
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for (number, pool) in settings.pools.iter().enumerate() {
            pools.push(Pool::new(pool, together.len()));
            for one in &pool.servers {
                together.push(Server::shared(one.weighted.name.clone(), one.address, number));
                alone.push(Server::alone(one.weighted.name.clone(), one.address, number));
            }
        }
        let mut marks = StdRng::from_seed(seed);
        let log = settings.log.as_ref().zip(rows);
        let tap = log.map(|(log, (rows, unix))| Tap::new(log, rows, marks.next_u64(), unix));
        let shared_servers = together.len();
        together.append(&mut alone);
        let counters = shared.threads[number].clone();
        Front {
            net,
            now: 0,
            number: 0,
            pools,
            clients: Table::default(),
            servers: together,
            shared_servers,
            asks_alone: false,
            gets: Table::default(),
            joining: Joining::default(),
            migrations: Table::default(),
            edition: 0,
            spare: Spare::new(shared.memory.spare()),
            scratch: vec![0; READ],
            line: Vec::new(),
            note: Vec::new(),
            held: Held::new(),
            dirty_clients: Vec::new(),
            dirty_servers: Vec::new(),
            again_clients: Vec::new(),
            again_servers: Vec::new(),
            short: Vec::new(),
            short_servers: Vec::new(),
            shared,
            counters,
            marks,
            tap,
            pace: Pace::new(nanos(settings.nap)),
            stop,
            drain: nanos(settings.drain),
            accept_at: None,
            ends: None,
            idle: (settings.idle_timeout > Time::ZERO).then(|| (nanos(settings.idle_timeout), 0)),
        }
    }

    /// One turn: what has happened is heeded, and what follows is done. How long to sleep before the next one, so that more comes together.
    pub fn turn(&mut self, now: Nanos, events: impl Iterator<Item = Event>) -> Nanos {
        self.now = now;
        self.number += 1;
        self.counters.turns.add(1);
        let before = self.counters.requests.get() + self.counters.batches.get();
        self.heed_memory();
        self.heed_plans();
        for id in std::mem::take(&mut self.again_clients) {
            self.clients.get_mut(id).into_iter().for_each(|client| client.again = false);
            self.client_goes_on(id);
            self.mark_client(id);
        }
        for server in std::mem::take(&mut self.again_servers) {
            self.servers[server].again = false;
            self.server_reads(server);
        }
        for event in events {
            self.event(event);
        }
        self.timers();
        self.flush();
        self.hand_on_log();
        self.add_up_memory();
        let asked = self.counters.requests.get() + self.counters.batches.get() - before;
        let nap = self.pace.nap(self.now, asked);
        if self.has_more() { 0 } else { nap }
    }

    /// How long it may wait for something to happen.
    pub fn waits(&self) -> Option<Nanos> {
        if self.has_more() { Some(0) } else { self.next_due().map(|at| at.saturating_sub(self.now)) }
    }

    /// Whether it is told to stop, and has answered what it has taken, or need not any more.
    pub fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| ends <= self.now || self.clients.len() == 0)
    }

    fn hand_on_log(&mut self) {
        if let Some(tap) = &mut self.tap {
            self.counters.log_full.add(tap.hand_on(self.now, self.ends.is_some()));
        }
    }

    fn has_more(&self) -> bool {
        !self.again_clients.is_empty() || !self.again_servers.is_empty()
    }

    fn event(&mut self, event: Event) {
        let token = event.token;
        if token < self.pools.len() {
            return self.accept(token);
        }
        let server = token - self.pools.len();
        if server < self.servers.len() {
            return self.server_event(server, event);
        }
        let Some(id) = (server - self.servers.len()).checked_sub(1).and_then(|index| self.clients.at(index)) else {
            return;
        };
        if event.writable {
            self.mark_client(id);
        }
        if event.readable {
            if let Some(client) = self.clients.get_mut(id) {
                client.readable = true;
                client.ending |= event.ended;
            }
            self.client_goes_on(id);
            self.mark_client(id);
        }
    }

    fn accept(&mut self, pool: usize) {
        loop {
            let stream = match self.net.accept(pool) {
                Ok(stream) => stream,
                Err(error) => {
                    // No event tells when there are files to be had again.
                    let lacks = error.kind() != io::ErrorKind::WouldBlock;
                    self.accept_at = lacks.then(|| self.now + ACCEPT_PAUSE).or(self.accept_at);
                    return;
                }
            };
            if !self.shared.lets_in() {
                self.counters.rejected_connections.add(1);
                self.net.refuse(stream, TOO_MANY);
                continue;
            }
            let token = self.pools.len() + self.servers.len() + 1 + self.clients.next();
            let Ok(socket) = self.net.add(stream, token, false) else {
                self.shared.lets_out();
                continue;
            };
            self.clients.insert(Client::new(socket, pool, self.now));
            self.counters.curr_connections.add(1);
            self.counters.total_connections.add(1);
        }
    }

    /// Something more is to be had of a client in the next turn, when others have had theirs.
    pub(crate) fn look_again(&mut self, id: Id) {
        if let Some(client) = self.clients.get_mut(id).filter(|client| !client.again) {
            client.again = true;
            self.again_clients.push(id);
        }
    }

    /// Something more is to be read of a server in the next turn.
    pub(crate) fn read_again(&mut self, server: usize) {
        if !std::mem::replace(&mut self.servers[server].again, true) {
            self.again_servers.push(server);
        }
    }

    /// Something is to be read of a server when there is memory for it.
    pub(crate) fn read_later(&mut self, server: usize) {
        if !std::mem::replace(&mut self.servers[server].again, true) {
            self.short_servers.push(server);
        }
    }

    pub(crate) fn mark_client(&mut self, id: Id) {
        if let Some(client) = self.clients.get_mut(id).filter(|client| !client.dirty) {
            client.dirty = true;
            self.dirty_clients.push(id);
        }
    }

    pub(crate) fn mark_server(&mut self, server: usize) {
        if !std::mem::replace(&mut self.servers[server].dirty, true) {
            self.dirty_servers.push(server);
        }
    }

    /// A mark that nobody can guess.
    pub(crate) fn mark(&mut self) -> Mark {
        Mark::of(self.marks.next_u64())
    }

    /// When something is due though nothing happens.
    fn next_due(&self) -> Option<Nanos> {
        let servers = self.servers[..self.watched()].iter().filter_map(|server| {
            let timeout = self.pools[server.pool].timeout;
            let waiting = server.alone.as_ref().and_then(|alone| alone.front()).map(|(ask, _)| ask.at + timeout);
            let state = match server.state {
                State::Down { until } => {
                    (until < Nanos::MAX && (self.ends.is_none() || server.alone.is_some())).then_some(until)
                }
                State::Opening { since, .. } => Some(since + timeout),
                State::Open(_) => server.front().map(|ask| ask.at + timeout),
            };
            state.into_iter().chain(waiting).min()
        });
        let late = self.pools.iter().filter_map(Pool::late_at);
        let is_short = !self.short.is_empty() || !self.short_servers.is_empty();
        let short = is_short.then_some(self.now + SHORT_PAUSE);
        let log = self.tap.as_ref().and_then(Tap::due);
        let idle = self.idle.filter(|_| self.clients.len() > 0).map(|(_, at)| at);
        servers.chain(late).chain(self.accept_at).chain(self.ends).chain(short).chain(log).chain(idle).min()
    }

    /// How many of the servers' connections there is anything to know of.
    fn watched(&self) -> usize {
        if self.asks_alone { self.servers.len() } else { self.shared_servers }
    }

    fn timers(&mut self) {
        for server in 0..self.watched() {
            let timeout = self.pools[self.servers[server].pool].timeout;
            let since = match &self.servers[server].state {
                State::Opening { since, .. } => Some(*since),
                State::Open(_) => self.servers[server].front().map(|ask| ask.at),
                State::Down { .. } => None,
            };
            if since.is_some_and(|since| since + timeout <= self.now) {
                self.server_fails(server, ServerError::Timeout, false);
            }
            self.fail_what_waited_too_long(server, timeout);
        }
        self.look_for_late();
        self.look_for_idle();
        self.connect_due();
        if self.accept_at.is_some_and(|at| at <= self.now) {
            self.accept_at = None;
            (0..self.pools.len()).for_each(|pool| self.accept(pool));
        }
        if self.stop.load(Relaxed) && self.ends.is_none() {
            self.begin_to_end();
        }
    }

    /// Closes clients that have sent nothing and waited for nothing for too long.
    fn look_for_idle(&mut self) {
        let Some((longest, _)) = self.idle.filter(|(_, at)| *at <= self.now) else { return };
        for id in self.clients.ids() {
            let is_idle = |client: &Client<_>| client.is_through() && client.active + longest <= self.now;
            if self.clients.get(id).is_some_and(is_idle) {
                self.counters.clients_idle.add(1);
                self.close_client(id);
            }
        }
        self.idle = Some((longest, self.now + longest / IDLE_LOOKS));
    }

    /// Opens connections to servers whose time has come.
    fn connect_due(&mut self) {
        for number in 0..self.watched() {
            let is_due = matches!(self.servers[number].state, State::Down { until } if until <= self.now);
            if !is_due {
                continue;
            }
            if self.servers[number].alone.is_some() {
                self.open_alone(number);
            } else if self.ends.is_none() && !self.connect(number) {
                self.server_fails(number, ServerError::Down, false);
            }
        }
        let is_idle = |server: &Server<_>| {
            server.front().is_none() && matches!(server.state, State::Down { until: Nanos::MAX } | State::Open(_))
        };
        self.asks_alone &= !self.servers[self.shared_servers..].iter().all(is_idle);
    }

    /// Begins to open a connection to a server: whether that could be begun.
    pub(crate) fn connect(&mut self, number: usize) -> bool {
        let token = self.pools.len() + number;
        let server = &mut self.servers[number];
        let opening = self.net.connect(server.address).and_then(|stream| self.net.add(stream, token, true));
        match opening {
            Ok(socket) => {
                server.state = State::Opening { socket, since: self.now, waits: server.is_first_try() };
                true
            }
            Err(_) => false,
        }
    }

    /// Nobody new is let in, and nothing more is taken; what was taken is answered.
    fn begin_to_end(&mut self) {
        self.ends = Some(self.now + self.drain);
        (0..self.pools.len()).for_each(|pool| self.net.unlisten(pool));
        for id in self.clients.ids() {
            if let Some(client) = self.clients.get_mut(id) {
                client.closing = true;
            }
            self.mark_client(id);
        }
        self.flush();
    }
}
