//! TCP segment headers as numbers.

use std::ops::{BitOr, BitOrAssign};

use fanin_transport::{Bits, Metadata};
use fanin_units::Time;

/// Bytes of an IPv4 and a TCP header without options.
const BARE_HEADER: u32 = 40;

/// The bits of a segment: TCP's flags, and IP's ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(Bits);

impl Flags {
    /// No bit.
    pub const NONE: Flags = Flags(Bits::NONE);
    /// Synchronise.
    pub const SYN: Flags = Flags(Bits::OPENS);
    /// No more data.
    pub const FIN: Flags = Flags(Bits::CLOSES);
    /// Reset.
    pub const RST: Flags = Flags(Bits::BREAKS);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(Bits::OWN[0]);
    /// ECN echo.
    pub const ECE: Flags = Flags(Bits::OWN[1]);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(Bits::OWN[2]);
    /// ECN-capable (IP).
    pub const ECT: Flags = Flags(Bits::ECT);
    /// Congestion experienced (IP).
    pub const CE: Flags = Flags(Bits::CE);

    /// Whether any of `bits` is set.
    #[inline]
    pub const fn any(self, bits: Flags) -> bool {
        self.0.any(bits.0)
    }

    /// `self` if `condition` holds, else nothing.
    #[inline]
    pub const fn when(self, condition: bool) -> Flags {
        Flags(self.0.when(condition))
    }
}

impl From<Flags> for Bits {
    #[inline]
    fn from(flags: Flags) -> Bits {
        flags.0
    }
}

impl From<Bits> for Flags {
    #[inline]
    fn from(bits: Bits) -> Flags {
        Flags(bits)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// A segment. Rare options are [separate](Metadata).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Receive window, bytes (after scaling).
    pub window: u32,
    /// Timestamp, microseconds.
    pub ts_val: u32,
    /// Timestamp echoed.
    pub ts_ecr: u32,
    /// Payload, bytes.
    pub len: u16,
    /// Bytes of IP and TCP headers with their options; zero in a received segment, which has no use for it.
    pub header: u8,
    /// TCP's flags and IP's ECN bits.
    pub flags: Flags,
}

impl Segment {
    /// Bytes of the IP packet.
    #[inline]
    pub fn packet_bytes(&self) -> u32 {
        u32::from(self.header) + u32::from(self.len)
    }

    /// Whether it takes no sequence space.
    #[inline]
    pub(crate) fn is_pure_ack(&self) -> bool {
        self.len == 0 && !self.flags.any(Flags::SYN | Flags::FIN)
    }

    /// Sequence space it takes.
    #[inline]
    pub(crate) fn span(&self) -> u64 {
        u64::from(self.len) + u64::from(self.flags.any(Flags::SYN)) + u64::from(self.flags.any(Flags::FIN))
    }
}

/// Bytes of IP and TCP headers with `options` bytes of options and `blocks` SACK blocks, padded to whole words.
pub(crate) fn header_bytes(options: u32, blocks: usize) -> u8 {
    let sack = if blocks == 0 { 0 } else { 2 + 8 * blocks as u32 };
    // At most 40 + 40: the option space of TCP is 40 bytes.
    (BARE_HEADER + (options + sack).next_multiple_of(4)) as u8
}

/// SACK blocks that fit beside `options` bytes of other options.
pub(crate) fn blocks_that_fit(options: u32) -> usize {
    ((40 - options.min(40)).saturating_sub(2) as usize / 8).min(4)
}

/// Takes an endpoint's outgoing segments.
pub trait Wire {
    /// Sends a segment.
    fn send(&mut self, segment: Segment, beside: Metadata<'_>);
}

/// The 64-bit number nearest to `near` whose lower half is `wire`.
#[inline]
pub(crate) fn widen(wire: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(wire.wrapping_sub(near as u32) as i32))
}

/// Timestamp clock: microseconds, 32 bits on the wire.
#[inline]
pub(crate) fn microseconds(now: Time) -> u32 {
    (now.0 / 1_000_000) as u32
}
