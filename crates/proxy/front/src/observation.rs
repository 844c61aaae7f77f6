//! Observation of a thread: when servers are observed for metrics, which keys are sampled and logged, and figures of multigets.

use std::ops::Range;

use crate::context::Context;
use crate::multigets::Multiget;
use crate::upstreams::pool::Pool;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_net::Net;
use fanin_proxy_observe::log::{Logged, Tap};
use fanin_proxy_observe::messages::{Report, SlowMultiget};
use fanin_proxy_observe::metrics::hot_keys::Sampler;

/// Time between two observations of a server.
const BETWEEN: Nanos = 1_000_000_000;
/// Servers observed per loop iteration.
const AT_ONCE: usize = 32;

/// Observation of one thread.
pub struct Observation {
    /// When the next servers are observed, and the first of them; none if nobody needs it.
    next: Option<(Nanos, usize)>,
    hot_keys: Option<Sampler>,
    log: Option<Tap>,
}

impl Observation {
    /// Observes servers, or not; samples keys with an unpredictable seed, or not; logs requests, or not.
    pub fn new(servers: bool, seed: Option<u64>, log: Option<Tap>) -> Observation {
        Observation { next: servers.then_some((0, 0)), hot_keys: seed.map(Sampler::new), log }
    }

    /// Observes servers from now on, or no more.
    pub fn observe(&mut self, servers: bool) {
        self.next = if servers { self.next.or(Some((0, 0))) } else { None };
    }

    /// When servers are observed next, or the log is handed on.
    pub fn next_due(&self) -> Option<Nanos> {
        let log = self.log.as_ref().and_then(Tap::due);
        self.next.map(|(at, _)| at).into_iter().chain(log).min()
    }

    /// The servers to observe now, of this many.
    pub fn due(&mut self, now: Nanos, all: usize) -> Range<usize> {
        let Some((_, first)) = self.next.filter(|(at, _)| *at <= now) else { return 0..0 };
        let end = all.min(first + AT_ONCE);
        self.next = Some(if end < all { (now, end) } else { (now + BETWEEN, 0) });
        first.min(end)..end
    }

    /// Samples this many keys of a pool; `key` returns one of them by its number.
    #[inline]
    fn sample<'a, N: Net>(
        &mut self,
        pool: &Pool,
        keys: u64,
        context: &Context<N>,
        key: impl FnMut(u64) -> Option<&'a [u8]>,
    ) {
        if let (Some(sampler), Some(sketch)) = (&mut self.hot_keys, &context.counters.hot_keys) {
            sampler.take(sketch, &pool.shared.settings.name, keys, context.now, key);
        }
    }

    /// Samples a key that is requested alone.
    #[inline]
    pub fn key<N: Net>(&mut self, pool: &Pool, key: &[u8], context: &Context<N>) {
        self.sample(pool, 1, context, |_| Some(key));
    }

    /// Begins a query; returns its number in the log, if it is in the sample.
    pub fn begin_query(&mut self) -> Option<u64> {
        self.log.as_mut().and_then(Tap::begins)
    }

    /// Logs a key of a query that is requested alone. Its size is not known yet.
    pub fn log_key<N: Net>(&mut self, query: Option<u64>, key: &[u8], pool: &Pool, context: &Context<N>) {
        if let (Some(tap), Some(query)) = (&mut self.log, query) {
            tap.asked(context.now, query, context.now, Logged { key, size: None, server: pool.router.server(key) });
            context.counters.log_keys.add(1);
        }
    }

    /// Hands the log on, if that is due, or if it `ends`.
    pub fn hand_on_log<N: Net>(&mut self, ends: bool, context: &Context<N>) {
        if let Some(tap) = &mut self.log {
            context.counters.log_full.add(tap.hand_on(context.now, ends));
        }
    }

    /// Counts a multiget of a pool, and samples its keys.
    pub fn multiget_begins<N: Net>(&mut self, pool: &Pool, multiget: &Multiget, context: &Context<N>) {
        let keys = multiget.keys();
        context.counters.get_keys.add(keys as u64);
        context.counters.multiget(keys);
        if let Some(figures) = &pool.figures().multigets {
            figures.keys.add(keys as u64);
            figures.servers.add(multiget.batches() as u64);
        }
        self.sample(pool, keys as u64, context, |number| multiget.key(number as usize));
    }

    /// Counts the end of a multiget whose request was read at a time, reports it if it was slow, and logs its keys if it is in the sample.
    /// The server whose response came last has a name.
    pub fn multiget_ends<N: Net>(
        &mut self,
        pool: &Pool,
        multiget: &Multiget,
        at: Nanos,
        slowest: &str,
        context: &mut Context<N>,
    ) {
        if let Some(figures) = &pool.figures().multigets
            && let Some(limit) = multiget.limit()
        {
            figures.limits.add(limit.into());
        }
        if let Some(incast) = &pool.shared.incast {
            incast.count(context.thread, &multiget.ended());
        }
        if context.now.saturating_sub(multiget.begun()) >= pool.slow {
            report_slow(pool, multiget, slowest, context);
        }
        if let (Some(tap), Some(query)) = (&mut self.log, multiget.logged()) {
            multiget.each(|key, size| {
                tap.asked(context.now, query, at, Logged { key, size, server: pool.router.server(key) });
            });
            context.counters.log_keys.add(multiget.keys() as u64);
        }
    }
}

/// Reports a slow multiget.
fn report_slow<N: Net>(pool: &Pool, multiget: &Multiget, slowest: &str, context: &mut Context<N>) {
    let (_, asked, ended) = multiget.slowest();
    let micros = |from: Nanos, to: Nanos| to.saturating_sub(from) / 1000;
    let slow = SlowMultiget {
        pool: &pool.shared.settings.name,
        keys: multiget.keys(),
        servers: multiget.batches(),
        took: micros(multiget.begun(), context.now),
        slowest,
        waited: micros(multiget.begun(), asked),
        responded: micros(asked, ended),
        unread: micros(ended, context.now),
        error: multiget.failure(),
    };
    context.net.report(&Report::SlowMultiget(slow));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_observed_once_a_second() {
        let mut observation = Observation::new(true, None, None);
        let (mut seen, mut now) = (vec![0; 100], 0);
        while now < 3 * BETWEEN {
            observation.due(now, 100).for_each(|server| seen[server] += 1);
            now = observation.next_due().unwrap();
        }
        assert_eq!(seen, vec![3; 100]);
        let mut none = Observation::new(false, None, None);
        assert_eq!((none.due(5, 100), none.next_due()), (0..0, None));
    }
}
