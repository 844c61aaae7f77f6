//! Settings of glibc's allocator for free memory.

/// Sets the block size from which memory is mapped separately, and the size of a heap's free end. A mapping is returned to the system when
/// freed and causes no fragmentation, but each of its pages costs a page fault.
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

/// Returns free pages to the system. This takes about a millisecond per 100 MB.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time, from any thread.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
