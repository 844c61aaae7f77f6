//! Packets: a header that every port reads, and a body of the transport's own.

use std::ops::{BitOr, BitOrAssign};

use fanin_laws::port::HeaderOption;
use fanin_laws::rate::Hop;

/// Properties of a packet, and three bits of the transport's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits(u8);

impl Bits {
    /// No bit.
    pub const NONE: Bits = Bits(0);
    /// The flow opens.
    pub const OPENS: Bits = Bits(1);
    /// The flow closes.
    pub const CLOSES: Bits = Bits(1 << 1);
    /// The flow is broken off.
    pub const BREAKS: Bits = Bits(1 << 2);
    /// Bits whose meaning the transport defines.
    pub const OWN: [Bits; 3] = [Bits(1 << 3), Bits(1 << 4), Bits(1 << 5)];
    /// ECN-capable (IP).
    pub const ECT: Bits = Bits(1 << 6);
    /// Congestion experienced (IP).
    pub const CE: Bits = Bits(1 << 7);

    /// Whether any of `bits` is set.
    #[inline]
    pub const fn any(self, bits: Bits) -> bool {
        self.0 & bits.0 != 0
    }

    /// `self` if `condition` holds, else nothing.
    #[inline]
    pub const fn when(self, condition: bool) -> Bits {
        if condition { self } else { Bits::NONE }
    }
}

impl BitOr for Bits {
    type Output = Bits;
    #[inline]
    fn bitor(self, other: Bits) -> Bits {
        Bits(self.0 | other.0)
    }
}

impl BitOrAssign for Bits {
    #[inline]
    fn bitor_assign(&mut self, other: Bits) {
        self.0 |= other.0;
    }
}

/// A packet. The network reads the header's fields, and only the transport reads the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Bytes of the IP packet; once it is on a link, bytes that it takes in a buffer, with link-layer framing.
    pub bytes: u32,
    /// Bytes of payload.
    pub payload: u16,
    /// Properties.
    pub bits: Bits,
    /// Class of service.
    pub class: Class,
    /// The transport's own header, in a form of its choice. The first word shows the packet's place in its stream.
    pub body: [u32; 5],
}

impl Packet {
    /// Removes the payload in a port's buffer, where `bytes` remain, and puts the header into the highest class.
    pub fn trim(&mut self, bytes: u32) {
        (self.bytes, self.payload) = (bytes.min(self.bytes), 0);
        self.class = Class(Class::TRIMMED | Class::HIGHEST.0);
    }
}

/// Class of service: a port with classes serves higher ones first. Trimmed packets are known by it, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    /// Number of classes.
    pub const MANY: usize = 8;
    /// The highest class.
    pub const HIGHEST: Class = Class(Class::MANY as u8 - 1);
    const TRIMMED: u8 = 1 << 7;

    /// A class by its number, 0 to 7.
    pub const fn new(number: u8) -> Class {
        debug_assert!((number as usize) < Class::MANY);
        Class(number)
    }

    /// Its number.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0 & !Class::TRIMMED
    }

    /// Whether a port has removed the packet's payload.
    #[inline]
    pub const fn is_trimmed(self) -> bool {
        self.0 & Class::TRIMMED != 0
    }
}

/// A run of sequence numbers, from the first to one past the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// Options of ports along the path, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderOptions {
    /// Written by ports on this packet's path.
    pub written: HeaderOption,
    /// Echo of the option of the last packet that its sender received.
    pub echoed: HeaderOption,
}

/// Options that only some packets have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// Selective acknowledgements, most recent first.
    pub sack: &'a [Block],
    /// Option for ports to write to, if the connection has it.
    pub notes: Option<HeaderOptions>,
    /// Telemetry of the ports on a path.
    pub telemetry: Telemetry<'a>,
}

/// Telemetry of the ports on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telemetry<'a> {
    /// None.
    #[default]
    None,
    /// Written by ports of switches as the packet leaves.
    Written(&'a [Hop]),
    /// Echo of the acknowledged packet's.
    Echo(&'a [Hop]),
}

impl<'a> Telemetry<'a> {
    /// By port, in the order of the path.
    pub fn hops(self) -> &'a [Hop] {
        match self {
            Telemetry::None => &[],
            Telemetry::Written(hops) | Telemetry::Echo(hops) => hops,
        }
    }
}

/// Takes an end's outgoing packets.
pub trait Wire {
    /// Sends a packet.
    fn send(&mut self, packet: Packet, metadata: Metadata<'_>);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_leaves_a_header_of_the_highest_class() {
        let mut packet = Packet { bytes: 1518, payload: 1460, class: Class::new(2), ..Packet::default() };
        assert_eq!((packet.class.number(), packet.class.is_trimmed()), (2, false));
        packet.trim(64);
        assert_eq!((packet.bytes, packet.payload), (64, 0));
        assert_eq!((packet.class.number(), packet.class.is_trimmed()), (7, true));
    }

    #[test]
    fn trimming_never_grows_a_packet() {
        let mut packet = Packet { bytes: 58, ..Packet::default() };
        packet.trim(64);
        assert_eq!(packet.bytes, 58);
    }

    #[test]
    fn packet_is_small() {
        assert_eq!(size_of::<Packet>(), 28);
    }
}
