//! Pools and servers of a thread: which connections there are, and which of them need attention.
//!
//! Each server has two slots: an even one for the connection that clients share, and the next one for single requests. Single requests
//! are rare, so the second connections are only looked at while one may be waiting.
//!
//! Pools and servers come and go with the settings ([`Upstreams::install`]). A pool that is replaced keeps its slot until its last client
//! has left it, and its servers stay connected until then, so that no outstanding request loses its server.

pub mod ask;
mod connecting;
mod every;
mod failover;
mod figures;
pub mod hedges;
pub mod pool;
pub mod receiving;
mod reports;
pub mod room;
mod routes;
pub mod server;
pub mod shares;
pub mod streamed_value;

use std::iter::StepBy;
use std::ops::Range;
use std::sync::Arc;

use fanin_memcache::Shape;

use crate::clients::ClientLoad;
use crate::context::Context;
use ask::{Ask, Destination, Recipient};
pub use connecting::Opening;
pub use failover::{Follows, note_key};
use fanin_proxy_config as config;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;
use fanin_proxy_state::handover::PoolName;
use fanin_proxy_state::shared::{Edition, PoolState};
use pool::{Pool, Successor};
use server::Server;

/// The pools and servers.
pub struct Upstreams<S> {
    thread: usize,
    pools: Vec<Pool>,
    /// Slots of the pools in force, in the order of the settings; and unused slots.
    current: Vec<usize>,
    free_pools: Vec<usize>,
    /// By turns, shared connections and those for single requests.
    servers: Vec<Server<S>>,
    free_servers: Vec<usize>,
    /// Servers that no pool uses, and whose requests are not complete.
    retired: Vec<usize>,
    /// Whether single requests may be waiting.
    has_singles: bool,
    /// To write to at the end of the iteration.
    marked: Vec<usize>,
    /// Number of the edition of the settings, and of changes of pools' members, that it has followed.
    edition: u64,
    members: u64,
    /// First line of a meta response for the client.
    told: Vec<u8>,
}

impl<S> Upstreams<S> {
    /// No pools yet, for the `thread`th thread.
    pub fn new(thread: usize) -> Upstreams<S> {
        Upstreams {
            thread,
            pools: Vec::new(),
            current: Vec::new(),
            free_pools: Vec::new(),
            servers: Vec::new(),
            free_servers: Vec::new(),
            retired: Vec::new(),
            has_singles: false,
            marked: Vec::new(),
            edition: 0,
            members: 0,
            told: Vec::new(),
        }
    }

    pub fn pool(&self, pool: usize) -> &Pool {
        &self.pools[pool]
    }

    pub fn pool_mut(&mut self, pool: usize) -> &mut Pool {
        &mut self.pools[pool]
    }

    /// All pools, also those that are not in force any more.
    pub fn pools_mut(&mut self) -> &mut [Pool] {
        &mut self.pools
    }

    /// Slots of the pools in force.
    pub fn current_slots(&self) -> impl Iterator<Item = usize> {
        self.current.iter().copied()
    }

    /// The pools in force.
    pub fn current(&self) -> impl Iterator<Item = &Pool> {
        self.current.iter().map(|pool| &self.pools[*pool])
    }

    /// Slot of the pool in force that continues a predecessor process' pool.
    pub fn successor_of(&self, pool: &PoolName) -> Option<usize> {
        let pools: Vec<PoolName> = self.current().map(|pool| PoolName::of(&pool.shared.settings)).collect();
        pool.successor(&pools).and_then(|place| self.current_slots().nth(place))
    }

    /// Number of slots of shared connections, used or not; each is twice its number.
    pub fn slots(&self) -> usize {
        self.servers.len() / 2
    }

    /// The servers of the pools in force.
    pub fn current_servers(&self) -> impl Iterator<Item = &Server<S>> {
        self.current().flat_map(Pool::servers).map(|server| &self.servers[*server as usize])
    }

    pub fn is_shared(&self, server: usize) -> bool {
        server.is_multiple_of(2)
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

    /// Queues a request of a client with this load.
    ///
    /// # Errors
    /// The server does not accept it.
    #[inline]
    pub fn queue(
        &mut self,
        server: usize,
        load: ClientLoad,
        ask: Ask,
        note: &[u8],
        bytes: &[&[u8]],
    ) -> Result<(), ServerError> {
        let to = &mut self.servers[server];
        if let Err(trouble) = to.accepts(load, ask.tenant)
            && !(ask.is_for_copies() && to.takes_deletions())
        {
            return Err(trouble);
        }
        to.queue(ask, note, bytes);
        self.mark(server);
        Ok(())
    }

    /// Queues a single request of a client with this load, for the second connection of a server.
    ///
    /// # Errors
    /// The server does not accept it.
    pub fn queue_single<N: Net<Socket = S>>(
        &mut self,
        server: usize,
        load: ClientLoad,
        ask: Ask,
        line: &[u8],
        context: &mut Context<N>,
    ) -> Result<(), ServerError> {
        let second = server + 1;
        self.servers[second].accepts(load, ask.tenant)?;
        self.servers[second].queue_single(ask, line);
        self.has_singles = true;
        self.send_next_single(second, context);
        Ok(())
    }

    /// Sends the next request on a second connection if it is open and idle, followed by one with an opaque token.
    pub fn send_next_single<N: Net<Socket = S>>(&mut self, server: usize, context: &mut Context<N>) {
        let Some((ask, line)) = self.servers[server].next_single() else { return };
        let mark = context.random_mark();
        let mut closing = Vec::new();
        fanin_memcache::closing_question(mark, |bytes| closing.extend_from_slice(bytes));
        self.servers[server].queue(Ask { at: context.now, ..ask }, mark.bytes(), &[&line, &closing]);
        self.mark(server);
    }

    /// Asks a server that has failed repeatedly for its version, before clients' requests go to it.
    pub fn probe(&mut self, server: usize, now: Nanos) {
        let probe = Ask::new(Recipient::NOBODY, Destination::Probe, Shape::Version, now);
        self.servers[server].queue(probe, &[], &[b"version\r\n"]);
        self.mark(server);
    }

    /// Queues a request of the front end itself, if the server is connected; returns whether it is.
    pub fn queue_own(&mut self, server: usize, ask: Ask, note: &[u8], bytes: &[&[u8]]) -> bool {
        let is_open = self.servers[server].is_open();
        if is_open {
            self.servers[server].queue(ask, note, bytes);
            self.mark(server);
        }
        is_open
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

    /// The connections in use.
    pub fn in_use(&self) -> StepBy<Range<usize>> {
        (0..self.servers.len()).step_by(if self.has_singles { 1 } else { 2 })
    }

    /// Requests of the loop iteration that began at a time were sent only now.
    pub fn has_sent_late(&mut self, begun: Nanos, ended: Nanos) {
        self.servers.iter_mut().for_each(|server| server.has_sent_late(begun, ended));
    }

    /// Stops to look at second connections if all are idle.
    pub fn rest_if_idle(&mut self) {
        self.has_singles &= !self.servers.iter().skip(1).step_by(2).all(Server::is_idle);
    }

    /// The next time at which there is work without an event; a stopping front end opens no shared connections.
    pub fn next_due(&self, stopping: bool) -> Option<Nanos> {
        let servers = self.in_use().filter_map(|server| self.servers[server].next_due(stopping));
        let hedges = self.pools.iter().filter_map(|pool| pool.hedges.as_ref()?.next_due());
        servers.chain(self.pools.iter().filter_map(Pool::late_at)).chain(hedges).min()
    }
}

/// Pools and servers that come and go.
impl<S> Upstreams<S> {
    /// Number of the edition that is installed.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Replaces the pools by those of other settings; returns the slots of those that are new. Pools and servers that stay keep their slots.
    pub fn install(&mut self, edition: &Edition) -> Vec<usize> {
        self.edition = edition.number;
        let before = std::mem::take(&mut self.current);
        let old: Vec<config::Pool> = before.iter().map(|pool| self.pools[*pool].shared.settings.clone()).collect();
        let old: Vec<&config::Pool> = old.iter().collect();
        for state in &edition.pools {
            let pool = state.settings.predecessor(&edition.settings.pools, &old).map(|place| before[place]);
            let is_same = |pool: &usize| Arc::ptr_eq(&self.pools[*pool].shared, state);
            let pool = pool.filter(is_same).unwrap_or_else(|| self.add_pool(state, pool));
            self.current.push(pool);
        }
        let new = self.current.iter().copied().filter(|pool| !before.contains(pool)).collect();
        for pool in before.into_iter().filter(|pool| !self.current.contains(pool)).collect::<Vec<_>>() {
            if self.pools[pool].successor == Successor::None {
                self.pools[pool].successor = Successor::Closing;
            }
            self.pools[pool].detach_members();
            self.forget_unused_pool(pool);
        }
        new
    }

    /// Adds a pool, which takes over servers and clients of its predecessor.
    fn add_pool(&mut self, state: &Arc<PoolState>, old: Option<usize>) -> usize {
        let slot = self.free_pools.pop().unwrap_or(self.pools.len());
        let pool = &state.settings;
        let mut servers = Vec::with_capacity(pool.servers.len());
        for (server, shared) in pool.servers.iter().zip(&state.servers) {
            let settings = server;
            // Not by its address: it may have been removed and added again since this thread looked, and then has another state.
            let is_it = |slot: &usize| Arc::ptr_eq(self.servers[*slot].state_of_all(), shared);
            let stays = old.and_then(|old| self.pools[old].servers().iter().map(|slot| *slot as usize).find(is_it));
            let server = stays.unwrap_or_else(|| {
                let pair = [
                    Server::shared(server, shared.clone(), self.thread),
                    Server::alone(server, shared.clone(), self.thread),
                ];
                self.add_server(pair)
            });
            self.servers[server..server + 2].iter_mut().for_each(|one| one.join_pool(slot, pool, settings));
            servers.push(server as u32);
        }
        let new = Pool::new(state.clone(), servers, self.thread);
        match self.pools.get_mut(slot) {
            Some(free) => *free = new,
            None => self.pools.push(new),
        }
        if let Some(old) = old {
            self.pools[old].successor = Successor::Pool(slot);
        }
        slot
    }

    fn add_server(&mut self, pair: [Server<S>; 2]) -> usize {
        let Some(slot) = self.free_servers.pop() else {
            self.servers.extend(pair);
            return self.servers.len() - 2;
        };
        for (place, server) in self.servers[slot..].iter_mut().zip(pair) {
            *place = server;
        }
        slot
    }

    /// Adds a client to a pool.
    pub fn enter(&mut self, pool: usize) {
        self.pools[pool].clients += 1;
    }

    /// Removes a client from a pool.
    pub fn leave(&mut self, pool: usize) {
        self.pools[pool].clients -= 1;
        self.forget_unused_pool(pool);
    }

    /// Frees the slot of a pool that is not in force and has no clients; its servers retire unless other pools use them.
    fn forget_unused_pool(&mut self, pool: usize) {
        let old = &mut self.pools[pool];
        if old.successor == Successor::None || old.clients > 0 {
            return;
        }
        for server in old.release() {
            let server = server as usize;
            self.servers[server..server + 2].iter_mut().for_each(Server::leave_pool);
            if self.servers[server].is_retired() {
                self.retired.push(server);
            }
        }
        // Pools that it succeeded have its successor.
        let next = self.pools[pool].successor;
        for other in &mut self.pools {
            if other.successor == Successor::Pool(pool) {
                other.successor = next;
            }
        }
        self.free_pools.push(pool);
    }

    /// Takes a retired server whose requests are complete, with its connections; its slot becomes free.
    fn take_retired(&mut self, now: Nanos) -> Option<[Option<S>; 2]> {
        let is_through = |server: &usize| self.servers[*server].is_through() && self.servers[*server + 1].is_through();
        let place = self.retired.iter().position(is_through)?;
        let server = self.retired.swap_remove(place);
        let [one, two] = [server, server + 1].map(|server| self.servers[server].close(now, 0).0);
        self.free_servers.push(server);
        Some([one, two])
    }

    /// Closes the connections of servers that no pool uses any more, once their requests are complete.
    pub fn close_retired<N: Net<Socket = S>>(&mut self, context: &mut Context<N>) {
        while !self.retired.is_empty()
            && let Some(sockets) = self.take_retired(context.now)
        {
            sockets.into_iter().flatten().for_each(|socket| context.net.close(socket));
        }
    }
}
