//! Non-negative numbers.

use core::fmt;
use core::str::FromStr;

use crate::Share;
use crate::parse::ParseError;

/// A non-negative number that is not a share, stored exactly: decimal or fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    written: (u32, u32),
}

impl Ratio {
    /// `numerator / denominator`.
    pub const fn of(numerator: u32, denominator: u32) -> Ratio {
        Ratio { written: (numerator, denominator) }
    }

    /// In units of 1/65536, rounded to nearest.
    pub const fn in_q16(self) -> u64 {
        let (n, d) = (self.written.0 as u64, self.written.1 as u64);
        ((n << 16) + d / 2) / d
    }

    /// As a floating-point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.written.0) / f64::from(self.written.1)
    }
}

impl FromStr for Ratio {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Ratio, ParseError> {
        match Share::fraction(text) {
            _ if text.trim().starts_with('-') => Err(ParseError::Negative),
            None | Some((_, 0)) => Err(ParseError::NoNumber),
            Some(written) => Ok(Ratio { written }),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written {
            (n, d) if n.is_multiple_of(d) => write!(f, "{}", n / d),
            (n, d) => write!(f, "{n}/{d}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn ratio_keeps_its_text() {
        for (text, printed, q16) in [
            ("8", "8", 8 << 16),
            ("0.25", "25/100", 1 << 14),
            ("1/128", "1/128", 512),
            ("2.5", "25/10", 163_840),
            ("0", "0", 0),
        ] {
            let ratio: Ratio = text.parse().unwrap();
            assert_eq!((ratio.to_string().as_str(), ratio.in_q16()), (printed, q16), "{text}");
            assert_eq!(ratio.to_string().parse::<Ratio>().map(Ratio::in_q16), Ok(q16), "{text}");
        }
        for text in ["", "-1", "1/0", "x", "1e3", "inf"] {
            assert!(text.parse::<Ratio>().is_err(), "{text} is taken");
        }
    }
}
