//! Overhead of the link layer in buffers and on the wire.

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

    /// Bytes of a frame's header.
    pub const fn header(self) -> u32 {
        self.header
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
}
