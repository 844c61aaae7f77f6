//! The bound of a front end's memory. Past three quarters of it nothing new is taken from whom most is held for, that is, from who has
//! more than all have on average; past the whole, or where that is of no help for a second, whoever has most is closed.
//!
//! What is held for a client is what it has sent and is not taken, what it has not read, what has come for it, and what servers are
//! asked for it: only answers that are under way can still add to it.

use std::sync::atomic::Ordering::Relaxed;

use crate::clock::Nanos;
use crate::front::Front;
use crate::net::Net;
use crate::table::Id;

/// What a client may always have.
const LEAST: usize = 64 << 10;
/// Who waits for memory that nobody gives back, since all wait for each other, waits no longer.
const PATIENCE: Nanos = 1_000_000_000;
/// What servers' connections hold, which is bounded by itself, is looked at every so many turns.
const TURNS: u64 = 16;

impl<N: Net> Front<N> {
    /// Begins a turn: what a client may have, and who may go on.
    pub(crate) fn heed_memory(&mut self) {
        let (memory, held) = (&self.shared.memory, self.shared.memory.held());
        if held < memory.most / 4 * 3 {
            (self.held.share, self.held.short_since) = (usize::MAX, None);
        } else {
            self.spare.clear();
            self.held.share = (held / self.shared.clients().max(1)).max(LEAST);
            self.held.short_since = self.held.short_since.or(Some(self.now));
        }
        for id in std::mem::take(&mut self.short) {
            self.mark_client(id);
        }
    }

    /// Ends a turn: all hear what this thread holds; and where that is too much, who holds most of its clients is closed.
    pub(crate) fn add_up_memory(&mut self) {
        if self.number.is_multiple_of(TURNS) {
            self.held.servers = self.servers.iter().map(|server| server.holds()).sum();
        }
        loop {
            let all = self.held.clients + self.held.servers + self.spare.room();
            let memory = &self.shared.memory;
            memory.held.fetch_add(all.wrapping_sub(self.held.told), Relaxed);
            self.held.told = all;
            let too_long = self.held.short_since.is_some_and(|since| since + PATIENCE <= self.now);
            if memory.held() <= memory.most && !too_long {
                return;
            }
            self.held.short_since = self.held.short_since.map(|_| self.now);
            let holds = |id: &_| self.clients.get(*id).map_or(0, |client| client.counted);
            let Some(most) = self.clients.ids().into_iter().max_by_key(holds).filter(|id| holds(id) > LEAST) else {
                return;
            };
            self.counters.clients_cut_off.add(1);
            self.close_client(most);
        }
    }

    /// What is held for a client is looked at anew.
    pub(crate) fn count_client(&mut self, id: Id) {
        if let Some(client) = self.clients.get_mut(id) {
            let holds = client.holds();
            self.held.clients = self.held.clients + holds - client.counted;
            client.counted = holds;
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
