//! Shares of a whole.

use core::fmt;
use core::str::FromStr;

use crate::parse::ParseError;

/// A share between 0 and 1, stored exactly: decimal, per cent, or fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    written: (u32, u32),
}

/// Nothing.
impl Default for Share {
    fn default() -> Share {
        Share::of(0, 1)
    }
}

impl Share {
    /// `numerator / denominator`, at most one.
    pub const fn of(numerator: u32, denominator: u32) -> Share {
        Share { written: (numerator, denominator) }
    }

    /// In units of 1/2^`bits`, rounded to nearest and saturated to 32 bits.
    pub const fn in_q(self, bits: u32) -> u32 {
        let (n, d) = (self.written.0 as u64, self.written.1 as u64);
        let units = ((n << bits) + d / 2) / d;
        if units > u32::MAX as u64 { u32::MAX } else { units as u32 }
    }

    /// As a floating-point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.written.0) / f64::from(self.written.1)
    }

    /// Whether the share is zero.
    pub const fn is_zero(self) -> bool {
        self.written.0 == 0
    }

    /// This share of a number, rounded down.
    pub const fn part_of(self, whole: u64) -> u64 {
        (whole as u128 * self.written.0 as u128 / self.written.1 as u128) as u64
    }

    /// The number of which `part` is this share, rounded down and saturated; the share must be above zero.
    pub const fn whole_of(self, part: u64) -> u64 {
        let whole = part as u128 * self.written.1 as u128 / self.written.0 as u128;
        if whole > u64::MAX as u128 { u64::MAX } else { whole as u64 }
    }

    /// Whether a uniform 64-bit number falls in this share of the range.
    pub const fn covers(self, word: u64) -> bool {
        (word as u128 * self.written.1 as u128) < (self.written.0 as u128) << 64
    }

    /// Numerator and denominator.
    pub(crate) fn fraction(text: &str) -> Option<(u32, u32)> {
        if let Some(percent) = text.trim().strip_suffix('%') {
            let (n, d) = Share::decimal(percent)?;
            return Some((n, d.checked_mul(100)?));
        }
        match text.split_once('/') {
            Some((n, d)) => Some((n.trim().parse().ok()?, d.trim().parse().ok()?)),
            None => Share::decimal(text),
        }
    }

    /// Numerator and denominator of a decimal.
    fn decimal(text: &str) -> Option<(u32, u32)> {
        let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let scale = 10u32.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u32>().ok()? };
        Some((whole.parse::<u32>().ok()?.checked_mul(scale)?.checked_add(fraction)?, scale))
    }
}

impl FromStr for Share {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Share, ParseError> {
        match Share::fraction(text) {
            None | Some((_, 0)) => Err(ParseError::NoNumber),
            Some((n, d)) if n > d => Err(ParseError::TooLarge),
            // As they are written: each has one form.
            Some((n, d)) if n == d || n == 0 => Ok(Share::of(n / d, 1)),
            Some(written) => Ok(Share { written }),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written {
            (n, d) if n == d || n == 0 => write!(f, "{}", n / d),
            (n, d) => write!(f, "{n}/{d}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_share_saturates_in_32_bits() {
        assert_eq!(Share::of(1, 1).in_q(32), u32::MAX);
        assert_eq!(Share::of(1, 1).in_q(16), 65_536);
        assert_eq!(Share::of(0, 1).in_q(32), 0);
    }

    #[test]
    fn all_and_nothing_have_one_form() {
        assert_eq!(("100 %".parse(), "0.0".parse()), (Ok(Share::of(1, 1)), Ok(Share::of(0, 1))));
    }

    #[test]
    fn part_and_whole_are_inverse() {
        let tenth = Share::of(1, 10);
        assert_eq!((tenth.part_of(99), tenth.part_of(u64::MAX)), (9, u64::MAX / 10));
        assert_eq!((tenth.whole_of(9), tenth.whole_of(u64::MAX / 2)), (90, u64::MAX));
        assert_eq!((Share::of(1, 1).part_of(7), Share::of(1, 1).whole_of(7), Share::of(0, 1).part_of(7)), (7, 7, 0));
    }

    #[test]
    fn share_covers_its_part_of_draws() {
        let quarter = Share::of(1, 4);
        assert!(quarter.covers((1 << 62) - 1) && !quarter.covers(1 << 62));
        assert!(Share::of(1, 1).covers(u64::MAX) && !Share::of(0, 1).covers(0));
    }

    #[test]
    fn parses_shares_in_per_cent() {
        assert_eq!("60 %".parse::<Share>().map(Share::as_f64), Ok(0.6));
        assert_eq!("12.5%".parse::<Share>().map(Share::as_f64), Ok(0.125));
        assert_eq!("100 %".parse::<Share>().map(|share| share.in_q(16)), Ok(65_536));
        assert_eq!("101 %".parse::<Share>(), Err(ParseError::TooLarge));
        for wrong in ["%", "1/2 %", "5 % %", "50 %%"] {
            assert_eq!(wrong.parse::<Share>(), Err(ParseError::NoNumber), "{wrong}");
        }
    }

    #[test]
    fn refuses_invalid_shares() {
        assert_eq!("3/2".parse::<Share>(), Err(ParseError::TooLarge));
        assert_eq!("1/0".parse::<Share>(), Err(ParseError::NoNumber));
        assert_eq!("0.0625".parse::<Share>().map(|share| share.in_q(16)), Ok(4096));
    }
}
