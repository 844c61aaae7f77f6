//! Quantities as text: their units, and how each is parsed and printed.

use core::fmt;
use core::str::FromStr;

use crate::parse::{ParseError, Unit, digits, parse, print};
use crate::quantity::{Bytes, QueueSize, Rate, Time};

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
