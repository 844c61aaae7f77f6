//! How much memory a front end may have, and what is held of it (`bounding`).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::clock::Nanos;

/// A thread keeps no more of buffers that nobody uses.
const MOST_SPARE: usize = 48 << 20;

/// Of all threads.
#[derive(Debug)]
pub struct Memory {
    pub most: usize,
    pub held: AtomicUsize,
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

    pub fn held(&self) -> usize {
        self.held.load(Relaxed)
    }
}

/// One thread's.
#[derive(Debug)]
pub struct Held {
    /// By its clients, and by its servers.
    pub clients: usize,
    pub servers: usize,
    /// What the others have been told that it holds.
    pub told: usize,
    /// What a client may have and be asked for; all it wants, where memory is not short.
    pub share: usize,
    /// Since when it is, or since somebody was closed for it.
    pub short_since: Option<Nanos>,
}

impl Default for Held {
    fn default() -> Held {
        Held { clients: 0, servers: 0, told: 0, share: usize::MAX, short_since: None }
    }
}
