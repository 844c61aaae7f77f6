//! Memory prefetch. A run with thousands of endpoints and links exceeds the processor's cache, and nearly every packet is for
//! another endpoint than the last: each would wait for memory in turn.

/// Whether prefetching has an effect on this architecture.
pub(crate) const HAS_EFFECT: bool = cfg!(target_arch = "x86_64");

/// Bytes of a line of a cache.
pub(crate) const LINE: usize = 64;

/// Prefetch all lines of a value.
#[inline(always)]
pub(crate) fn fetch<T>(what: &T) {
    fetch_first(what, size_of::<T>());
    if align_of::<T>() < LINE {
        // It may begin in the middle of a line.
        fetch_line(what, size_of::<T>() - 1);
    }
}

/// Prefetch the lines of the first `bytes` of a value.
#[inline(always)]
pub(crate) fn fetch_first<T>(what: &T, bytes: usize) {
    for byte in (0..bytes).step_by(LINE) {
        fetch_line(what, byte);
    }
}

/// Prefetch the line of one byte of a value; affects only time.
#[inline(always)]
fn fetch_line<T>(what: &T, byte: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = std::ptr::from_ref(what).cast::<i8>().wrapping_add(byte);
        #[expect(
            unsafe_code,
            reason = "a hint, which may name any address, and which the standard library has in no other form"
        )]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(at);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (what, byte);
}
