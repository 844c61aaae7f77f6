//! A pool as a thread has it: where its keys are, and how much is asked for at once.

use std::collections::VecDeque;

use fanin_fanout::Window;
use fanin_memcache::Limits;
use fanin_units::Rate;

use crate::clock::{Nanos, nanos};
use crate::routing::Router;
use crate::settings;
use crate::table::Id;

/// Of a client, so many bytes are asked for at once, as far as values are as long as others were: but so many keys at least, and no more.
const ENOUGH_ASKED: usize = 4 << 20;
const LEAST_KEYS: usize = 16;
const MOST_KEYS: usize = 1024;

/// One pool.
pub struct Pool {
    pub name: String,
    pub router: Router,
    pub limits: Limits,
    /// The longest value that is passed on, its end included.
    pub longest_answer: u32,
    /// Its servers, in the order of all.
    pub first: usize,
    pub servers: usize,
    /// What every multiget begins with.
    pub window: Window,
    pub timeout: Nanos,
    /// Whether equal gets are asked once.
    pub joins: bool,
    /// What values are long, the later ones counting for more, so that as many are asked for at once as come in a moment.
    mean_value: usize,
    /// Multigets whose window wants to know whether batches are late, each with when: all wait equally long.
    pub late: VecDeque<(Nanos, Id)>,
}

impl Pool {
    /// So many keys of a client may be asked for before it is another's turn.
    pub fn keys_at_once(&self) -> usize {
        (ENOUGH_ASKED / self.mean_value.max(1)).clamp(LEAST_KEYS, MOST_KEYS)
    }

    /// So many values of so many bytes were seen.
    pub fn has_seen(&mut self, values: usize, bytes: usize) {
        if let Some(size) = bytes.checked_div(values) {
            // A list of many counts no more than eight.
            let weight = values.min(8);
            self.mean_value = (self.mean_value * (64 - weight) + size * weight) / 64;
        }
    }

    pub fn new(pool: &settings::Pool, first: usize) -> Pool {
        let weighted: Vec<_> = pool.servers.iter().map(|server| server.weighted.clone()).collect();
        // The rate of the client's link counts for none of the laws that settings allow, and each of them has a window.
        let window = pool.multiget.window(&pool.laws, Rate(0)).expect("a law that asks servers");
        let value = u32::try_from(pool.item.0).unwrap_or(u32::MAX);
        Pool {
            name: pool.name.clone(),
            router: Router::new(pool.placement, pool.hash, &weighted),
            longest_answer: value.max(1 << 20).saturating_add(2),
            limits: Limits { value, keys: usize::try_from(pool.keys.0).unwrap_or(usize::MAX) },
            first,
            servers: weighted.len(),
            window,
            timeout: nanos(pool.timeout),
            joins: pool.join,
            mean_value: 0,
            late: VecDeque::new(),
        }
    }
}
