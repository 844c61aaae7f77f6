//! Counters: each thread writes its own, `stats` adds them up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::server::ServerError;

/// A counter with one writing thread and any number of readers.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    pub fn less(&self, less: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_sub(less), Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $name:ident)*) => {
        /// Counters of one thread.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[doc = $doc])* pub $name: Counter,)*
            /// Multigets by the binary logarithm of their number of keys: 2 to 3, 4 to 7, and so on.
            pub multigets: [Counter; 16],
            /// Per pool, latencies of gets and of other requests.
            pub took: Vec<[Buckets; 2]>,
        }

        impl Counters {
            /// The plain counters with their names.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }
        }
    };
}

counters! {
    curr_connections
    total_connections
    /// Rejected because of the limit.
    rejected_connections
    requests
    /// Keys of classic gets.
    get_keys
    /// Gets that joined an equal one.
    get_joined
    stores
    /// Moving keys: hits at the new server, requests to the old server, and copies made.
    moving_found
    moving_fell_back
    moving_copied
    /// Batches of multigets.
    batches
    late_batches
    turns
    naps
    errors_refused
    errors_down
    errors_timeout
    errors_closed
    errors_nonsense
    errors_busy
    /// Clients closed because memory was short.
    clients_cut_off
    /// Clients closed because they were idle.
    clients_idle
    server_connects
    /// Logged keys, and those dropped because the log was behind.
    log_keys
    log_full
    /// Restarts of threads after a panic.
    threads_restarted
}

impl Counters {
    /// Counters of a thread with this many pools.
    pub fn of_pools(pools: usize) -> Counters {
        Counters { took: (0..pools).map(|_| Default::default()).collect(), ..Counters::default() }
    }

    /// Counts a failed request.
    pub fn failed(&self, trouble: ServerError) {
        let counter = match trouble {
            ServerError::Down => &self.errors_down,
            ServerError::Timeout => &self.errors_timeout,
            ServerError::Closed => &self.errors_closed,
            ServerError::Invalid => &self.errors_nonsense,
            ServerError::Busy => &self.errors_busy,
        };
        counter.add(1);
    }
}

/// Number of buckets: eight per doubling, from a nanosecond on.
const BUCKETS: usize = 8 * 48;
/// Length of a counting window; reports cover the current and the last one.
pub const SPAN: u64 = 30_000_000_000;

/// Latency histogram of the last one or two windows.
#[derive(Debug)]
pub struct Buckets {
    /// Two windows that alternate.
    counts: [Vec<Counter>; 2],
    /// Index of the last window counted.
    span: Counter,
}

impl Default for Buckets {
    fn default() -> Buckets {
        let counts = || (0..BUCKETS).map(|_| Counter::default()).collect();
        Buckets { counts: [counts(), counts()], span: Counter::default() }
    }
}

impl Buckets {
    /// Counts a request that took this long and ends now.
    pub fn add(&self, now: u64, nanos: u64) {
        let (span, last) = (now / SPAN, self.span.get());
        if span != last {
            // Forget windows that are two or more back.
            let old = if span == last + 1 { &self.counts[span as usize % 2..][..1] } else { &self.counts[..] };
            old.iter().flatten().for_each(|counter| counter.less(counter.get()));
            self.span.add(span - last);
        }
        self.counts[span as usize % 2][bucket(nanos)].add(1);
    }

    /// Count of a bucket in the current and the last window.
    fn recent(&self, now: u64, bucket: usize) -> u64 {
        let passed = (now / SPAN).saturating_sub(self.span.get());
        let present = self.span.get() as usize % 2;
        match passed {
            0 => self.counts[0][bucket].get() + self.counts[1][bucket].get(),
            1 => self.counts[present][bucket].get(),
            _ => 0,
        }
    }
}

fn bucket(nanos: u64) -> usize {
    let nanos = nanos.max(8);
    let upper = 63 - nanos.leading_zeros() as usize;
    let next = (nanos >> (upper - 3)) as usize & 7;
    (upper * 8 + next).min(BUCKETS - 1)
}

/// Lower end of a bucket.
fn least(bucket: usize) -> u64 {
    let (upper, next) = (bucket / 8, bucket as u64 % 8);
    (8 + next) << upper >> 3
}

/// Percentiles in nanoseconds over all threads' histograms (upper ends of buckets), given per mille.
pub fn percentiles<'a>(took: impl Iterator<Item = &'a Buckets> + Clone, now: u64, thousandths: &[u64]) -> Vec<u64> {
    let sums: Vec<u64> = (0..BUCKETS).map(|index| took.clone().map(|one| one.recent(now, index)).sum()).collect();
    let total: u64 = sums.iter().sum();
    let at = |part: u64| {
        let (mut seen, wanted) = (0, (total * part).div_ceil(1000).max(1));
        let index = sums.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        index.map_or(0, |index| least(index + 1))
    };
    thousandths.iter().map(|part| at(*part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_within_an_eighth() {
        let took = Buckets::default();
        (1..=1000).for_each(|micros| took.add(5, micros * 1000));
        for (part, nanos) in [(500, 500_000), (990, 990_000), (999, 999_000)] {
            let found = percentiles([&took].into_iter(), 5, &[part])[0];
            assert!((nanos..=nanos * 9 / 8 + 1).contains(&found), "{part}: {found}");
        }
        assert_eq!(percentiles(std::iter::empty(), 5, &[500]), [0]);
    }

    #[test]
    fn forgets_earlier_windows() {
        let took = Buckets::default();
        let median = |now| percentiles([&took].into_iter(), now, &[500])[0] / 1000;
        (0..9).for_each(|_| took.add(1, 1_000_000));
        assert!([1, SPAN - 1, SPAN, 2 * SPAN - 1].iter().all(|now| median(*now) >= 1000));
        assert_eq!(median(2 * SPAN), 0);
        took.add(SPAN, 8_000);
        assert!(median(SPAN) >= 1000 && (8..10).contains(&median(2 * SPAN)), "{}", median(2 * SPAN));
        took.add(9 * SPAN, 16_000);
        assert!((16..19).contains(&median(9 * SPAN)));
    }
}
