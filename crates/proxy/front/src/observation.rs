//! When servers are observed for metrics, and which keys are sampled.

use std::ops::Range;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_observe::metrics::Counters;
use fanin_proxy_observe::metrics::hot_keys::Sampler;

/// Time between two observations of a server.
const BETWEEN: Nanos = 1_000_000_000;
/// Servers observed per loop iteration.
const AT_ONCE: usize = 32;

/// Observation of one thread.
#[derive(Debug)]
pub struct Observation {
    /// When the next servers are observed, and the first of them; none if nobody needs it.
    next: Option<(Nanos, usize)>,
    hot_keys: Option<Sampler>,
}

impl Observation {
    /// Observes servers, or not; samples keys with an unpredictable seed, or not.
    pub fn new(servers: bool, seed: Option<u64>) -> Observation {
        Observation { next: servers.then_some((0, 0)), hot_keys: seed.map(Sampler::new) }
    }

    /// Observes servers from now on, or no more.
    pub fn observe(&mut self, servers: bool) {
        self.next = if servers { self.next.or(Some((0, 0))) } else { None };
    }

    /// When servers are observed next.
    pub fn next_due(&self) -> Option<Nanos> {
        self.next.map(|(at, _)| at)
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
    pub fn keys<'a>(
        &mut self,
        counters: &Counters,
        pool: &str,
        keys: u64,
        now: Nanos,
        key: impl FnMut(u64) -> Option<&'a [u8]>,
    ) {
        if let (Some(sampler), Some(sketch)) = (&mut self.hot_keys, &counters.hot_keys) {
            sampler.take(sketch, pool, keys, now, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_observed_once_a_second() {
        let mut observation = Observation::new(true, None);
        let (mut seen, mut now) = (vec![0; 100], 0);
        while now < 3 * BETWEEN {
            observation.due(now, 100).for_each(|server| seen[server] += 1);
            now = observation.next_due().unwrap();
        }
        assert_eq!(seen, vec![3; 100]);
        let mut none = Observation::new(false, None);
        assert_eq!((none.due(5, 100), none.next_due()), (0..0, None));
    }
}
