//! Buffers that the kernel picks from for what comes, so that connections which are silent need none.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering::Release};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The group's number: there is one.
pub const GROUP: u16 = 0;
/// How many there are, a power of two, and the bytes of each.
const COUNT: u16 = 256;
const SIZE: usize = 16 << 10;
const PAGE: usize = 4096;

/// One that the kernel has filled: it is nobody's until it is given back.
#[derive(Debug, PartialEq, Eq)]
pub struct Filled {
    number: u16,
    from: u32,
    to: u32,
}

impl Filled {
    /// As the kernel tells.
    pub fn new(number: u16, count: u32) -> Filled {
        Filled { number, from: 0, to: count.min(SIZE as u32) }
    }

    /// Whether nothing more went into it.
    pub fn is_full(&self) -> bool {
        self.to as usize == SIZE
    }
}

/// The buffers, and the ring in which the kernel finds those that are free.
pub struct Buffers {
    ring: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: u16,
}

impl Buffers {
    /// Buffers that are all the kernel's, for the ring that `to` submits to. They must live as long as it.
    pub fn register(to: &Submitter<'_>) -> io::Result<Buffers> {
        let mut buffers = Buffers { ring: zeroed(ring_layout()).cast(), memory: zeroed(memory_layout()), tail: 0 };
        (0..COUNT).for_each(|number| buffers.give_back(Filled::new(number, 0)));
        // SAFETY: the ring has room for so many entries, a page's alignment, and lives as long as the kernel may look at it.
        unsafe { to.register_buf_ring_with_flags(buffers.ring.as_ptr() as u64, COUNT, GROUP, 0)? };
        Ok(buffers)
    }

    /// The bytes of each.
    pub fn size(&self) -> usize {
        SIZE
    }

    /// Moves bytes out of a filled one, as many as there is room for: how many; and whether that was all.
    pub fn take(&self, filled: &mut Filled, into: &mut [u8]) -> (usize, bool) {
        let count = into.len().min((filled.to - filled.from) as usize);
        into[..count].copy_from_slice(&self.bytes(filled)[..count]);
        filled.from += count as u32;
        (count, filled.from == filled.to)
    }

    /// What is left of a filled one.
    pub fn bytes(&self, filled: &Filled) -> &[u8] {
        let start = usize::from(filled.number % COUNT) * SIZE + filled.from as usize;
        // SAFETY: it lies in the memory, which was zeroed, and the kernel writes to no buffer that it has not been given back.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), (filled.to - filled.from) as usize) }
    }

    /// Gives one back to the kernel.
    pub fn give_back(&mut self, filled: Filled) {
        let number = filled.number % COUNT;
        // SAFETY: the entry's place is below their number, and nobody else looks at it: the kernel reads none behind the tail. So
        // does the buffer's among them. No reference is made to the first entry as a whole, whose end is the tail.
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
        // SAFETY: both were taken with these layouts; whoever has the buffers lets go of them after the ring.
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
