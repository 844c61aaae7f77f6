//! Random delay of hosts' packets.

use fanin_units::Time;

use crate::Literal;
use crate::setting::Setting;

/// Largest random delay of a host's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketJitter {
    /// No jitter.
    None,
    /// The transmission time of a full packet on the slowest link.
    Transmission,
    /// This time.
    UpTo(Time),
}

/// Maximum jitter.
const MOST: Time = Time::from_millis(10);

impl Setting for PacketJitter {
    const FORM: &'static str = "\"transmission\", \"none\", or a time of at most 10 ms, such as \"2 us\"";
    fn read(literal: &Literal) -> Result<PacketJitter, String> {
        match literal {
            Literal::Text(word) if word == "none" => Ok(PacketJitter::None),
            Literal::Text(word) if word == "transmission" => Ok(PacketJitter::Transmission),
            other => match Time::read(other)? {
                time if time > MOST => Err(format!("{time} of jitter per packet is too large")),
                time => Ok(PacketJitter::UpTo(time)),
            },
        }
    }
    fn show(&self) -> String {
        match self {
            PacketJitter::None => "\"none\"".into(),
            PacketJitter::Transmission => "\"transmission\"".into(),
            PacketJitter::UpTo(time) => time.show(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            PacketJitter::None => Some(0.0),
            // Its rank depends on the network.
            PacketJitter::Transmission => None,
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
        for text in ["none", "transmission", "2 us", "10 ms", "0 s"] {
            let jitter = read(text).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(jitter.show(), format!("\"{text}\""));
        }
    }

    #[test]
    fn refuses_negative_large_and_unknown_jitter() {
        for text in ["10001 us", "5 s", "off", "-1 us", "2"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
