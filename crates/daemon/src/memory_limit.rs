//! Memory limit of a front end.
//!
//! Above three quarters of the limit, clients that hold more than the average send no new requests. At the limit, servers are not read
//! either, and the largest clients are closed; the largest one is also closed if the first measure has not helped for a second.
//!
//! A client is charged for its unparsed input, its unread output, its pending responses, and its requests to servers.

use std::cmp::Reverse;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock::Nanos;
use crate::front::Front;
use crate::memory::charged;
use crate::net::Net;

/// Memory account of one thread.
#[derive(Debug)]
pub struct MemoryAccount {
    /// Bytes charged to the thread before this account began.
    before: usize,
    /// Bytes last reported to the other threads.
    told: usize,
    /// Limit per client; unlimited while there is enough memory.
    pub share: usize,
    /// When memory became short, or when a client was last closed for it.
    short_since: Option<Nanos>,
    /// When free memory was last returned to the system.
    trimmed: Option<Nanos>,
}

impl MemoryAccount {
    /// An empty account.
    pub fn new() -> MemoryAccount {
        MemoryAccount { before: charged(), told: 0, share: usize::MAX, short_since: None, trimmed: None }
    }
}

/// A client may always have this much.
const LEAST: usize = 64 << 10;
/// After this time of short memory, a client is closed, since all may be waiting for each other.
const MAX_SHORT_TIME: Nanos = 1_000_000_000;
/// Minimum time between returns of free memory to the system.
const BETWEEN_TRIMS: Nanos = 50_000_000;
/// At the limit, clients are closed until this fraction (1/16) is free.
const FREED: usize = 16;

impl<N: Net> Front<N> {
    /// Computes the limit per client at the start of a loop iteration, and resumes clients that waited.
    pub(crate) fn update_memory_share(&mut self) {
        let (most, held) = (self.shared.memory.most, self.all_held());
        self.shared.memory.holds_much(held >= most / 2);
        if held < most / 4 * 3 {
            (self.held.share, self.held.short_since) = (usize::MAX, None);
        } else {
            self.spare.clear();
            self.held.share = (held / self.shared.clients().max(1)).max(LEAST);
            self.held.short_since = self.held.short_since.or(Some(self.now));
        }
        for id in std::mem::take(&mut self.short) {
            self.mark_client(id);
        }
        for server in std::mem::take(&mut self.short_servers) {
            self.servers[server].again = false;
            self.server_reads(server);
        }
    }

    /// Bytes that this thread holds.
    fn held(&self) -> usize {
        charged().wrapping_sub(self.held.before).wrapping_add(self.net.held())
    }

    /// Bytes that all threads hold; the other threads' figures are their last reports.
    fn all_held(&self) -> usize {
        self.shared.memory.held().wrapping_sub(self.held.told).wrapping_add(self.held())
    }

    /// Whether the limit is reached.
    pub(crate) fn is_spent(&self) -> bool {
        self.all_held() >= self.shared.memory.most
    }

    fn report_memory(&mut self) {
        let held = self.held();
        self.shared.memory.held.fetch_add(held.wrapping_sub(self.held.told), Relaxed);
        self.held.told = held;
    }

    /// Reports this thread's memory at the end of a loop iteration, and closes the largest clients if it is too much.
    pub(crate) fn enforce_memory_limit(&mut self) {
        self.report_memory();
        let is_spent = self.is_spent();
        let too_long = self.held.short_since.is_some_and(|since| since + MAX_SHORT_TIME <= self.now);
        if !is_spent && !too_long {
            return;
        }
        self.spare.clear();
        let mut clients: Vec<_> =
            self.clients.ids().into_iter().filter_map(|id| Some((self.clients.get(id)?.holds(), id))).collect();
        clients.sort_unstable_by_key(|(holds, _)| Reverse(*holds));
        // At the limit, close all clients above half of the mean, since the memory may be another thread's; after a second without
        // success, all that hold memory. Below the limit, close one.
        let least = match (is_spent, too_long) {
            (true, true) => 0,
            (true, false) => self.all_held() / self.shared.clients().max(1) / 2,
            (false, _) => LEAST,
        };
        clients.retain(|(holds, _)| *holds > least);
        clients.truncate(if is_spent { usize::MAX } else { 1 });
        let enough = self.shared.memory.most / FREED * (FREED - 1);
        for (_, id) in clients {
            if is_spent && self.all_held() < enough {
                break;
            }
            self.counters.clients_cut_off.add(1);
            self.close_client(id);
            self.held.short_since = self.held.short_since.map(|_| self.now);
        }
        self.report_memory();
        if self.held.trimmed.is_none_or(|at| at + BETWEEN_TRIMS <= self.now) {
            // The allocator keeps small freed blocks, which would count twice.
            fanin_ring::heap::trim();
            self.held.trimmed = Some(self.now);
        }
    }
}

impl<N: Net> Drop for Front<N> {
    /// Releases the memory account and the clients of an ended thread.
    fn drop(&mut self) {
        self.shared.memory.held.fetch_sub(self.held.told, Relaxed);
        for _ in 0..self.clients.len() {
            self.shared.release_client();
        }
        self.counters.curr_connections.less(self.clients.len() as u64);
    }
}
