//! Overhead of the link layer in buffers and on the wire.

use fanin_units::Bytes;

use crate::Literal;
use crate::setting::Setting;

/// Bytes of the link layer per packet. Buffers hold frames; on the wire, a gap follows each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Header of a frame.
    header: u32,
    /// Minimum length of a frame.
    least: u32,
    /// Gap between frames.
    pub gap: u32,
}

impl Framing {
    /// 14 B of header and 4 B of checksum in frames of at least 64 B; a preamble of 8 B and a gap of 12 B between frames
    /// (IEEE 802.3).
    pub const ETHERNET: Framing = Framing { header: 18, least: 64, gap: 20 };

    /// The same overhead in buffers and on the wire, without a minimum frame.
    pub const fn plain(header: u32) -> Framing {
        Framing { header, least: 0, gap: 0 }
    }

    /// Bytes of a packet in a buffer.
    #[inline]
    pub fn frame(self, packet: u32) -> u32 {
        (packet + self.header).max(self.least)
    }

    /// Bytes of a packet on the wire.
    #[inline]
    pub fn on_wire(self, packet: u32) -> u32 {
        self.frame(packet) + self.gap
    }
}

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
            Framing { header, .. } => Bytes(header.into()).show(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_pads_a_pure_ack_to_64_bytes() {
        assert_eq!((Framing::ETHERNET.frame(40), Framing::ETHERNET.on_wire(40)), (64, 84));
        assert_eq!((Framing::ETHERNET.frame(1500), Framing::ETHERNET.on_wire(1500)), (1518, 1538));
    }

    #[test]
    fn plain_framing_has_no_gap() {
        assert_eq!((Framing::plain(2).frame(40), Framing::plain(2).on_wire(40)), (42, 42));
    }

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
