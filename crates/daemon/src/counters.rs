//! What is counted: each thread writes its own, `stats` adds them up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::server::ServerError;

/// A number that one thread writes and any may read.
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
        /// One thread's.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[doc = $doc])* pub $name: Counter,)*
            /// Multigets by the upper bits of their number of keys: 2 to 3, 4 to 7, and so on.
            pub multigets: [Counter; 16],
            /// Of each pool, gets, and what else is answered, by how long that took.
            pub took: Vec<[Buckets; 2]>,
        }

        impl Counters {
            /// Every plain one with its name.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }
        }
    };
}

counters! {
    curr_connections
    total_connections
    /// Turned away: there were too many.
    rejected_connections
    requests
    /// Keys asked for by classic retrievals.
    get_keys
    /// Gets that joined an equal one.
    get_joined
    stores
    /// Keys on their way that were answered at their new place, that the old one was asked for, and copies that were made.
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
    /// Clients that were closed since most was held for them, and memory short.
    clients_cut_off
    /// Clients that were closed since they were idle for too long.
    clients_idle
    server_connects
    /// Keys of queries that were logged, and times that nobody had room for some.
    log_keys
    log_full
    /// Threads that panicked and began anew.
    threads_restarted
}

impl Counters {
    /// Those of a thread with so many pools.
    pub fn of_pools(pools: usize) -> Counters {
        Counters { took: (0..pools).map(|_| Default::default()).collect(), ..Counters::default() }
    }

    /// A request has failed at its server.
    pub fn failed(&self, trouble: ServerError) {
        let counter = match trouble {
            ServerError::Down => &self.errors_down,
            ServerError::Timeout => &self.errors_timeout,
            ServerError::Closed => &self.errors_closed,
            ServerError::Nonsense => &self.errors_nonsense,
            ServerError::Busy => &self.errors_busy,
        };
        counter.add(1);
    }
}

/// So many buckets hold times from a nanosecond on, eight for each doubling.
const BUCKETS: usize = 8 * 48;
/// Times are counted for so long, and then anew; what is told is of the present span and the one before.
pub const SPAN: u64 = 30_000_000_000;

/// Counts by time, of the last one or two spans.
#[derive(Debug)]
pub struct Buckets {
    /// Two spans take turns.
    counts: [Vec<Counter>; 2],
    /// The number of the span that was counted last.
    span: Counter,
}

impl Default for Buckets {
    fn default() -> Buckets {
        let counts = || (0..BUCKETS).map(|_| Counter::default()).collect();
        Buckets { counts: [counts(), counts()], span: Counter::default() }
    }
}

impl Buckets {
    /// Something took so long, and is over now.
    pub fn add(&self, now: u64, nanos: u64) {
        let (span, last) = (now / SPAN, self.span.get());
        if span != last {
            // What was counted two spans ago, or longer, is forgotten.
            let old = if span == last + 1 { &self.counts[span as usize % 2..][..1] } else { &self.counts[..] };
            old.iter().flatten().for_each(|counter| counter.less(counter.get()));
            self.span.add(span - last);
        }
        self.counts[span as usize % 2][bucket(nanos)].add(1);
    }

    /// How often that was, by buckets, in the present span and the one before.
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

/// The least time of a bucket.
fn least(bucket: usize) -> u64 {
    let (upper, next) = (bucket / 8, bucket as u64 % 8);
    (8 + next) << upper >> 3
}

/// Times under which so many of a thousand were lately, over all threads' counts, in nanoseconds; the upper ends of their buckets.
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
    fn a_percentile_is_within_an_eighth_of_the_time() {
        let took = Buckets::default();
        (1..=1000).for_each(|micros| took.add(5, micros * 1000));
        for (part, nanos) in [(500, 500_000), (990, 990_000), (999, 999_000)] {
            let found = percentiles([&took].into_iter(), 5, &[part])[0];
            assert!((nanos..=nanos * 9 / 8 + 1).contains(&found), "{part}: {found}");
        }
        assert_eq!(percentiles(std::iter::empty(), 5, &[500]), [0]);
    }

    #[test]
    fn what_was_two_spans_ago_is_forgotten() {
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
