//! Quantities, and their arithmetic.

use core::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a duration, in picoseconds, up to 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Time(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Bytes(pub u64);

/// A rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Rate(pub u64);

/// Capacity of a queue, in bytes or in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueSize {
    /// Bytes on the wire.
    Bytes(u64),
    /// Packets of any size.
    Packets(u32),
}

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// Later than any time: a disabled timer.
    pub const NEVER: Time = Time(u64::MAX);

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Time {
        Time(s * 1_000_000_000_000)
    }

    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Time {
        Time(ms * 1_000_000_000)
    }

    /// From whole microseconds.
    pub const fn from_micros(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    /// In seconds, for output and statistics; not for simulated arithmetic.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The duration since `earlier`, or zero if that is later.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }

    /// The sum, or [`Time::NEVER`] on overflow.
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// The product, or [`Time::NEVER`] on overflow.
    pub const fn saturating_mul(self, times: u64) -> Time {
        Time(self.0.saturating_mul(times))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, earlier: Time) -> Time {
        Time(self.0 - earlier.0)
    }
}

impl Rate {
    /// Transmission time of `bytes`, rounded up to a whole picosecond; [`Time::NEVER`] on overflow.
    ///
    /// # Panics
    /// The rate is zero; scenarios refuse that.
    pub const fn time_for(self, bytes: u64) -> Time {
        const PS_BITS: u64 = 8_000_000_000_000;
        match bytes.checked_mul(PS_BITS) {
            Some(product) => Time(product.div_ceil(self.0)),
            None => {
                let ps = (bytes as u128 * PS_BITS as u128).div_ceil(self.0 as u128);
                if ps < u64::MAX as u128 { Time(ps as u64) } else { Time::NEVER }
            }
        }
    }
}

impl Rate {
    /// The rate at which `bytes` take this time, rounded down; the maximum if the time is zero.
    pub const fn of(bytes: u64, time: Time) -> Rate {
        let bits = bytes as u128 * 8_000_000_000_000;
        match bits.checked_div(time.0 as u128) {
            Some(rate) if rate < u64::MAX as u128 => Rate(rate as u64),
            _ => Rate(u64::MAX),
        }
    }

    /// Number of bytes in this time, rounded down.
    pub const fn bytes_in(self, time: Time) -> u64 {
        (self.0 as u128 * time.0 as u128 / 8_000_000_000_000) as u64
    }
}
