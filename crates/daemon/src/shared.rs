//! What threads share: each one's counters, what was written, how many clients there are, and what they hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

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
}

impl Shared {
    /// Of a front end that has just begun.
    pub fn new(settings: &Settings) -> Shared {
        let standing = |plan: &Plan| Arc::new(Standing { moves: plan.moves.clone(), stage: plan.stage });
        let counters = || Arc::new(Counters::of_pools(settings.pools.len()));
        Shared {
            threads: (0..settings.threads).map(|_| counters()).collect(),
            writes: Writes::default(),
            memory: Memory::new(settings.memory.0, settings.threads),
            plans: Plans::new(settings.pools.iter().map(|pool| pool.plan.as_ref().map(standing))),
            clients: AtomicUsize::new(0),
            most_clients: settings.clients,
            unwritten: AtomicU64::new(0),
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
