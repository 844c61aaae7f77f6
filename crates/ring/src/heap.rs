//! What the allocator does with memory that nobody uses, where it is glibc's.

/// Sets from how many bytes on a block is a mapping of its own, and how large the free end of a heap may be. A mapping goes back to the
/// system as it is freed and leaves no holes, but each of its pages is a fault.
pub fn set(mapped_from: usize, free_end: usize) {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time, from any thread.
    unsafe {
        use nix::libc::{M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, c_int, mallopt};
        let of = |bytes: usize| c_int::try_from(bytes).unwrap_or(c_int::MAX);
        mallopt(M_MMAP_THRESHOLD, of(mapped_from));
        mallopt(M_TRIM_THRESHOLD, of(free_end));
    }
}

/// Gives free pages back to the system. It takes about a millisecond for 100 MB.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time, from any thread.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
