//! The bound of a front end's memory. Past three quarters of it nothing new is taken from whom most is held for, that is, from who has
//! more than all have on average. When it is spent nothing is read from servers either, and whoever has most is closed, as it is where the
//! former is of no help for a second.
//!
//! What is held for a client is what it has sent and is not taken, what it has not read, what has come for it, and what servers are
//! asked for it.

use std::cmp::Reverse;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock::Nanos;
use crate::front::Front;
use crate::memory::charged;
use crate::net::Net;

/// One thread's account.
#[derive(Debug)]
pub struct Held {
    /// What was charged to the thread before it.
    before: usize,
    /// What the others have been told that it holds.
    told: usize,
    /// What a client may have and be asked for; all it wants, where memory is not short.
    pub share: usize,
    /// Since when it is, or since somebody was closed for it.
    short_since: Option<Nanos>,
    /// When free memory was last given back to the system.
    trimmed: Option<Nanos>,
}

impl Held {
    /// Of a thread's front end that holds nothing yet.
    pub fn new() -> Held {
        Held { before: charged(), told: 0, share: usize::MAX, short_since: None, trimmed: None }
    }
}

/// What a client may always have.
const LEAST: usize = 64 << 10;
/// Who waits for memory that nobody gives back, since all wait for each other, waits no longer.
const PATIENCE: Nanos = 1_000_000_000;
/// Between two times that free memory is given back to the system.
const BETWEEN_TRIMS: Nanos = 50_000_000;
/// When the budget is spent, clients are closed until this part of it is free.
const FREED: usize = 16;

impl<N: Net> Front<N> {
    /// Begins a turn: what a client may have, and who may go on.
    pub(crate) fn heed_memory(&mut self) {
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

    /// Bytes that this thread holds now.
    fn held(&self) -> usize {
        charged().wrapping_sub(self.held.before).wrapping_add(self.net.held())
    }

    /// Bytes that all threads hold: this one now, the others as they have told.
    fn all_held(&self) -> usize {
        self.shared.memory.held().wrapping_sub(self.held.told).wrapping_add(self.held())
    }

    /// Whether the budget is spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.all_held() >= self.shared.memory.most
    }

    fn tell_memory(&mut self) {
        let held = self.held();
        self.shared.memory.held.fetch_add(held.wrapping_sub(self.held.told), Relaxed);
        self.held.told = held;
    }

    /// Ends a turn: all hear what this thread holds; and where that is too much, those of its clients are closed who hold most.
    pub(crate) fn add_up_memory(&mut self) {
        self.tell_memory();
        let is_spent = self.is_spent();
        let too_long = self.held.short_since.is_some_and(|since| since + PATIENCE <= self.now);
        if !is_spent && !too_long {
            return;
        }
        self.spare.clear();
        let mut clients: Vec<_> =
            self.clients.ids().into_iter().filter_map(|id| Some((self.clients.get(id)?.holds(), id))).collect();
        clients.sort_unstable_by_key(|(holds, _)| Reverse(*holds));
        // Where it is spent, all that hold more than half of the mean may have to go: the memory may be another thread's. Else one is
        // enough: others may go on then.
        // Where that has been of no help for long, everybody who holds something may have to go.
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
        self.tell_memory();
        if self.held.trimmed.is_none_or(|at| at + BETWEEN_TRIMS <= self.now) {
            // What was freed in pieces is the allocator's, and would be taken twice.
            fanin_ring::heap::trim();
            self.held.trimmed = Some(self.now);
        }
    }
}

impl<N: Net> Drop for Front<N> {
    /// A thread that is gone holds nothing, and has no clients.
    fn drop(&mut self) {
        self.shared.memory.held.fetch_sub(self.held.told, Relaxed);
        for _ in 0..self.clients.len() {
            self.shared.lets_out();
        }
        self.counters.curr_connections.less(self.clients.len() as u64);
    }
}
