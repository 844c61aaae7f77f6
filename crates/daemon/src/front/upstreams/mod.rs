//! Pools and servers of a thread: which connections there are, and which of them need attention.
//!
//! Each server has two slots: one for the connection that clients share, and one for single requests. Single requests are rare, so the
//! second connections are only looked at while one may be waiting.

pub mod ask;
pub mod error;
pub mod pool;
pub mod server;

use std::ops::Range;

use fanin_memcache::Mark;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::net::clock::Nanos;
use crate::net::{Net, Token};
use crate::settings::Settings;
use ask::Ask;
use error::ServerError;
use pool::Pool;
use server::Server;

/// The pools and servers.
pub struct Upstreams<S> {
    pools: Vec<Pool>,
    /// The shared connections, one per server; then, in the same order, those for single requests.
    servers: Vec<Server<S>>,
    shared: usize,
    /// Whether single requests may be waiting.
    has_singles: bool,
    /// To write to at the end of the iteration.
    marked: Vec<usize>,
    /// To read from in the next iteration.
    again: Vec<usize>,
    marks: StdRng,
}

impl<S> Upstreams<S> {
    /// The pools of the settings, not connected yet. The seed must be unpredictable.
    pub fn new(settings: &Settings, seed: [u8; 32]) -> Upstreams<S> {
        let (mut pools, mut servers, mut second) = (Vec::new(), Vec::new(), Vec::new());
        for (number, pool) in settings.pools.iter().enumerate() {
            pools.push(Pool::new(pool, servers.len()));
            for one in &pool.servers {
                servers.push(Server::shared(one.weighted.name.clone(), one.target.clone(), number));
                second.push(Server::alone(one.weighted.name.clone(), one.target.clone(), number));
            }
        }
        let shared = servers.len();
        servers.append(&mut second);
        let marks = StdRng::from_seed(seed);
        Upstreams { pools, servers, shared, has_singles: false, marked: Vec::new(), again: Vec::new(), marks }
    }

    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    pub fn pool(&self, pool: usize) -> &Pool {
        &self.pools[pool]
    }

    pub fn pool_mut(&mut self, pool: usize) -> &mut Pool {
        &mut self.pools[pool]
    }

    /// The shared connections.
    pub fn shared(&self) -> &[Server<S>] {
        &self.servers[..self.shared]
    }

    pub fn is_shared(&self, server: usize) -> bool {
        server < self.shared
    }

    pub fn server(&self, server: usize) -> &Server<S> {
        &self.servers[server]
    }

    pub fn server_mut(&mut self, server: usize) -> &mut Server<S> {
        &mut self.servers[server]
    }

    /// The pool of a server.
    pub fn pool_of(&self, server: usize) -> &Pool {
        &self.pools[self.servers[server].pool]
    }

    /// The servers of a pool, by their shared connections.
    pub fn of_pool(&self, pool: usize) -> Range<usize> {
        let pool = &self.pools[pool];
        pool.first..pool.first + pool.servers
    }

    /// A random opaque token.
    pub fn random_mark(&mut self) -> Mark {
        Mark::of(self.marks.next_u64())
    }

    /// A random number.
    pub fn random(&mut self) -> u64 {
        self.marks.next_u64()
    }

    /// Queues a request of a client with this many bytes and requests outstanding.
    ///
    /// # Errors
    /// The server does not accept it.
    #[inline]
    pub fn queue(
        &mut self,
        server: usize,
        (under_way, unanswered): (usize, usize),
        ask: Ask,
        note: &[u8],
        bytes: &[&[u8]],
    ) -> Result<(), ServerError> {
        let to = &mut self.servers[server];
        to.accepts(under_way, unanswered)?;
        to.queue(ask, note, bytes);
        self.mark(server);
        Ok(())
    }

    /// Queues a single request of a client with this many requests outstanding, for the second connection of a server.
    ///
    /// # Errors
    /// The server does not accept it.
    pub fn queue_single(&mut self, server: usize, unanswered: usize, ask: Ask, line: &[u8]) -> Result<(), ServerError> {
        let second = self.shared + server;
        self.servers[second].accepts(0, unanswered)?;
        self.servers[second].queue_single(ask, line);
        self.has_singles = true;
        self.send_next_single(second, ask.at);
        Ok(())
    }

    /// Sends the next request on a second connection if it is open and idle, followed by one with an opaque token.
    pub fn send_next_single(&mut self, server: usize, now: Nanos) {
        let Some((ask, line)) = self.servers[server].next_single() else { return };
        let mark = self.random_mark();
        let mut closing = Vec::new();
        fanin_memcache::closing_question(mark, |bytes| closing.extend_from_slice(bytes));
        self.servers[server].queue(Ask { at: now, ..ask }, mark.bytes(), &[&line, &closing]);
        self.mark(server);
    }

    /// Starts to connect to a server; returns whether that worked.
    pub fn connect<N: Net<Socket = S>>(&mut self, server: usize, net: &mut N, now: Nanos) -> bool {
        self.servers[server].connect(net, Token::Server(server), now)
    }

    /// Marks a server to be written to at the end of the iteration.
    pub fn mark(&mut self, server: usize) {
        if self.servers[server].mark() {
            self.marked.push(server);
        }
    }

    pub fn has_marked(&self) -> bool {
        !self.marked.is_empty()
    }

    /// Takes the list of marked servers; return it with [`Upstreams::recycle`].
    pub fn take_marked(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.marked)
    }

    /// Reuses the memory of an emptied list.
    pub fn recycle(&mut self, list: Vec<usize>) {
        if self.marked.is_empty() {
            self.marked = list;
        }
    }

    /// Continues to read from a server in the next iteration.
    pub fn read_again(&mut self, server: usize) {
        if self.servers[server].read_again() {
            self.again.push(server);
        }
    }

    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// Servers to read from.
    pub fn take_again(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.again)
    }

    /// The connections in use.
    pub fn in_use(&self) -> Range<usize> {
        0..if self.has_singles { self.servers.len() } else { self.shared }
    }

    /// Stops to look at second connections if all are idle.
    pub fn rest_if_idle(&mut self) {
        self.has_singles &= !self.servers[self.shared..].iter().all(Server::is_idle);
    }

    /// The next time at which there is work without an event; a stopping front end opens no shared connections.
    pub fn next_due(&self, stopping: bool) -> Option<Nanos> {
        let servers = self.servers[self.in_use()].iter();
        let servers = servers.filter_map(|server| server.next_due(self.pools[server.pool].timeout, stopping));
        servers.chain(self.pools.iter().filter_map(Pool::late_at)).min()
    }
}
