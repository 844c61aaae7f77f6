//! Kernel-selected receive buffers, so that idle connections need none.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering::Release};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// Number of the only buffer group.
pub const GROUP: u16 = 0;
/// Number of buffers, a power of two, and the size of each.
const COUNT: u16 = 256;
const SIZE: usize = 16 << 10;
const PAGE: usize = 4096;

/// A filled buffer, owned until it is given back.
#[derive(Debug, PartialEq, Eq)]
pub struct Filled {
    number: u16,
    from: u32,
    to: u32,
}

impl Filled {
    /// From a completion.
    pub fn new(number: u16, count: u32) -> Filled {
        Filled { number, from: 0, to: count.min(SIZE as u32) }
    }

    /// Whether it is full.
    pub fn is_full(&self) -> bool {
        self.to as usize == SIZE
    }
}

/// The buffers, and the ring of free ones that the kernel takes from.
pub struct Buffers {
    ring: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: u16,
}

impl Buffers {
    /// Registers buffers with the ring of `to`. They must outlive it.
    pub fn register(to: &Submitter<'_>) -> io::Result<Buffers> {
        let mut buffers = Buffers { ring: zeroed(ring_layout()).cast(), memory: zeroed(memory_layout()), tail: 0 };
        (0..COUNT).for_each(|number| buffers.give_back(Filled::new(number, 0)));
        // SAFETY: the ring has this many entries, page alignment, and lives as long as the kernel may access it.
        unsafe { to.register_buf_ring_with_flags(buffers.ring.as_ptr() as u64, COUNT, GROUP, 0)? };
        Ok(buffers)
    }

    /// Size of a buffer.
    pub fn size(&self) -> usize {
        SIZE
    }

    /// Copies bytes out of a filled buffer; returns how many, and whether none are left.
    pub fn take(&self, filled: &mut Filled, into: &mut [u8]) -> (usize, bool) {
        let count = into.len().min((filled.to - filled.from) as usize);
        into[..count].copy_from_slice(&self.bytes(filled)[..count]);
        filled.from += count as u32;
        (count, filled.from == filled.to)
    }

    /// Remaining bytes of a filled buffer.
    pub fn bytes(&self, filled: &Filled) -> &[u8] {
        let start = usize::from(filled.number % COUNT) * SIZE + filled.from as usize;
        // SAFETY: it is within the memory, which was zeroed, and the kernel writes only to buffers that it has been given.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), (filled.to - filled.from) as usize) }
    }

    /// Returns a buffer to the kernel.
    pub fn give_back(&mut self, filled: Filled) {
        let number = filled.number % COUNT;
        // SAFETY: the entry's index is below their number, and nothing else accesses it: the kernel reads no entry behind the tail. The
        // same holds for the buffer. No reference to the whole first entry is made, since its end is the tail.
        unsafe {
            let entry = self.ring.as_ptr().add(usize::from(self.tail % COUNT));
            let mut new = std::ptr::read(entry);
            new.set_addr(self.memory.as_ptr().add(usize::from(number) * SIZE) as u64);
            new.set_len(SIZE as u32);
            new.set_bid(number);
            std::ptr::write(entry, new);
            self.tail = self.tail.wrapping_add(1);
            AtomicU16::from_ptr(BufRingEntry::tail(self.ring.as_ptr()).cast_mut()).store(self.tail, Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: both were allocated with these layouts; the owner drops the buffers after the ring.
        unsafe {
            dealloc(self.ring.as_ptr().cast(), ring_layout());
            dealloc(self.memory.as_ptr(), memory_layout());
        }
    }
}

fn ring_layout() -> Layout {
    Layout::from_size_align(usize::from(COUNT) * size_of::<BufRingEntry>(), PAGE).expect("a page is a power of two")
}

fn memory_layout() -> Layout {
    Layout::from_size_align(usize::from(COUNT) * SIZE, PAGE).expect("a page is a power of two")
}

fn zeroed(layout: Layout) -> NonNull<u8> {
    // SAFETY: neither layout is empty.
    NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}
