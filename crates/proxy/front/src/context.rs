//! Context that every part of a front end may use besides its own state.

use std::sync::Arc;

use fanin_memcache::Mark;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::tenants::{Identity, Tenant};
use fanin_proxy_net::Net;
use fanin_proxy_observe::metrics::Counters;
use fanin_proxy_routing::writes::Writes;
use fanin_proxy_state::shared::Shared;

/// Bytes per read.
pub const READ: usize = 256 << 10;

/// Network, time and random numbers of a thread, and the state that threads share.
pub struct Context<N> {
    pub net: N,
    /// Time of the loop iteration, and of the previous one: all that had come by then has been read.
    pub now: Nanos,
    pub polled: Nanos,
    /// Number of the thread.
    pub thread: usize,
    pub counters: Arc<Counters>,
    pub shared: Arc<Shared>,
    random: StdRng,
}

impl<N: Net> Context<N> {
    /// The context of the `thread`th thread. The seed must be unpredictable.
    pub fn new(net: N, thread: usize, shared: Arc<Shared>, seed: [u8; 32]) -> Context<N> {
        let counters = shared.threads[thread].clone();
        Context { net, now: 0, polled: 0, thread, counters, shared, random: StdRng::from_seed(seed) }
    }

    /// A random number.
    pub fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    /// A random opaque token.
    pub fn random_mark(&mut self) -> Mark {
        Mark::of(self.random())
    }

    /// Writes in progress.
    pub fn writes(&self) -> &Arc<Writes> {
        &self.shared.writes
    }

    /// The tenant of a new connection, by its address.
    pub fn tenant_of(&self, stream: &N::Stream) -> Arc<Tenant> {
        self.shared.tenants.of(Identity::of_address(self.net.peer(stream).ok().flatten()))
    }

    /// Counts keys of gets, of which some were found.
    pub fn count_gets(&self, keys: usize, found: usize) {
        self.counters.get_hits.add(found as u64);
        self.counters.get_misses.add((keys - found) as u64);
    }
}
