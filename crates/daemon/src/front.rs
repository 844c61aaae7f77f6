//! One thread's event loop: what it has, and what happens in a turn.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fanin_fanout::Window;
use fanin_memcache::Limits;
use fanin_ring::Event;
use fanin_units::Rate;
use mio::net::{TcpListener, TcpStream};

use crate::client::Client;
use crate::clock::{Clock, Nanos, duration, nanos};
use crate::counters::Counters;
use crate::joining::Joining;
use crate::multiget::{Multiget, Spare};
use crate::pace::Pace;
use crate::routing::Router;
use crate::server::{Server, State, Trouble};
use crate::settings::{self, Settings};
use crate::sockets::Sockets;
use crate::stats::Shared;
use crate::table::{Id, Table};

/// Bytes that are read at once.
pub const READ: usize = 256 << 10;
/// What a client is told that is one too many: memcached's words.
const TOO_MANY: &[u8] = b"ERROR Too many open connections\r\n";
/// How long it waits to take a connection for which there were no files.
const ACCEPT_PAUSE: Nanos = 100_000_000;

/// A pool as a thread has it.
pub struct Pool {
    pub name: String,
    pub router: Router,
    pub limits: Limits,
    /// Its servers, in the order of all.
    pub first: usize,
    pub servers: usize,
    /// What every multiget begins with.
    pub window: Window,
    pub timeout: Nanos,
    /// Whether equal gets are asked once.
    pub joins: bool,
    listener: Option<TcpListener>,
    /// Multigets whose window wants to know whether batches are late, each with when: all wait equally long.
    pub late: VecDeque<(Nanos, Id)>,
}

/// One thread.
pub struct Front {
    pub sockets: Sockets,
    clock: Clock,
    pub now: Nanos,
    pub pools: Vec<Pool>,
    pub clients: Table<Client>,
    pub servers: Vec<Server>,
    pub gets: Table<Multiget>,
    pub joining: Joining,
    pub spare: Spare,
    pub scratch: Vec<u8>,
    /// Who is looked at when the turn ends.
    pub dirty_clients: Vec<Id>,
    pub dirty_servers: Vec<usize>,
    /// Clients of whom there is more to read than was taken at once.
    again: Vec<Id>,
    pub shared: Arc<Shared>,
    pub counters: Arc<Counters>,
    most_clients: usize,
    pace: Pace,
    stop: Arc<AtomicBool>,
    drain: Nanos,
    /// When to look for connections that could not be taken.
    accept_at: Option<Nanos>,
    /// When it stops, whatever is unfinished.
    ends: Option<Nanos>,
}

impl Front {
    /// A thread with its listeners, one a pool.
    pub fn new(
        settings: &Settings,
        mut sockets: Sockets,
        listeners: Vec<TcpListener>,
        shared: Arc<Shared>,
        counters: Arc<Counters>,
        stop: Arc<AtomicBool>,
    ) -> io::Result<Front> {
        let (mut pools, mut servers) = (Vec::new(), Vec::new());
        for (number, (pool, mut listener)) in settings.pools.iter().zip(listeners).enumerate() {
            sockets.listen(&mut listener, number)?;
            pools.push(Pool::new(pool, servers.len(), listener));
            let server = |one: &settings::Server| Server::new(one.weighted.name.clone(), one.address, number);
            servers.extend(pool.servers.iter().map(server));
        }
        Ok(Front {
            sockets,
            clock: Clock::start(),
            now: 0,
            pools,
            clients: Table::default(),
            servers,
            gets: Table::default(),
            joining: Joining::default(),
            spare: Spare::default(),
            scratch: vec![0; READ],
            dirty_clients: Vec::new(),
            dirty_servers: Vec::new(),
            again: Vec::new(),
            shared,
            counters,
            most_clients: settings.clients.div_ceil(settings.threads),
            pace: Pace::new(nanos(settings.nap)),
            stop,
            drain: nanos(settings.drain),
            accept_at: None,
            ends: None,
        })
    }

    /// Goes on until it is told to stop and everything taken is answered.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Vec::new();
        self.connect_due();
        while !self.is_over() {
            let wait =
                if self.again.is_empty() { self.next_due().map(|at| at.saturating_sub(self.now)) } else { Some(0) };
            self.sockets.wait(wait.map(duration), &mut events)?;
            self.turn(events.drain(..))?;
        }
        Ok(())
    }

    fn turn(&mut self, events: impl Iterator<Item = Event>) -> io::Result<()> {
        self.now = self.clock.now();
        self.counters.turns.add(1);
        let before = self.counters.requests.get() + self.counters.batches.get();
        for id in std::mem::take(&mut self.again) {
            self.clients.get_mut(id).into_iter().for_each(|client| client.again = false);
            self.client_reads(id);
        }
        for event in events {
            self.event(event);
        }
        self.timers();
        self.flush();
        let asked = self.counters.requests.get() + self.counters.batches.get() - before;
        let nap = self.pace.nap(self.now, asked);
        if nap > 0 && self.again.is_empty() {
            self.counters.naps.add(1);
            self.sockets.submit()?;
            std::thread::sleep(duration(nap));
        }
        Ok(())
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
                client.ended |= event.ended;
            }
            self.client_reads(id);
        }
    }

    fn accept(&mut self, pool: usize) {
        loop {
            let Some(listener) = &self.pools[pool].listener else { return };
            let mut stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    // No event tells when there are files to be had again.
                    let lacks = error.kind() != io::ErrorKind::WouldBlock;
                    self.accept_at = lacks.then(|| self.now + ACCEPT_PAUSE).or(self.accept_at);
                    return;
                }
            };
            if self.clients.len() >= self.most_clients {
                self.counters.rejected_connections.add(1);
                let _ = io::Write::write(&mut stream, TOO_MANY);
                continue;
            }
            let token = self.pools.len() + self.servers.len() + 1 + self.clients.next();
            let Ok(socket) = self.sockets.add(stream, token, false) else { continue };
            self.clients.insert(Client::new(socket, pool));
            self.counters.curr_connections.add(1);
            self.counters.total_connections.add(1);
        }
    }

    /// Something more is to be read of a client later in this turn or in the next.
    pub fn read_again(&mut self, id: Id) {
        if let Some(client) = self.clients.get_mut(id).filter(|client| !client.again) {
            client.again = true;
            self.again.push(id);
        }
    }

    pub fn mark_client(&mut self, id: Id) {
        if let Some(client) = self.clients.get_mut(id).filter(|client| !client.dirty) {
            client.dirty = true;
            self.dirty_clients.push(id);
        }
    }

    pub fn mark_server(&mut self, server: usize) {
        if !std::mem::replace(&mut self.servers[server].dirty, true) {
            self.dirty_servers.push(server);
        }
    }

    /// When something is due though nothing happens.
    fn next_due(&self) -> Option<Nanos> {
        let servers = self.servers.iter().filter_map(|server| match server.state {
            State::Down { until } => (self.ends.is_none()).then_some(until),
            State::Opening { since, .. } => Some(since + self.pools[server.pool].timeout),
            State::Open(_) => server.asked.front().map(|ask| ask.at + self.pools[server.pool].timeout),
        });
        let late = self.pools.iter().filter_map(|pool| pool.late.front().map(|(at, _)| *at));
        servers.chain(late).chain(self.accept_at).chain(self.ends).min()
    }

    fn timers(&mut self) {
        for server in 0..self.servers.len() {
            let timeout = self.pools[self.servers[server].pool].timeout;
            let since = match &self.servers[server].state {
                State::Opening { since, .. } => Some(*since),
                State::Open(_) => self.servers[server].asked.front().map(|ask| ask.at),
                State::Down { .. } => None,
            };
            if since.is_some_and(|since| since + timeout <= self.now) {
                self.server_fails(server, Trouble::Timeout);
            }
        }
        self.look_for_late();
        self.connect_due();
        if self.accept_at.is_some_and(|at| at <= self.now) {
            self.accept_at = None;
            (0..self.pools.len()).for_each(|pool| self.accept(pool));
        }
        if self.stop.load(Relaxed) && self.ends.is_none() {
            self.begin_to_end();
        }
    }

    /// Opens connections to servers whose time has come.
    fn connect_due(&mut self) {
        for number in 0..self.servers.len() {
            let server = &mut self.servers[number];
            let State::Down { until } = server.state else { continue };
            if until > self.now || self.ends.is_some() {
                continue;
            }
            let token = self.pools.len() + number;
            let opening = TcpStream::connect(server.address).and_then(|stream| self.sockets.add(stream, token, true));
            match opening {
                Ok(socket) => {
                    server.state = State::Opening { socket, since: self.now, waits: server.is_first_try() };
                }
                Err(_) => drop(server.close(self.now)),
            }
        }
    }

    /// Nobody new is let in, and nothing more is taken; what was taken is answered.
    fn begin_to_end(&mut self) {
        self.ends = Some(self.now + self.drain);
        for (number, pool) in self.pools.iter_mut().enumerate() {
            pool.listener.take().into_iter().for_each(|listener| self.sockets.unlisten(listener, number));
        }
        for id in self.clients.ids() {
            if let Some(client) = self.clients.get_mut(id) {
                client.closing = true;
            }
            self.mark_client(id);
        }
    }

    fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| ends <= self.now || self.clients.len() == 0)
    }
}

impl Pool {
    fn new(pool: &settings::Pool, first: usize, listener: TcpListener) -> Pool {
        let weighted: Vec<_> = pool.servers.iter().map(|server| server.weighted.clone()).collect();
        // The rate of the client's link counts for none of the laws that settings allow, and each of them has a window.
        let window = pool.multiget.window(&pool.laws, Rate(0)).expect("a law that asks servers");
        Pool {
            name: pool.name.clone(),
            router: Router::new(pool.placement, pool.hash, &weighted),
            limits: Limits {
                value: u32::try_from(pool.item.0).unwrap_or(u32::MAX),
                keys: usize::try_from(pool.keys.0).unwrap_or(usize::MAX),
            },
            first,
            servers: weighted.len(),
            window,
            timeout: nanos(pool.timeout),
            joins: pool.join,
            listener: Some(listener),
            late: VecDeque::new(),
        }
    }
}
