//! Requests to every server of a pool.

use fanin_memcache::Shape;

use super::Upstreams;
use super::ask::{Ask, Destination, Recipient};
use crate::context::Context;
use fanin_proxy_net::Net;

impl<S> Upstreams<S> {
    /// A request for each server of a pool.
    pub fn asks_of_every<N: Net<Socket = S>>(
        &self,
        pool: usize,
        of: Recipient,
        to: impl Fn(usize) -> Destination,
        shape: Shape,
        context: &Context<N>,
    ) -> Vec<(usize, Ask)> {
        let servers = self.pool(pool).servers().iter().map(|server| *server as usize);
        let ask = |server| (server, Ask::new(of, to(server), shape, context.now));
        let mut asks: Vec<(usize, Ask)> = servers.map(ask).collect();
        if asks.iter().any(|(_, ask)| matches!(ask.to, Destination::Flush { .. })) {
            context.writes().flush_begins(asks.len());
            asks.iter_mut().for_each(|(_, ask)| ask.changes = true);
        }
        asks
    }

    /// A server of a pool that is in use, or the first one.
    pub fn one_in_use(&self, pool: usize) -> usize {
        let servers = self.pool(pool).servers();
        let in_use = servers.iter().map(|server| *server as usize).find(|one| !self.server(*one).is_out());
        in_use.unwrap_or(servers[0] as usize)
    }
}
