//! Asks for memory before it is needed. A run of thousands of endpoints and links has more of them than a cache near the processor
//! holds, and nearly every packet is for others than the last: it would wait for each in turn.

/// Asks for the lines of a cache that something lies in. Nothing comes of it but time.
#[inline(always)]
pub(crate) fn fetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = std::ptr::from_ref(what).cast::<i8>().wrapping_add(line);
        #[expect(
            unsafe_code,
            reason = "a hint, which may name any address, and which the standard library has in no other form"
        )]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(at);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}
