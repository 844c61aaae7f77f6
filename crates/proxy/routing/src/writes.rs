//! Writes of a front end's clients, counted by groups of keys, so that no thread answers with an older value.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::Hash;

/// Number of groups of keys: a write of one key prevents joins in its whole group.
const GROUPS: u32 = 4096;

/// Write counters shared by threads. A write counts when it is read, and again before its response is sent.
#[derive(Debug)]
pub struct Writes {
    groups: Vec<AtomicU64>,
    /// Writes of all keys.
    flushes: AtomicU64,
    /// Writes of keys with replicas that are not complete, and servers that have yet to flush everything.
    open: Vec<AtomicU32>,
    flushing: AtomicU32,
    /// Whether another process serves clients of this front end, too, so that its writes are not counted.
    are_elsewhere: AtomicBool,
}

/// A write of a key with replicas that is not complete, until dropped.
#[derive(Debug)]
pub struct OpenWrite {
    writes: Arc<Writes>,
    group: u16,
}

impl OpenWrite {
    /// A write in a group of keys.
    pub fn new(writes: &Arc<Writes>, group: u16) -> OpenWrite {
        writes.open[usize::from(group)].fetch_add(1, SeqCst);
        OpenWrite { writes: writes.clone(), group }
    }
}

impl Drop for OpenWrite {
    fn drop(&mut self) {
        self.writes.open[usize::from(self.group)].fetch_sub(1, SeqCst);
    }
}

impl Default for Writes {
    fn default() -> Writes {
        Writes {
            groups: (0..GROUPS).map(|_| AtomicU64::new(0)).collect(),
            flushes: AtomicU64::new(0),
            flushing: AtomicU32::new(0),
            open: (0..GROUPS).map(|_| AtomicU32::new(0)).collect(),
            are_elsewhere: AtomicBool::new(false),
        }
    }
}

impl Writes {
    /// Group of a key.
    pub fn group(key: &[u8]) -> u16 {
        (Hash::Fnv1a32.of(key) % GROUPS) as u16
    }

    /// Counts a write in a group.
    pub fn wrote(&self, group: u16) {
        self.groups[usize::from(group)].fetch_add(1, SeqCst);
    }

    /// Counts a flush.
    pub fn flushed(&self) {
        self.flushes.fetch_add(1, SeqCst);
    }

    /// Whether a write of a key with replicas is not complete in a group, or may not be in another process.
    pub fn is_open(&self, group: u16) -> bool {
        let writes = self.open[usize::from(group)].load(SeqCst) + self.flushing.load(SeqCst);
        writes > 0 || self.are_elsewhere.load(SeqCst)
    }

    /// This many servers are to flush everything.
    pub fn flush_begins(&self, servers: usize) {
        self.flushing.fetch_add(servers as u32, SeqCst);
    }

    /// One of them has, or has failed.
    pub fn flush_ends(&self) {
        self.flushing.fetch_sub(1, SeqCst);
    }

    /// Records whether another process also writes for clients of this front end. Nothing is joined then, nor what was sent then.
    pub fn set_elsewhere(&self, elsewhere: bool) {
        self.are_elsewhere.store(elsewhere, SeqCst);
        self.flushed();
    }

    /// Whether another process serves clients of this front end, too.
    pub fn are_elsewhere(&self) -> bool {
        self.are_elsewhere.load(SeqCst)
    }

    /// Version of a group: unchanged as long as there is no write; both counters only grow.
    pub fn seen(&self, group: u16) -> u64 {
        self.groups[usize::from(group)].load(SeqCst).wrapping_add(self.flushes.load(SeqCst))
    }
}
