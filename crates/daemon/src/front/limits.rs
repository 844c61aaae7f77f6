//! Memory limit of a front end.
//!
//! Above three quarters of the limit, clients that hold more than the average send no new requests. At the limit, servers are not read
//! either, and the largest clients are closed; the largest one is also closed if the first measure has not helped for a second.
//!
//! A client is charged for its unparsed input, its unread output, its pending responses, and its requests to servers.

use std::sync::Arc;

use crate::memory::charged;
use crate::memory::table::Id;
use crate::net::Net;
use crate::net::clock::Nanos;
use crate::shared::Shared;

/// A client may always have this much.
const LEAST: usize = 64 << 10;
/// After this time of short memory, a client is closed, since all may be waiting for each other.
const MAX_SHORT_TIME: Nanos = 1_000_000_000;
/// Minimum time between returns of free memory to the system.
const BETWEEN_TRIMS: Nanos = 50_000_000;
/// At the limit, clients are closed until this fraction (1/16) is free.
const FREED: usize = 16;

/// Pause between checks while memory is short.
const SHORT_PAUSE: Nanos = 5_000_000;

/// Memory account of one thread, and the connections that wait for memory.
#[derive(Debug)]
pub struct Limits {
    shared: Arc<Shared>,
    /// Bytes charged to the thread before this account began.
    before: usize,
    /// Bytes last reported to the other threads.
    told: usize,
    /// Limit per client; unlimited while there is enough memory.
    share: usize,
    /// When memory became short, or when a client was last closed for it.
    short_since: Option<Nanos>,
    /// When free memory was last returned to the system.
    trimmed: Option<Nanos>,
    /// Clients and servers that wait for memory.
    clients: Vec<Id>,
    servers: Vec<usize>,
}

/// Clients to close because memory is short.
#[derive(Clone, Copy, Debug)]
pub struct Excess {
    /// Only those that hold more than this.
    pub above: usize,
    /// All of them until memory suffices, or one.
    pub all: bool,
}

impl Limits {
    /// An empty account.
    pub fn new(shared: Arc<Shared>) -> Limits {
        Limits {
            shared,
            before: charged(),
            told: 0,
            share: usize::MAX,
            short_since: None,
            trimmed: None,
            clients: Vec::new(),
            servers: Vec::new(),
        }
    }

    /// Bytes that this thread holds.
    fn held(&self, net: &impl Net) -> usize {
        charged().wrapping_sub(self.before).wrapping_add(net.held())
    }

    /// Bytes that all threads hold; the other threads' figures are their last reports.
    fn all_held(&self, net: &impl Net) -> usize {
        self.shared.memory.held().wrapping_sub(self.told).wrapping_add(self.held(net))
    }

    /// Whether the limit is reached.
    pub fn is_spent(&self, net: &impl Net) -> bool {
        self.all_held(net) >= self.shared.memory.most
    }

    /// Whether a client that holds this much must wait.
    pub fn exceeds_share(&self, holds: impl FnOnce() -> usize) -> bool {
        self.share < usize::MAX && holds() > self.share
    }

    /// Computes the limit per client at the start of a loop iteration; returns whether memory is short.
    pub fn update(&mut self, net: &impl Net, now: Nanos) -> bool {
        let (most, held) = (self.shared.memory.most, self.all_held(net));
        self.shared.memory.holds_much(held >= most / 2);
        let is_short = held >= most / 4 * 3;
        if is_short {
            self.share = (held / self.shared.clients().max(1)).max(LEAST);
            self.short_since = self.short_since.or(Some(now));
        } else {
            (self.share, self.short_since) = (usize::MAX, None);
        }
        is_short
    }

    /// Continues with a client when there is memory.
    pub fn delay_client(&mut self, id: Id) {
        self.clients.push(id);
    }

    /// Reads from a server when there is memory.
    pub fn delay_server(&mut self, server: usize) {
        self.servers.push(server);
    }

    /// The clients and servers that waited.
    pub fn take_delayed(&mut self) -> (Vec<Id>, Vec<usize>) {
        (std::mem::take(&mut self.clients), std::mem::take(&mut self.servers))
    }

    /// The next time at which there is work without an event.
    pub fn next_due(&self, now: Nanos) -> Option<Nanos> {
        (!self.clients.is_empty() || !self.servers.is_empty()).then_some(now + SHORT_PAUSE)
    }

    /// Reports this thread's memory to the others.
    pub fn report(&mut self, net: &impl Net) {
        let held = self.held(net);
        self.shared.memory.report(held.wrapping_sub(self.told));
        self.told = held;
    }

    /// The clients to close at the end of a loop iteration, if any.
    pub fn excess(&self, net: &impl Net, now: Nanos) -> Option<Excess> {
        let is_spent = self.is_spent(net);
        let too_long = self.short_since.is_some_and(|since| since + MAX_SHORT_TIME <= now);
        // At the limit, close all clients above half of the mean, since the memory may be another thread's; after a second without
        // success, all that hold memory. Below the limit, close one.
        let above = match (is_spent, too_long) {
            (false, false) => return None,
            (true, true) => 0,
            (true, false) => self.all_held(net) / self.shared.clients().max(1) / 2,
            (false, true) => LEAST,
        };
        Some(Excess { above, all: is_spent })
    }

    /// Whether enough is free again after closing clients.
    pub fn is_relieved(&self, net: &impl Net) -> bool {
        self.all_held(net) < self.shared.memory.most / FREED * (FREED - 1)
    }

    /// A client has been closed because memory was short.
    pub fn has_closed_one(&mut self, now: Nanos) {
        self.short_since = self.short_since.map(|_| now);
    }

    /// Returns free memory to the system now and then: the allocator keeps small freed blocks, which would count twice.
    pub fn trim(&mut self, now: Nanos) {
        if self.trimmed.is_none_or(|at| at + BETWEEN_TRIMS <= now) {
            fanin_ring::heap::trim();
            self.trimmed = Some(now);
        }
    }
}

impl Drop for Limits {
    /// Releases the account of an ended thread.
    fn drop(&mut self) {
        self.shared.memory.release(self.told);
    }
}
