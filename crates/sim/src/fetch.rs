//! Asks for memory before it is needed. A run of thousands of endpoints and links has more of them than a cache near the processor
//! holds, and nearly every packet is for others than the last: it would wait for each in turn.

/// Bytes of a line of a cache.
pub(crate) const LINE: usize = 64;

/// Asks for the lines that something lies in.
#[inline(always)]
pub(crate) fn fetch<T>(what: &T) {
    fetch_first(what, size_of::<T>());
    if align_of::<T>() < LINE {
        // It may begin in the middle of one.
        fetch_line(what, size_of::<T>() - 1);
    }
}

/// Asks for the lines of the first so many bytes of something.
#[inline(always)]
pub(crate) fn fetch_first<T>(what: &T, bytes: usize) {
    for byte in (0..bytes).step_by(LINE) {
        fetch_line(what, byte);
    }
}

/// Asks for the line of a byte of something. Nothing comes of it but time.
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
