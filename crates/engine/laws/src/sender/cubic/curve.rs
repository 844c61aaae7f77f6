//! The cubic function (`super`).

use fanin_units::Time;

use crate::fixed::cbrt;

/// Picoseconds in 1/1024 s.
pub const TICK_PS: u64 = 1_000_000_000_000 / 1024;
/// 128 s: beyond it the cube overflows.
const SPAN_MAX: u64 = 128 << 10;

/// K = cbrt(below / C) in ticks; `below` is how far the window is under its plateau, in 1/1024 segment; C in 1/1024.
pub fn k(below_q10: u64, c_q10: u16) -> u32 {
    // A second cubed is 2^30 ticks cubed. A window is under 2^32 bytes of at least 64 a segment, so the product needs 128 bits
    // (under 2^66); its root is under 2^22.
    let cubed = (u128::from(below_q10) << 30) / u128::from(c_q10);
    cbrt(u64::try_from(cubed).unwrap_or(u64::MAX)) as u32
}

/// C |t - K|^3, in segments in 1/1024.
pub fn away(t: u64, k: u32, c_q10: u16) -> u64 {
    let span = t.abs_diff(u64::from(k)).min(SPAN_MAX);
    // 2^51 (cubed ticks) times 2^10 (C up to one) fits.
    (span * span * span).saturating_mul(u64::from(c_q10)) >> 30
}

/// Whole microseconds.
pub(super) fn micros(time: Time) -> u32 {
    (time.0 / Time::from_micros(1).0) as u32
}
