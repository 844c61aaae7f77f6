//! Random delay of hosts' packets.

use std::fmt;

use fanin_units::{Share, Time};

use crate::Literal;
use crate::setting::Setting;

/// Largest random delay of a host's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketJitter {
    /// No jitter.
    None,
    /// This share of the transmission time of a full packet on the slowest link.
    Transmission(Share),
    /// This time.
    UpTo(Time),
}

/// Maximum jitter.
const MOST: Time = Time::from_millis(10);

/// Ends a share of a transmission, as in "0.3 of a transmission".
const OF_A_TRANSMISSION: &str = "of a transmission";

impl PacketJitter {
    /// A whole transmission: the default without a profile.
    pub const TRANSMISSION: PacketJitter = PacketJitter::Transmission(Share::of(1, 1));
}

impl fmt::Display for PacketJitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PacketJitter::None => f.write_str("none"),
            PacketJitter::TRANSMISSION => f.write_str("transmission"),
            PacketJitter::Transmission(share) => write!(f, "{share} {OF_A_TRANSMISSION}"),
            PacketJitter::UpTo(time) => time.fmt(f),
        }
    }
}

impl Setting for PacketJitter {
    const FORM: &'static str = "\"none\", \"transmission\", a share such as \"0.3 of a transmission\", or a time of at most 10 ms, such as \"2 us\"";
    fn read(literal: &Literal) -> Result<PacketJitter, String> {
        match literal {
            Literal::Text(word) if word == "none" => Ok(PacketJitter::None),
            Literal::Text(word) if word == "transmission" => Ok(PacketJitter::TRANSMISSION),
            Literal::Text(text) if let Some(share) = text.strip_suffix(OF_A_TRANSMISSION) => {
                match share.trim_end().parse() {
                    Ok(share) => Ok(PacketJitter::Transmission(share)),
                    Err(why) => Err(format!("\"{text}\" is not valid: {why}")),
                }
            }
            other => match Time::read(other)? {
                time if time > MOST => Err(format!("{time} of jitter per packet is too large")),
                time => Ok(PacketJitter::UpTo(time)),
            },
        }
    }
    fn show(&self) -> String {
        format!("\"{self}\"")
    }
    fn number(&self) -> Option<f64> {
        match self {
            PacketJitter::None => Some(0.0),
            // Its rank depends on the network.
            PacketJitter::Transmission(_) => None,
            PacketJitter::UpTo(time) => time.number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PacketJitter, String> {
        PacketJitter::read(&Literal::Text(text.into()))
    }

    #[test]
    fn parses_what_it_prints() {
        for text in ["none", "transmission", "3/10 of a transmission", "2 us", "10 ms", "0 s"] {
            let jitter = read(text).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(jitter.show(), format!("\"{text}\""));
        }
    }

    #[test]
    fn parses_shares_of_a_transmission_as_other_shares() {
        let third = PacketJitter::Transmission(Share::of(3, 10));
        for text in ["0.3 of a transmission", "3/10 of a transmission", "0.3of a transmission"] {
            assert_eq!(read(text), Ok(third), "{text}");
        }
        assert_eq!(read("100 % of a transmission"), Ok(PacketJitter::TRANSMISSION));
        let percent = read("30 % of a transmission").map(|jitter| jitter.show());
        assert_eq!(percent, Ok("\"30/100 of a transmission\"".into()));
    }

    #[test]
    fn refuses_shares_of_a_transmission_outside_0_to_1() {
        for text in ["1.1 of a transmission", "-0.3 of a transmission", "of a transmission", "2 us of a transmission"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refuses_negative_large_and_unknown_jitter() {
        for text in ["10001 us", "5 s", "off", "-1 us", "2", "0.3 transmissions"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
