//! Parsing and printing, shared by every unit.

use core::fmt;

use crate::Rate;

/// A unit's name and its size in the base unit.
pub(crate) struct Unit {
    pub name: &'static str,
    pub scale: u64,
}

/// Reason why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// No number at the start.
    NoNumber,
    /// The unit is missing.
    NoUnit,
    /// Unknown unit, with a suggestion.
    UnknownUnit(Option<&'static str>),
    /// The unit is ambiguous.
    Ambiguous(&'static str, &'static str),
    /// A rate in bytes per second, and the same rate in bits per second.
    BytesPerSecond(Rate),
    /// Negative.
    Negative,
    /// Finer than the base unit.
    TooFine,
    /// Too large for 64 bits of the base unit.
    TooLarge,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            ParseError::NoNumber => "it has no number",
            ParseError::NoUnit => "its unit is missing",
            ParseError::UnknownUnit(Some(near)) => return write!(f, "its unit is unknown (did you mean `{near}`?)"),
            ParseError::UnknownUnit(None) => "its unit is unknown",
            ParseError::Ambiguous(one, other) => {
                return write!(f, "its unit may mean `{one}` or `{other}`: write one of them");
            }
            ParseError::BytesPerSecond(rate) => return write!(f, "it is in bytes per second: write `{rate}`"),
            ParseError::Negative => "it is negative",
            ParseError::TooFine => "it is finer than the smallest unit",
            ParseError::TooLarge => "it is too large",
        };
        f.write_str(text)
    }
}

impl core::error::Error for ParseError {}

/// Parses `"<decimal number> <unit>"`; the space is optional.
pub(crate) fn parse(text: &str, units: &[Unit]) -> Result<u64, ParseError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(ParseError::Negative);
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return Err(ParseError::NoNumber);
    }
    if unit.is_empty() {
        return Err(ParseError::NoUnit);
    }
    let scale = known(unit, units)?.scale;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = digits(whole)?.checked_mul(scale).ok_or(ParseError::TooLarge)?;
    whole.checked_add(part_of(fraction, scale)?).ok_or(ParseError::TooLarge)
}

/// Alternative spellings of units.
const ALSO: [(&str, &[&str]); 9] = [
    ("Tbit/s", &["T", "TbE", "Tb", "Tb/s", "Tbps", "Tbit"]),
    ("Gbit/s", &["G", "g", "GbE", "GE", "Gb", "Gb/s", "Gbps", "Gbit", "gbit"]),
    ("Mbit/s", &["M", "Mb", "Mb/s", "Mbps", "Mbit", "mbit"]),
    ("kbit/s", &["k", "kb", "kb/s", "kbps", "kbit"]),
    // Micro sign and Greek letter.
    ("us", &["\u{b5}s", "\u{3bc}s", "usec"]),
    ("ms", &["msec"]),
    ("s", &["sec"]),
    ("B", &["byte", "bytes"]),
    ("KB", &["kB"]),
];

/// Ambiguous units, with their two readings.
const TWO_READINGS: [(&str, [&str; 2]); 7] = [
    ("K", ["KB", "KiB"]),
    ("k", ["KB", "KiB"]),
    ("M", ["MB", "MiB"]),
    ("m", ["MB", "MiB"]),
    ("G", ["GB", "GiB"]),
    ("g", ["GB", "GiB"]),
    ("m", ["min", "ms"]),
];

/// The unit with this name or alternative spelling.
fn known<'a>(unit: &str, units: &'a [Unit]) -> Result<&'a Unit, ParseError> {
    let named = |name: &str| units.iter().find(|known| known.name == name);
    let also = || ALSO.iter().filter(|(_, also)| also.contains(&unit)).find_map(|(name, _)| named(name));
    let readings = TWO_READINGS.iter().find(|(word, [one, _])| *word == unit && named(one).is_some());
    match (named(unit).or_else(also), readings) {
        (Some(known), _) => Ok(known),
        (None, Some((_, [one, other]))) => Err(ParseError::Ambiguous(one, other)),
        (None, None) => Err(ParseError::UnknownUnit(near(unit, units))),
    }
}

/// The unit with this name in other letter case.
fn near(unit: &str, units: &[Unit]) -> Option<&'static str> {
    let is_meant = |name: &str| name.eq_ignore_ascii_case(unit);
    let also = |name: &str| ALSO.iter().any(|(of, also)| *of == name && also.iter().any(|word| is_meant(word)));
    units.iter().map(|known| known.name).find(|name| is_meant(name) || also(name))
}

/// Value of a run of digits, which underscores may group.
pub(crate) fn digits(text: &str) -> Result<u64, ParseError> {
    let mut value = 0u64;
    for c in text.bytes().filter(|&c| c != b'_') {
        if !c.is_ascii_digit() {
            return Err(ParseError::NoNumber);
        }
        value = value.checked_mul(10).and_then(|v| v.checked_add((c - b'0').into())).ok_or(ParseError::TooLarge)?;
    }
    Ok(value)
}

/// Exact value of the digits after the decimal point, or an error.
fn part_of(fraction: &str, scale: u64) -> Result<u64, ParseError> {
    let fraction = fraction.trim_end_matches('0');
    let mut parts = 1u64;
    for c in fraction.bytes() {
        if c != b'_' {
            parts = parts.checked_mul(10).ok_or(ParseError::TooFine)?;
        }
    }
    let product = u128::from(digits(fraction)?) * u128::from(scale);
    if product % u128::from(parts) != 0 {
        return Err(ParseError::TooFine);
    }
    // The fraction is below one whole unit, so the quotient is below `scale`.
    Ok((product / u128::from(parts)) as u64)
}

/// Prints `value` in the largest unit of `units` (sorted, largest first) that it reaches, as an exact decimal.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let last = &units[units.len() - 1];
    let unit = units.iter().find(|u| value >= u.scale).unwrap_or(last);
    let (whole, mut rest) = (value / unit.scale, value % unit.scale);
    write!(f, "{whole}")?;
    if rest != 0 {
        f.write_str(".")?;
        let mut step = unit.scale;
        while rest != 0 {
            step /= 10;
            write!(f, "{}", rest / step)?;
            rest %= step;
        }
    }
    write!(f, " {}", unit.name)
}
