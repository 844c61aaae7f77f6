//! State of a pool's prediction that threads share.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use fanin_units::Time;

use super::{Predicted, Workload};
use fanin_proxy_config::Incast;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_observe::metrics::Counter;

/// A multiget is slow if it takes this many round trips longer than its bytes on the link.
const SLOW_ROUND_TRIPS: u64 = 10;
/// Multigets of a period, over which means are computed.
const PERIOD: u64 = 50;

/// An ended multiget.
#[derive(Clone, Copy, Debug)]
pub struct EndedMultiget {
    /// Keys.
    pub keys: usize,
    /// Servers.
    pub servers: usize,
    /// Found values.
    pub values: usize,
    /// Response bytes.
    pub bytes: usize,
    /// Time from the request to the last server's response.
    pub took: Nanos,
}

/// Sums of one thread.
#[derive(Debug, Default)]
struct IncastFigures {
    multigets: Counter,
    keys: Counter,
    servers: Counter,
    values: Counter,
    bytes: Counter,
    took: Counter,
    slow: Counter,
}

/// Sums over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    multigets: u64,
    keys: u64,
    servers: u64,
    values: u64,
    bytes: u64,
    took: u64,
}

/// Means of the last period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Mean multiget.
    pub workload: Workload,
    /// Mean time of a multiget.
    pub took: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    predicted: Option<Predicted>,
    observed: Option<Observed>,
    /// Sums at the start of the present period.
    since: Sums,
}

/// Prediction of a pool, and its multigets as observed.
#[derive(Debug)]
pub struct IncastState {
    settings: Incast,
    figures: Arc<Vec<IncastFigures>>,
    /// Round-trip time to servers, in nanoseconds.
    rtt: AtomicU64,
    /// Most servers at once; zero: no limit.
    limit: AtomicU32,
    outcome: Mutex<Outcome>,
}

impl IncastState {
    /// State without a prediction, which continues the observations and the limit of its predecessor.
    pub fn new(settings: Incast, threads: usize, before: Option<&IncastState>) -> IncastState {
        let figures = before.map(|before| before.figures.clone());
        let outcome = before.map_or(Outcome::default(), |before| Outcome { predicted: None, ..before.outcome() });
        IncastState {
            settings,
            figures: figures.unwrap_or_else(|| Arc::new((0..threads).map(|_| IncastFigures::default()).collect())),
            rtt: AtomicU64::new(before.map_or(nanos(settings.rtt), |before| before.rtt.load(Relaxed))),
            limit: AtomicU32::new(before.map_or(0, |before| before.limit.load(Relaxed))),
            outcome: Mutex::new(outcome),
        }
    }

    /// Most servers that a new multiget may request from at once.
    #[inline]
    pub fn limit(&self) -> Option<u32> {
        Some(self.limit.load(Relaxed)).filter(|limit| *limit > 0)
    }

    /// Sets this limit.
    pub fn set_limit(&self, limit: Option<u32>) {
        self.limit.store(limit.unwrap_or(0), Relaxed);
    }

    /// Sets the round-trip time to servers, if one is known.
    pub fn set_round_trip(&self, rtt: Option<Nanos>) {
        self.rtt.store(rtt.unwrap_or(nanos(self.settings.rtt)), Relaxed);
    }

    /// Counts a multiget of a thread.
    pub fn count(&self, thread: usize, multiget: &EndedMultiget) {
        let figures = &self.figures[thread];
        figures.multigets.add(1);
        figures.keys.add(multiget.keys as u64);
        figures.servers.add(multiget.servers as u64);
        figures.values.add(multiget.values as u64);
        figures.bytes.add(multiget.bytes as u64);
        figures.took.add(multiget.took);
        let on_link = (multiget.bytes as u128 * 8_000_000_000 / u128::from(self.settings.link.0.max(1))) as u64;
        if multiget.took > on_link.saturating_add(SLOW_ROUND_TRIPS.saturating_mul(self.rtt.load(Relaxed))) {
            figures.slow.add(1);
        }
    }

    /// Number of multigets, and of slow ones.
    pub fn counts(&self) -> (u64, u64) {
        let sum = |of: fn(&IncastFigures) -> &Counter| self.figures.iter().map(|figures| of(figures).get()).sum();
        (sum(|figures| &figures.multigets), sum(|figures| &figures.slow))
    }

    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for figures in self.figures.iter() {
            sums.multigets += figures.multigets.get();
            sums.keys += figures.keys.get();
            sums.servers += figures.servers.get();
            sums.values += figures.values.get();
            sums.bytes += figures.bytes.get();
            sums.took += figures.took.get();
        }
        sums
    }

    fn outcome(&self) -> Outcome {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The prediction, if there is one.
    pub fn predicted(&self) -> Option<Predicted> {
        self.outcome().predicted
    }

    /// Sets it.
    pub fn set_predicted(&self, predicted: Predicted) {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).predicted = Some(predicted);
    }

    /// Means of the last complete period; none before the first.
    pub fn observed(&self) -> Option<Observed> {
        self.outcome().observed
    }

    /// Ends the period if it has enough multigets. While no value was found, its size is the assumed one.
    pub fn end_period(&self, assumed: &Workload) {
        let sums = self.sums();
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let since = outcome.since;
        let multigets = sums.multigets.wrapping_sub(since.multigets);
        if multigets < PERIOD {
            return;
        }
        let mean = |sum: u64, since: u64, of: u64| (sum.wrapping_sub(since) as f64 / of as f64).round().max(1.0) as u32;
        let values = sums.values.wrapping_sub(since.values);
        let known = outcome.observed.map_or(assumed.value, |observed| observed.workload.value);
        let workload = Workload {
            keys: mean(sums.keys, since.keys, multigets),
            servers: mean(sums.servers, since.servers, multigets),
            value: if values > 0 { mean(sums.bytes, since.bytes, values) } else { known },
        };
        let took = Time(sums.took.wrapping_sub(since.took) / multigets * 1000);
        *outcome = Outcome { observed: Some(Observed { workload, took }), since: sums, ..*outcome };
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::{Bytes, Rate};

    use super::*;

    /// A port of 200 Mbit/s with 64 KiB.
    fn settings() -> Incast {
        Incast {
            buffer: Bytes(1 << 16),
            rto_min: Time::from_millis(200),
            link: Rate(200_000_000),
            rtt: Time::from_micros(100),
            keys: 10,
            value: Bytes(1000),
        }
    }

    #[test]
    fn means_are_of_the_last_period_and_slow_ones_exceed_their_bytes() {
        let assumed = Workload { keys: 10, servers: 2, value: 1025 };
        let state = IncastState::new(settings(), 2, None);
        // 25 kB take 1 ms on the link, and ten round trips are another one.
        let multiget = EndedMultiget { keys: 40, servers: 4, values: 20, bytes: 25_000, took: 1_900_000 };
        (0..49).for_each(|number| state.count(number % 2, &multiget));
        state.end_period(&assumed);
        assert_eq!((state.observed(), state.counts()), (None, (49, 0)));
        state.count(0, &EndedMultiget { took: 2_100_000, ..multiget });
        state.end_period(&assumed);
        let observed = state.observed().unwrap();
        assert_eq!(observed.workload, Workload { keys: 40, servers: 4, value: 1250 });
        assert_eq!((observed.took, state.counts()), (Time::from_micros(1904), (50, 1)));
        state.set_round_trip(Some(200_000));
        (0..50).for_each(|_| state.count(0, &EndedMultiget { values: 0, took: 2_100_000, ..multiget }));
        // A successor continues.
        state.set_limit(Some(3));
        let next = IncastState::new(settings(), 2, Some(&state));
        next.end_period(&assumed);
        assert_eq!(next.observed().unwrap().workload.value, 1250);
        assert_eq!((next.counts(), next.limit(), next.predicted()), ((100, 1), Some(3), None));
    }
}
