//! State shared by threads: counters, writes, number of clients, and memory.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::front::multigets::coalescing::Writes;
use crate::memory::Memory;
use crate::metrics::{COUNTERS, Counters, Metric, MetricKind};
use crate::migration::{MigrationState, Plans};
use crate::net::clock::unix;
use crate::settings::{Plan, Settings};

/// Values of all counters.
type CounterValues = [u64; COUNTERS.len()];

/// Shared state.
#[derive(Debug)]
pub struct Shared {
    pub(crate) threads: Vec<Arc<Counters>>,
    pub(crate) writes: Writes,
    pub(crate) memory: Memory,
    pub(crate) plans: Plans,
    /// Unix time of the start, in seconds.
    pub(crate) started: u64,
    clients: AtomicUsize,
    most_clients: usize,
    /// Log rows that could not be written.
    unwritten: AtomicU64,
    /// Last reported state of each server.
    up: Vec<AtomicBool>,
    /// Counter values at the last reset.
    zeros: Mutex<CounterValues>,
}

impl Shared {
    /// State of a new front end with this maximum number of clients.
    pub fn new(settings: &Settings, clients: usize) -> Shared {
        let plan_state = |plan: &Plan| Arc::new(MigrationState { moves: plan.moves.clone(), stage: plan.stage });
        let counters = || Arc::new(Counters::of(settings));
        Shared {
            threads: (0..settings.threads).map(|_| counters()).collect(),
            writes: Writes::default(),
            memory: Memory::new(settings.memory.0, settings.threads),
            plans: Plans::new(settings.pools.iter().map(|pool| pool.plan.as_ref().map(plan_state))),
            started: unix() / 1_000_000_000,
            clients: AtomicUsize::new(0),
            most_clients: clients,
            unwritten: AtomicU64::new(0),
            zeros: Mutex::new([0; COUNTERS.len()]),
            up: settings.pools.iter().flat_map(|pool| &pool.servers).map(|_| AtomicBool::new(true)).collect(),
        }
    }

    /// Counts a new client, if the limit allows it.
    pub(crate) fn admit_client(&self) -> bool {
        self.clients
            .fetch_update(Relaxed, Relaxed, |clients| (clients < self.most_clients).then_some(clients + 1))
            .is_ok()
    }

    /// Counts a closed client.
    pub(crate) fn release_client(&self) {
        self.clients.fetch_sub(1, Relaxed);
    }

    /// Sum of each counter over all threads.
    fn sums(&self) -> CounterValues {
        let mut sums = [0u64; COUNTERS.len()];
        for thread in &self.threads {
            sums.iter_mut().zip(thread.values()).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        }
        sums
    }

    /// The same with descriptions.
    pub(crate) fn since_start(&self) -> impl Iterator<Item = (Metric, u64)> {
        COUNTERS.iter().copied().zip(self.sums())
    }

    /// The same relative to the last reset; gauges are absolute.
    pub(crate) fn since_reset(&self) -> impl Iterator<Item = (Metric, u64)> {
        let zeros = *self.zeros.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |(metric, (sum, zero)): (&Metric, (u64, u64))| {
            (*metric, if metric.kind == MetricKind::Gauge { sum } else { sum.wrapping_sub(zero) })
        };
        COUNTERS.iter().zip(self.sums().into_iter().zip(zeros)).map(since)
    }

    /// Resets the counters.
    pub(crate) fn reset(&self) {
        *self.zeros.lock().unwrap_or_else(PoisonError::into_inner) = self.sums();
    }

    /// Records the state of a server; returns whether it is unchanged.
    pub(crate) fn is_up(&self, server: usize, up: bool) -> bool {
        self.up[server].swap(up, Relaxed) == up
    }

    /// Counts lost log rows.
    pub(crate) fn lost_of_log(&self, rows: u64) {
        self.unwritten.fetch_add(rows, Relaxed);
    }

    /// Number of lost log rows.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten.load(Relaxed)
    }

    /// Last reported state of a server.
    pub(crate) fn was_up(&self, server: usize) -> bool {
        self.up[server].load(Relaxed)
    }

    /// Maximum number of clients.
    pub(crate) fn most_clients(&self) -> usize {
        self.most_clients
    }

    /// Number of clients.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }
}
