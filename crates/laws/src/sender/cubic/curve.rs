//! The cubic function (`super`).

use crate::fixed::cbrt;

/// Picoseconds in 1/1024 s.
pub const TICK_PS: u64 = 1_000_000_000_000 / 1024;
/// 128 s: past it the cube would not fit.
const SPAN_MAX: u64 = 128 << 10;

/// K = cbrt(below / C) in ticks, of segments in 1/1024 that the window is under its plateau; C in 1/1024.
pub fn k(below_q10: u64, c_q10: u16) -> u32 {
    // A cubed second is 2^30 cubed ticks. A window is under 2^32 bytes of at least 64 a segment, so the product is under 2^66
    // only in 128 bits; its root is under 2^22.
    let cubed = (u128::from(below_q10) << 30) / u128::from(c_q10);
    cbrt(u64::try_from(cubed).unwrap_or(u64::MAX)) as u32
}

/// C |t - K|^3, in segments in 1/1024.
pub fn away(t: u64, k: u32, c_q10: u16) -> u64 {
    let span = t.abs_diff(u64::from(k)).min(SPAN_MAX);
    // 2^51 (cubed ticks) times 2^10 (C up to one) fits.
    (span * span * span).saturating_mul(u64::from(c_q10)) >> 30
}
