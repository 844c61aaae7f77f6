//! Servers that have a key's value, and their load.

use fanin_memcache::Get;
use fanin_placement::Server as Replica;

use super::Upstreams;
use fanin_proxy_failover::Route;
use fanin_proxy_routing::writes::Writes;

impl<S> Upstreams<S> {
    /// Servers that have a key's value: during a write only the primary.
    pub fn readable(&self, pool: usize, key: &[u8], writes: &Writes) -> Route {
        let from = self.pool(pool);
        let mut route = from.route(key, from.replica_move(key).as_ref());
        if writes.is_open(Writes::group(key)) {
            route.copies.clear();
        }
        route
    }

    /// Chooses the servers of a multiget's first keys, if they have replicas.
    pub fn choose_servers(&mut self, pool: usize, get: &Get<'_>, most: usize, writes: &Writes) -> Option<Vec<Replica>> {
        if !self.pool(pool).has_replicas() || get.unique || get.time.is_some() {
            return None;
        }
        let mut replicas = Vec::with_capacity(most.min(1024));
        for key in get.keys().take(most) {
            let route = self.readable(pool, key, writes);
            let servers = std::iter::once(route.primary).chain(route.copies);
            replicas.push(servers.map(|server| Replica(server as u32)).collect());
        }
        Some(self.pool_mut(pool).cover(&replicas))
    }

    /// Mean size of a tenant's latest values: the largest of a pool's servers, if there have been some.
    pub fn mean_value(&self, pool: usize, tenant: u32) -> Option<usize> {
        self.pool(pool).servers().iter().filter_map(|server| self.server(*server as usize).mean_value(tenant)).max()
    }

    /// Number of outstanding requests of a pool's server.
    pub fn load(&self, pool: usize, server: usize) -> usize {
        self.server(self.pool(pool).server(server)).unanswered()
    }
}
