//! Memory accounting of a front end.
//!
//! Data that grows with clients, servers or plans charges its capacity to its thread: bytes are in a [`Buffer`], tables have a
//! [`Charge`]. [`Memory`] has the sum over threads; `front/limits.rs` acts on it.

pub mod bytes;
pub mod table;

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use fanin_ring::heap;

/// Maximum size of a thread's unused buffers.
const MOST_SPARE: usize = 48 << 20;
/// A buffer doubles up to this size, then grows in steps of it.
const LARGEST_STEP: usize = 1 << 20;
/// Block size from which the allocator maps memory separately, below and above half of the limit. Heaps are several times faster for
/// values of megabytes, but fragment, which could double the memory used.
const MAPPED_FROM: [usize; 2] = [32 << 20, 5 << 18];

thread_local! {
    static CHARGED: Cell<usize> = const { Cell::new(0) };
}

/// Bytes charged to this thread.
pub fn charged() -> usize {
    CHARGED.get()
}

/// A charge to the current thread, until dropped.
#[derive(Debug, Default)]
pub struct Charge(usize);

impl Charge {
    /// Charges `bytes` in place of the previous amount.
    pub fn set(&mut self, bytes: usize) {
        CHARGED.set(CHARGED.get().wrapping_add(bytes).wrapping_sub(self.0));
        self.0 = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// A buffer with charged capacity.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    charge: Charge,
}

impl Buffer {
    /// Appends bytes.
    #[inline]
    pub fn extend(&mut self, more: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() < more.len() {
            self.grow(more.len());
        }
        self.bytes.extend_from_slice(more);
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let (len, room) = (self.bytes.len(), self.bytes.capacity());
        let wanted = (len + more).max(room + room.min(LARGEST_STEP));
        self.bytes.reserve_exact(wanted - len);
        self.charge.set(self.bytes.capacity());
    }

    /// Changes the bytes as a vector.
    pub fn with<R>(&mut self, work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = work(&mut self.bytes);
        if self.charge.0 != self.bytes.capacity() {
            self.charge.set(self.bytes.capacity());
        }
        result
    }

    /// Removes the bytes, but keeps the capacity.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Capacity in bytes.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Buffer {
        let mut buffer = Buffer { bytes, charge: Charge::default() };
        buffer.charge.set(buffer.bytes.capacity());
        buffer
    }
}

/// Memory limit, and the charges of all threads.
#[derive(Debug)]
pub struct Memory {
    /// The limit.
    pub most: usize,
    /// Bytes that threads have reported.
    held: AtomicUsize,
    /// The allocator's current setting.
    much: AtomicBool,
    threads: usize,
}

impl Memory {
    /// Limit in bytes, for this many threads; sets the allocator.
    pub fn new(most: u64, threads: usize) -> Memory {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let memory = Memory { most, held: AtomicUsize::new(0), much: AtomicBool::new(true), threads };
        memory.holds_much(false);
        memory
    }

    /// Adjusts the allocator to whether half of the limit is used.
    pub fn holds_much(&self, much: bool) {
        if self.much.load(Relaxed) != much {
            self.much.store(much, Relaxed);
            heap::set(MAPPED_FROM[usize::from(much)], self.spare());
        }
    }

    /// Limit of a thread's unused buffers.
    pub fn spare(&self) -> usize {
        (self.most / 8 / self.threads).min(MOST_SPARE)
    }

    /// Bytes that threads have reported.
    pub fn held(&self) -> usize {
        self.held.load(Relaxed)
    }

    /// Adds a thread's change of its bytes, which may be negative.
    pub fn report(&self, change: usize) {
        self.held.fetch_add(change, Relaxed);
    }

    /// Removes an ended thread's bytes.
    pub fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_charges_capacity_until_dropped() {
        let before = charged();
        let mut one = Buffer::default();
        for _ in 0..100 {
            one.extend(&[7; 50_000]);
            assert_eq!(charged() - before, one.capacity());
        }
        assert!(one.len() == 5_000_000 && one.capacity() < one.len() + (2 << 20));
        one.with(|bytes| *bytes = Vec::with_capacity(3));
        assert_eq!(charged() - before, 3);
        let two = Buffer::from(vec![1, 2, 3, 4]);
        assert_eq!((charged() - before, &two[1..3]), (7, &[2, 3][..]));
        drop((one, two));
        assert_eq!(charged(), before);
    }
}
