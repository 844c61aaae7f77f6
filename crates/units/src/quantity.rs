//! Quantities.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::str::FromStr;

use crate::parse::{ParseError, Unit, digits, parse, print};

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

const TIMES: [Unit; 7] = [
    Unit { name: "h", scale: 3_600_000_000_000_000 },
    Unit { name: "min", scale: 60_000_000_000_000 },
    Unit { name: "s", scale: 1_000_000_000_000 },
    Unit { name: "ms", scale: 1_000_000_000 },
    Unit { name: "us", scale: 1_000_000 },
    Unit { name: "ns", scale: 1_000 },
    Unit { name: "ps", scale: 1 },
];

/// The largest unit for printing times: 100 s have no exact decimal in minutes.
const SECONDS: usize = 2;

/// Decimal units are preferred for printing; binary ones print only whole numbers.
const BYTES: [Unit; 7] = [
    Unit { name: "GB", scale: 1_000_000_000 },
    Unit { name: "MB", scale: 1_000_000 },
    Unit { name: "KB", scale: 1_000 },
    Unit { name: "B", scale: 1 },
    Unit { name: "GiB", scale: 1 << 30 },
    Unit { name: "MiB", scale: 1 << 20 },
    Unit { name: "KiB", scale: 1 << 10 },
];

/// Bytes per second are not allowed for rates, since they could be mistaken for bits.
const BYTE_RATES: [Unit; 9] = [
    Unit { name: "TB/s", scale: 8_000_000_000_000 },
    Unit { name: "GB/s", scale: 8_000_000_000 },
    Unit { name: "GBps", scale: 8_000_000_000 },
    Unit { name: "MB/s", scale: 8_000_000 },
    Unit { name: "MBps", scale: 8_000_000 },
    Unit { name: "KB/s", scale: 8_000 },
    Unit { name: "kB/s", scale: 8_000 },
    Unit { name: "GiB/s", scale: 8 << 30 },
    Unit { name: "MiB/s", scale: 8 << 20 },
];

const RATES: [Unit; 5] = [
    Unit { name: "Tbit/s", scale: 1_000_000_000_000 },
    Unit { name: "Gbit/s", scale: 1_000_000_000 },
    Unit { name: "Mbit/s", scale: 1_000_000 },
    Unit { name: "kbit/s", scale: 1_000 },
    Unit { name: "bit/s", scale: 1 },
];

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

impl FromStr for Time {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Time, ParseError> {
        parse(text, &TIMES).map(Time)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::ZERO {
            return f.write_str("0 s");
        }
        print(f, self.0, &TIMES[SECONDS..])
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        parse(text, &BYTES).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    /// Prints in the largest unit that gives a whole number; binary only if no decimal one above B does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |u: &&Unit| self.0 >= u.scale && self.0.is_multiple_of(u.scale);
        let (decimal, binary) = BYTES.split_at(4);
        let unit = decimal[..3].iter().find(whole).or_else(|| binary.iter().find(whole)).unwrap_or(&decimal[3]);
        write!(f, "{} {}", self.0 / unit.scale, unit.name)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        match parse(text, &RATES) {
            Ok(bits) => Ok(Rate(bits)),
            Err(why) => Err(parse(text, &BYTE_RATES).map_or(why, |bits| ParseError::BytesPerSecond(Rate(bits)))),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, &RATES)
    }
}

impl FromStr for QueueSize {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<QueueSize, ParseError> {
        let text = text.trim();
        match text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            Some(number) if number.trim().starts_with('-') => Err(ParseError::Negative),
            Some(number) if number.trim().is_empty() => Err(ParseError::NoNumber),
            Some(number) => {
                let packets = digits(number.trim())?;
                u32::try_from(packets).map(QueueSize::Packets).map_err(|_| ParseError::TooLarge)
            }
            None => text.parse().map(|Bytes(bytes)| QueueSize::Bytes(bytes)),
        }
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueSize::Bytes(bytes) => Bytes(*bytes).fmt(f),
            QueueSize::Packets(1) => f.write_str("1 packet"),
            QueueSize::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}
