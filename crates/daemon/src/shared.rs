//! What threads share: each one's counters, what was written, how many clients there are, and what they hold.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::carrying::{Plans, Standing};
use crate::counters::Counters;
use crate::joining::Writes;
use crate::memory::Memory;
use crate::settings::{Plan, Settings};

/// All of it.
#[derive(Debug)]
pub struct Shared {
    pub(crate) threads: Vec<Arc<Counters>>,
    pub(crate) writes: Writes,
    pub(crate) memory: Memory,
    pub(crate) plans: Plans,
    clients: AtomicUsize,
    most_clients: usize,
    /// Rows of the log that could not be written.
    unwritten: AtomicU64,
    /// Of each server, whether it was up when that was last told.
    up: Vec<AtomicBool>,
    /// What counters were when figures were last reset.
    zeros: Mutex<Vec<u64>>,
}

impl Shared {
    /// Of a front end that has just begun, and may have so many clients.
    pub fn new(settings: &Settings, clients: usize) -> Shared {
        let standing = |plan: &Plan| Arc::new(Standing { moves: plan.moves.clone(), stage: plan.stage });
        let counters = || Arc::new(Counters::of_pools(settings.pools.len()));
        Shared {
            threads: (0..settings.threads).map(|_| counters()).collect(),
            writes: Writes::default(),
            memory: Memory::new(settings.memory.0, settings.threads),
            plans: Plans::new(settings.pools.iter().map(|pool| pool.plan.as_ref().map(standing))),
            clients: AtomicUsize::new(0),
            most_clients: clients,
            unwritten: AtomicU64::new(0),
            zeros: Mutex::default(),
            up: settings.pools.iter().flat_map(|pool| &pool.servers).map(|_| AtomicBool::new(true)).collect(),
        }
    }

    /// Whether one more client may come; then it is counted.
    pub(crate) fn lets_in(&self) -> bool {
        self.clients
            .fetch_update(Relaxed, Relaxed, |clients| (clients < self.most_clients).then_some(clients + 1))
            .is_ok()
    }

    /// A client has gone.
    pub(crate) fn lets_out(&self) {
        self.clients.fetch_sub(1, Relaxed);
    }

    /// Each counter's name and its sum over all threads.
    fn sums(&self) -> Vec<(&'static str, u64)> {
        let mut named = self.threads.iter().map(|counters| counters.named());
        let mut sums = named.next().unwrap_or_default();
        for thread in named {
            sums.iter_mut().zip(thread).for_each(|(sum, (_, more))| sum.1 = sum.1.wrapping_add(more));
        }
        sums
    }

    /// The same, since figures were last reset; what is counted now is no sum over time.
    pub(crate) fn since_reset(&self) -> Vec<(&'static str, u64)> {
        let zeros = self.zeros.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |(index, (name, sum)): (usize, (&'static str, u64))| {
            let zero = zeros.get(index).copied().filter(|_| name != "curr_connections").unwrap_or(0);
            (name, sum.wrapping_sub(zero))
        };
        self.sums().into_iter().enumerate().map(since).collect()
    }

    /// Has figures begin anew.
    pub(crate) fn reset(&self) {
        let sums = self.sums().into_iter().map(|(_, sum)| sum).collect();
        *self.zeros.lock().unwrap_or_else(PoisonError::into_inner) = sums;
    }

    /// A server is up, or is not: whether that was known.
    pub(crate) fn is_up(&self, server: usize, up: bool) -> bool {
        self.up[server].swap(up, Relaxed) == up
    }

    /// Rows of the log could not be written.
    pub(crate) fn lost_of_log(&self, rows: u64) {
        self.unwritten.fetch_add(rows, Relaxed);
    }

    /// How many could not.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten.load(Relaxed)
    }

    /// How many clients there are.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }
}
