//! Framing as a setting.

use fanin_fabric::Framing;
use fanin_units::Bytes;

use crate::Literal;
use crate::setting::Setting;

impl Setting for Framing {
    const FORM: &'static str = "\"ethernet\", or at most 1000 B on the wire and in buffers alike, such as \"2 B\"";
    fn read(literal: &Literal) -> Result<Framing, String> {
        match literal {
            Literal::Text(word) if word == "ethernet" => Ok(Framing::ETHERNET),
            other => match Bytes::read(other)? {
                Bytes(header @ ..=1_000) => Ok(Framing::plain(header as u32)),
                more => Err(format!("{more} of framing per packet is too large")),
            },
        }
    }
    fn show(&self) -> String {
        match *self {
            Framing::ETHERNET => "\"ethernet\"".into(),
            plain => Bytes(plain.header().into()).show(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_prints() {
        for text in ["ethernet", "2 B", "0 B", "1 KB"] {
            let framing = Framing::read(&Literal::Text(text.into())).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(framing.show(), format!("\"{text}\""));
        }
    }

    #[test]
    fn refuses_large_and_unknown_framing() {
        for text in ["1001 B", "5 GB", "ethernot", "-1 B"] {
            assert!(Framing::read(&Literal::Text(text.into())).is_err(), "{text}");
        }
    }
}
