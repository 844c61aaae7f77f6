//! The memory budget of a front end, and what is charged to it.
//!
//! Whatever grows by what clients, servers or plans do charges its capacity to its thread: bytes are held in a [`Buffer`], tables have a
//! [`Charge`]. Threads add up their charges in [`Memory`]; `bounding` acts on the sum.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use fanin_ring::heap;

/// A thread keeps no more in unused buffers.
const MOST_SPARE: usize = 48 << 20;
/// A buffer doubles until it has this size, and then grows by this much.
const LARGEST_STEP: usize = 1 << 20;
/// From so many bytes on a block is a mapping of its own, while less than half of the budget is held; and while more is. Heaps are several
/// times as fast for values of megabytes, but keep free blocks between others, so that the budget would be taken twice.
const MAPPED_FROM: [usize; 2] = [32 << 20, 5 << 18];

thread_local! {
    static CHARGED: Cell<usize> = const { Cell::new(0) };
}

/// Bytes charged to this thread.
pub fn charged() -> usize {
    CHARGED.get()
}

/// A number of bytes charged to the thread that set it, until it is dropped.
#[derive(Debug, Default)]
pub struct Charge(usize);

impl Charge {
    /// Charges `bytes` in place of the bytes charged before.
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

/// Bytes whose capacity is charged.
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

    /// Lets `work` change the bytes as a vector.
    pub fn with<R>(&mut self, work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = work(&mut self.bytes);
        if self.charge.0 != self.bytes.capacity() {
            self.charge.set(self.bytes.capacity());
        }
        result
    }

    /// Forgets the bytes and keeps the capacity.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The bytes that it can hold without growing.
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

/// The budget, and what all threads together are charged.
#[derive(Debug)]
pub struct Memory {
    /// The budget.
    pub most: usize,
    /// What threads have reported.
    pub held: AtomicUsize,
    /// Whether the allocator has been told that much is held.
    much: AtomicBool,
    threads: usize,
}

impl Memory {
    pub fn new(most: u64, threads: usize) -> Memory {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let memory = Memory { most, held: AtomicUsize::new(0), much: AtomicBool::new(true), threads };
        memory.holds_much(false);
        memory
    }

    /// Has the allocator heed whether half of the budget is held.
    pub fn holds_much(&self, much: bool) {
        if self.much.load(Relaxed) != much {
            self.much.store(much, Relaxed);
            heap::set(MAPPED_FROM[usize::from(much)], self.spare());
        }
    }

    /// What a thread may keep in unused buffers.
    pub fn spare(&self) -> usize {
        (self.most / 8 / self.threads).min(MOST_SPARE)
    }

    pub fn held(&self) -> usize {
        self.held.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_charges_its_capacity_until_it_is_dropped() {
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
