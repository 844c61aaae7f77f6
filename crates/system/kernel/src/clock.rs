//! Clocks of the kernel.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::trouble::Trouble;

/// The time of CLOCK_MONOTONIC, as programs in the kernel have it.
///
/// # Errors
/// The kernel has no such clock.
pub fn monotonic() -> Result<Duration, Trouble> {
    clock(ClockId::CLOCK_MONOTONIC)
}

/// The time since 1970.
///
/// # Errors
/// The kernel has no such clock.
pub fn since_1970() -> Result<Duration, Trouble> {
    clock(ClockId::CLOCK_REALTIME)
}

fn clock(id: ClockId) -> Result<Duration, Trouble> {
    clock_gettime(id).map(Duration::from).map_err(|error| Trouble::kernel("read the clock", error))
}
