//! Counts for metrics beside the counters of requests: hits, keys, and the connections to servers.

use fanin_memcache::{Command, Keyed, Meta};

use super::Front;
use super::multigets::Multiget;
use super::upstreams::ask::{Ask, Destination};
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_net::Net;
use fanin_proxy_observe::messages::{Report, SlowMultiget};
use fanin_proxy_observe::metrics::Class;

impl<N: Net> Front<N> {
    /// Observes servers that are due.
    pub(super) fn observe_servers(&mut self) {
        let due = self.observation.due(self.now, self.upstreams.slots());
        due.for_each(|slot| self.observe_server(2 * slot));
    }

    /// Observes the shared connection of a server.
    pub(super) fn observe_server(&mut self, server: usize) {
        let from = self.upstreams.server(server);
        if let Some(figures) = from.figures() {
            figures.observe(from.tcp(&self.net), from.unanswered() as u64);
        }
    }

    /// Counts a failed connection of a server.
    pub(super) fn count_failure(&self, server: usize, trouble: ServerError) {
        self.counters.server_failures.add(1);
        self.upstreams.server(server).figures().into_iter().for_each(|figures| figures.failures(trouble).add(1));
    }

    /// Counts a request that a server does not accept, and reports a busy server.
    pub(super) fn count_refusal(&mut self, server: usize, trouble: ServerError) {
        if trouble != ServerError::Busy {
            return;
        }
        self.upstreams.server(server).figures().into_iter().for_each(|figures| figures.refused.add(1));
        if self.upstreams.server_mut(server).is_now_busy() {
            self.report_busy(server, true);
        }
    }

    /// Counts a complete response of a server.
    pub(super) fn count_response(&self, server: usize, ask: &Ask) {
        if let Some(figures) = self.upstreams.server(server).figures()
            && let Some(responses) = &figures.responses
        {
            responses.add(self.now.saturating_sub(ask.at));
        }
    }

    /// Counts the result of a get of one key.
    pub(super) fn count_get(&self, ask: &Ask, found: bool) {
        let clients = match ask.to {
            Destination::Relay { .. } => 1,
            Destination::Joined(get) => self.coalescing.clients(get),
            _ => return,
        };
        self.count_gets(clients, if found { clients } else { 0 });
    }

    /// Counts keys of gets, of which some were found.
    pub(super) fn count_gets(&self, keys: usize, found: usize) {
        self.counters.get_hits.add(found as u64);
        self.counters.get_misses.add((keys - found) as u64);
    }

    /// Counts a multiget of a pool.
    pub(super) fn count_multiget(&mut self, pool: usize, multiget: &Multiget) {
        let keys = multiget.keys();
        self.counters.get_keys.add(keys as u64);
        self.counters.multiget(keys);
        if let Some(figures) = &self.upstreams.pool(pool).figures().multigets {
            figures.keys.add(keys as u64);
            figures.servers.add(multiget.batches() as u64);
        }
        let pool = &self.upstreams.pool(pool).shared.settings.name;
        self.observation.keys(&self.counters, pool, keys as u64, self.now, |number| multiget.key(number as usize));
    }

    /// Counts the end of a multiget.
    pub(super) fn count_multiget_end(&self, pool: usize, multiget: &Multiget) {
        if let Some(figures) = &self.upstreams.pool(pool).figures().multigets
            && let Some(limit) = multiget.limit()
        {
            figures.limits.add(limit.into());
        }
        if let Some(incast) = &self.upstreams.pool(pool).shared.incast {
            incast.count(self.thread, &multiget.ended());
        }
    }

    /// Samples a key that is requested alone.
    pub(super) fn count_key(&mut self, pool: usize, key: &[u8]) {
        let pool = &self.upstreams.pool(pool).shared.settings.name;
        self.observation.keys(&self.counters, pool, 1, self.now, |_| Some(key));
    }

    /// Reports a multiget if it was slow.
    pub(super) fn report_if_slow(&mut self, pool: usize, multiget: &Multiget) {
        let (took, pool) = (self.now.saturating_sub(multiget.begun()), self.upstreams.pool(pool));
        if took < pool.slow {
            return;
        }
        let (server, asked, ended) = multiget.slowest();
        let micros = |from: Nanos, to: Nanos| to.saturating_sub(from) / 1000;
        let slow = SlowMultiget {
            pool: &pool.shared.settings.name,
            keys: multiget.keys(),
            servers: multiget.batches(),
            took: took / 1000,
            slowest: &self.upstreams.server(pool.server(server)).name,
            waited: micros(multiget.begun(), asked),
            responded: micros(asked, ended),
            unread: micros(ended, self.now),
            error: multiget.failure(),
        };
        self.net.report(&Report::SlowMultiget(slow));
    }
}

/// Class of a command for one key.
pub fn class(keyed: &Keyed<'_>, value: Option<&[u8]>) -> Class {
    match keyed.command {
        _ if value.is_some() => Class::Store,
        Command::Meta(Meta::Get, _) => Class::Get,
        Command::Delete | Command::Meta(Meta::Delete, _) => Class::Delete,
        _ => Class::Other,
    }
}
