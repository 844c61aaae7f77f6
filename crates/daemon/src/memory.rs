//! The bound of a front end's memory. Past three quarters of it nothing new is asked for whom most is held, that is, for who has more
//! than all have on average; past the whole, whoever has most is closed.
//!
//! What is held for a client is what it has sent and is not taken, what it has not read, what has come for it, and what servers are
//! asked for it: only answers that are under way can still add to it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::front::Front;
use crate::net::Net;

/// What a client may always have.
const LEAST: usize = 64 << 10;
/// A thread keeps no more of buffers that nobody uses.
const MOST_SPARE: usize = 48 << 20;

/// What servers' connections hold, which is bounded by itself, is looked at every so many turns.
const TURNS: u64 = 16;

/// Of all threads.
#[derive(Debug)]
pub struct Memory {
    most: usize,
    held: AtomicUsize,
    threads: usize,
}

impl Memory {
    pub fn new(most: u64, threads: usize) -> Memory {
        Memory { most: usize::try_from(most).unwrap_or(usize::MAX), held: AtomicUsize::new(0), threads }
    }

    /// What a thread may keep of buffers that nobody uses.
    pub fn spare(&self) -> usize {
        (self.most / 8 / self.threads).min(MOST_SPARE)
    }

    fn held(&self) -> usize {
        self.held.load(Relaxed)
    }
}

/// One thread's.
#[derive(Debug)]
pub struct Held {
    /// By its clients, and by its servers.
    pub clients: usize,
    servers: usize,
    /// What the others have been told that it holds.
    told: usize,
    /// What a client may have and be asked for; all it wants, where memory is not short.
    pub share: usize,
}

impl Default for Held {
    fn default() -> Held {
        Held { clients: 0, servers: 0, told: 0, share: usize::MAX }
    }
}

impl<N: Net> Front<N> {
    /// Begins a turn: what a client may have, and who may go on.
    pub(crate) fn heed_memory(&mut self) {
        let (memory, held) = (&self.shared.memory, self.shared.memory.held());
        self.held.share = if held < memory.most / 4 * 3 {
            usize::MAX
        } else {
            self.spare.clear();
            (held / self.shared.clients().max(1)).max(LEAST)
        };
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
            if memory.held() <= memory.most {
                return;
            }
            let holds = |id: &_| self.clients.get(*id).map_or(0, |client| client.counted);
            let Some(most) = self.clients.ids().into_iter().max_by_key(holds).filter(|id| holds(id) > LEAST) else {
                return;
            };
            self.counters.clients_cut_off.add(1);
            self.close_client(most);
        }
    }

    /// What is held for a client is looked at anew.
    pub(crate) fn count_client(&mut self, id: crate::table::Id) {
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
