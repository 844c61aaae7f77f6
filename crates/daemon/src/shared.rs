//! State shared by threads: counters, writes, number of clients, and memory.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::coalescing::Writes;
use crate::counters::Counters;
use crate::memory::Memory;
use crate::migration::{MigrationState, Plans};
use crate::settings::{Plan, Settings};

/// Shared state.
#[derive(Debug)]
pub struct Shared {
    pub(crate) threads: Vec<Arc<Counters>>,
    pub(crate) writes: Writes,
    pub(crate) memory: Memory,
    pub(crate) plans: Plans,
    clients: AtomicUsize,
    most_clients: usize,
    /// Log rows that could not be written.
    unwritten: AtomicU64,
    /// Last reported state of each server.
    up: Vec<AtomicBool>,
    /// Counter values at the last reset.
    zeros: Mutex<Vec<u64>>,
}

impl Shared {
    /// State of a new front end with this maximum number of clients.
    pub fn new(settings: &Settings, clients: usize) -> Shared {
        let plan_state = |plan: &Plan| Arc::new(MigrationState { moves: plan.moves.clone(), stage: plan.stage });
        let counters = || Arc::new(Counters::of_pools(settings.pools.len()));
        Shared {
            threads: (0..settings.threads).map(|_| counters()).collect(),
            writes: Writes::default(),
            memory: Memory::new(settings.memory.0, settings.threads),
            plans: Plans::new(settings.pools.iter().map(|pool| pool.plan.as_ref().map(plan_state))),
            clients: AtomicUsize::new(0),
            most_clients: clients,
            unwritten: AtomicU64::new(0),
            zeros: Mutex::default(),
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

    /// Sum of each counter over all threads, with its name.
    fn sums(&self) -> Vec<(&'static str, u64)> {
        let mut named = self.threads.iter().map(|counters| counters.named());
        let mut sums = named.next().unwrap_or_default();
        for thread in named {
            sums.iter_mut().zip(thread).for_each(|(sum, (_, more))| sum.1 = sum.1.wrapping_add(more));
        }
        sums
    }

    /// The same, relative to the last reset; gauges are absolute.
    pub(crate) fn since_reset(&self) -> Vec<(&'static str, u64)> {
        let zeros = self.zeros.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |(index, (name, sum)): (usize, (&'static str, u64))| {
            let zero = zeros.get(index).copied().filter(|_| name != "curr_connections").unwrap_or(0);
            (name, sum.wrapping_sub(zero))
        };
        self.sums().into_iter().enumerate().map(since).collect()
    }

    /// Resets the counters.
    pub(crate) fn reset(&self) {
        let sums = self.sums().into_iter().map(|(_, sum)| sum).collect();
        *self.zeros.lock().unwrap_or_else(PoisonError::into_inner) = sums;
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

    /// Number of clients.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }
}
