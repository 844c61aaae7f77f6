//! Front end of one thread: its state, and one iteration of its loop. It has no sockets and no clock; the caller passes events and time,
//! and [`Net`] has the connections.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;

use fanin_memcache::Mark;
use fanin_ring::Event;
use fanin_units::Time;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::Client;
use crate::clock::{Nanos, nanos};
use crate::coalescing::Coalescing;
use crate::counters::Counters;
use crate::log::{Rows, Tap};
use crate::memory_limit::MemoryAccount;
use crate::migration::key::KeyMigration;
use crate::multiget::{Multiget, Spare};
use crate::net::Net;
use crate::pace::Pace;
use crate::pool::Pool;
use crate::server::{Server, ServerError, State};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::table::{Id, Table};

/// Bytes per read.
pub const READ: usize = 256 << 10;
/// memcached's error for a client above the limit.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";
/// Pause before accepting again after running out of file descriptors.
const ACCEPT_PAUSE: Nanos = 100_000_000;
/// Number of checks for idle clients per idle timeout.
const IDLE_LOOKS: Nanos = 8;
/// Pause between checks while memory is short.
const SHORT_PAUSE: Nanos = 5_000_000;

/// Front end of one thread.
pub struct Front<N: Net> {
    pub(crate) net: N,
    pub(crate) now: Nanos,
    /// Number of loop iterations.
    pub(crate) number: u64,
    pub(crate) pools: Vec<Pool>,
    pub(crate) clients: Table<Client<N::Socket>>,
    /// The shared connections, one per server; then, in the same order, those for single requests.
    pub(crate) servers: Vec<Server<N::Socket>>,
    pub(crate) shared_servers: usize,
    /// Whether single requests may be waiting, which is rare.
    pub(crate) asks_alone: bool,
    pub(crate) gets: Table<Multiget>,
    pub(crate) coalescing: Coalescing,
    /// Key migrations; and the current edition of the plans.
    pub(crate) migrations: Table<KeyMigration>,
    pub(crate) edition: u64,
    pub(crate) spare: Spare,
    pub(crate) scratch: Vec<u8>,
    /// Scratch buffers for a request and its note.
    pub(crate) line: Vec<u8>,
    pub(crate) note: Vec<u8>,
    pub(crate) held: MemoryAccount,
    /// Connections to handle at the end of the iteration.
    pub(crate) dirty_clients: Vec<Id>,
    pub(crate) dirty_servers: Vec<usize>,
    /// Connections with more to read; and those that wait for memory.
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
    /// When to try to accept again.
    accept_at: Option<Nanos>,
    /// When to stop, even with unfinished requests.
    ends: Option<Nanos>,
    /// Idle timeout, and the next check for idle clients; none if there is no timeout.
    idle: Option<(Nanos, Nanos)>,
}

/// Number of event tokens before those of clients: pools, two connections per server, and the waker, which is last.
pub fn tokens(settings: &Settings) -> usize {
    let servers: usize = settings.pools.iter().map(|pool| pool.servers.len()).sum();
    settings.pools.len() + 2 * servers + 1
}

impl<N: Net> Front<N> {
    /// Front end of the `number`th thread. The seed must be unpredictable. With a log: the channel for rows, and Unix time at the clock's
    /// start.
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
            coalescing: Coalescing::default(),
            migrations: Table::default(),
            edition: 0,
            spare: Spare::new(shared.memory.spare()),
            scratch: vec![0; READ],
            line: Vec::new(),
            note: Vec::new(),
            held: MemoryAccount::new(),
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

    /// Runs one iteration: handles events and what follows from them. Returns how long to sleep, so that more events are handled together.
    pub fn turn(&mut self, now: Nanos, events: impl Iterator<Item = Event>) -> Nanos {
        self.now = now;
        self.number += 1;
        self.counters.turns.add(1);
        let before = self.counters.requests.get() + self.counters.batches.get();
        self.update_memory_share();
        self.refresh_plans();
        for id in std::mem::take(&mut self.again_clients) {
            self.clients.get_mut(id).into_iter().for_each(|client| client.again = false);
            self.resume_client(id);
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
        self.enforce_memory_limit();
        let asked = self.counters.requests.get() + self.counters.batches.get() - before;
        let delay = self.pace.delay(self.now, asked);
        if self.has_more() { 0 } else { delay }
    }

    /// How long it may wait for events.
    pub fn waits(&self) -> Option<Nanos> {
        if self.has_more() { Some(0) } else { self.next_due().map(|at| at.saturating_sub(self.now)) }
    }

    /// Whether it has been stopped and has answered all requests, or has passed its deadline.
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
            self.resume_client(id);
            self.mark_client(id);
        }
    }

    fn accept(&mut self, pool: usize) {
        loop {
            let stream = match self.net.accept(pool) {
                Ok(stream) => stream,
                Err(error) => {
                    // There is no event for free file descriptors.
                    let lacks = error.kind() != io::ErrorKind::WouldBlock;
                    self.accept_at = lacks.then(|| self.now + ACCEPT_PAUSE).or(self.accept_at);
                    return;
                }
            };
            if !self.shared.admit_client() {
                self.counters.rejected_connections.add(1);
                self.net.refuse(stream, TOO_MANY);
                continue;
            }
            let token = self.pools.len() + self.servers.len() + 1 + self.clients.next();
            let Ok(socket) = self.net.add(stream, token, false) else {
                self.shared.release_client();
                continue;
            };
            self.clients.insert(Client::new(socket, pool, self.now));
            self.counters.curr_connections.add(1);
            self.counters.total_connections.add(1);
        }
    }

    /// Continues with a client in the next iteration, after the others.
    pub(crate) fn look_again(&mut self, id: Id) {
        if let Some(client) = self.clients.get_mut(id).filter(|client| !client.again) {
            client.again = true;
            self.again_clients.push(id);
        }
    }

    /// Continues to read from a server in the next iteration.
    pub(crate) fn read_again(&mut self, server: usize) {
        if !std::mem::replace(&mut self.servers[server].again, true) {
            self.again_servers.push(server);
        }
    }

    /// Reads from a server when there is memory.
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

    /// Returns a random opaque token.
    pub(crate) fn mark(&mut self) -> Mark {
        Mark::of(self.marks.next_u64())
    }

    /// The next time at which there is work without an event.
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

    /// Number of server connections in use.
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
            self.fail_expired_requests(server, timeout);
        }
        self.check_for_late();
        self.close_idle_clients();
        self.connect_due();
        if self.accept_at.is_some_and(|at| at <= self.now) {
            self.accept_at = None;
            (0..self.pools.len()).for_each(|pool| self.accept(pool));
        }
        if self.stop.load(Relaxed) && self.ends.is_none() {
            self.begin_shutdown();
        }
    }

    /// Closes idle clients.
    fn close_idle_clients(&mut self) {
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

    /// Opens connections that are due.
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

    /// Starts to connect to a server; returns whether that worked.
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

    /// Begins to stop: accepts no clients and no requests, but completes outstanding ones.
    fn begin_shutdown(&mut self) {
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
