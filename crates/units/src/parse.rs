//! Text to quantity and back, shared by every unit.

use core::fmt;

/// One unit's name and its size in the quantity's base unit.
pub(crate) struct Unit {
    pub name: &'static str,
    pub scale: u64,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// There is no number at the start.
    NoNumber,
    /// A number stands alone: the unit is missing.
    NoUnit,
    /// The unit is not one of those known; the one that is meant, where that is plain.
    UnknownUnit(Option<&'static str>),
    /// The number has a minus sign.
    Negative,
    /// The number needs finer steps than the base unit has.
    TooFine,
    /// The value does not fit into 64 bits of the base unit.
    TooLarge,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            ParseError::NoNumber => "it has no number",
            ParseError::NoUnit => "its unit is missing",
            ParseError::UnknownUnit(Some(near)) => return write!(f, "its unit is unknown (did you mean `{near}`?)"),
            ParseError::UnknownUnit(None) => "its unit is unknown",
            ParseError::Negative => "it is negative",
            ParseError::TooFine => "it is finer than the smallest unit",
            ParseError::TooLarge => "it is too large",
        };
        f.write_str(text)
    }
}

impl core::error::Error for ParseError {}

/// Reads `"<decimal number> <unit>"`; the space may be left out.
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
    let known = units.iter().find(|u| u.name == unit);
    let scale = known.ok_or_else(|| ParseError::UnknownUnit(near(unit, units)))?.scale;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = digits(whole)?.checked_mul(scale).ok_or(ParseError::TooLarge)?;
    whole.checked_add(part_of(fraction, scale)?).ok_or(ParseError::TooLarge)
}

/// Units as others write them.
const ALSO: [(&str, &str); 12] = [
    ("kbps", "kbit/s"),
    ("Mbps", "Mbit/s"),
    ("Gbps", "Gbit/s"),
    ("Tbps", "Tbit/s"),
    ("Mb/s", "Mbit/s"),
    ("Gb/s", "Gbit/s"),
    ("\u{b5}s", "us"),
    ("\u{3bc}s", "us"),
    ("usec", "us"),
    ("msec", "ms"),
    ("sec", "s"),
    ("bytes", "B"),
];

/// The unit that is meant by another word for it, or by other cases.
fn near(unit: &str, units: &[Unit]) -> Option<&'static str> {
    let other = ALSO.iter().find(|(also, _)| also.eq_ignore_ascii_case(unit)).map(|(_, name)| *name);
    let name = other.unwrap_or(unit);
    units.iter().map(|known| known.name).find(|known| known.eq_ignore_ascii_case(name))
}

/// The value of a run of digits; underscores may group them.
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

/// What the digits behind the point are worth: exactly, or an error.
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
    // The fraction is under one whole unit, so the quotient is under `scale`.
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
