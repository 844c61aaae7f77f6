//! A sender's rate, absolute or relative to its link.

use core::fmt;
use core::str::FromStr;

use crate::{ParseError, Rate, Share};

/// A rate, or a share of the rate of the sender's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendRate {
    /// The same on every link.
    Of(Rate),
    /// A share of the link's rate.
    Share(Share),
}

impl SendRate {
    /// The rate on a link of this rate, at least 1 bit/s.
    #[inline]
    pub fn on(self, line: Rate) -> Rate {
        let rate = match self {
            SendRate::Of(rate) => rate.0,
            SendRate::Share(share) => share.part_of(line.0),
        };
        Rate(rate.max(1))
    }
}

impl FromStr for SendRate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<SendRate, ParseError> {
        match text.parse::<Share>() {
            Ok(share) => Ok(SendRate::Share(share)),
            // A number without a unit is a share.
            Err(why) if !text.contains(char::is_alphabetic) => Err(why),
            Err(_) => text.parse().map(SendRate::Of),
        }
    }
}

impl fmt::Display for SendRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendRate::Of(rate) => rate.fmt(f),
            SendRate::Share(share) => share.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn is_absolute_or_a_share_of_the_link() {
        let line = Rate(400_000_000_000);
        let on = |text: &str| text.parse::<SendRate>().map(|rate| rate.on(line).0);
        assert_eq!([on("5 Mbit/s"), on("1/100"), on("0.5 %")], [Ok(5_000_000), Ok(4_000_000_000), Ok(2_000_000_000)]);
        assert_eq!([on("3/2"), on("5 Mbit/h")], [Err(ParseError::TooLarge), Err(ParseError::UnknownUnit(None))]);
        assert_eq!(on("0"), Ok(1));
        for text in ["5 Mbit/s", "1/100", "1"] {
            assert_eq!(text.parse::<SendRate>().unwrap().to_string(), text);
        }
    }
}
