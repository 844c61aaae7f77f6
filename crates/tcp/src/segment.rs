//! TCP segment headers as numbers.

use std::ops::{BitOr, BitOrAssign};

use fanin_laws::port::HeaderOption;
use fanin_units::Time;

/// Bytes of an IPv4 and a TCP header without options.
const BARE_HEADER: u32 = 40;

/// The bits of a segment: TCP's flags, and IP's ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No bit.
    pub const NONE: Flags = Flags(0);
    /// Synchronise.
    pub const SYN: Flags = Flags(1);
    /// No more data.
    pub const FIN: Flags = Flags(1 << 1);
    /// Reset.
    pub const RST: Flags = Flags(1 << 2);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(1 << 3);
    /// ECN echo.
    pub const ECE: Flags = Flags(1 << 4);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(1 << 5);
    /// ECN-capable (IP).
    pub const ECT: Flags = Flags(1 << 6);
    /// Congestion experienced (IP).
    pub const CE: Flags = Flags(1 << 7);

    /// Whether any of `bits` is set.
    #[inline]
    pub const fn any(self, bits: Flags) -> bool {
        self.0 & bits.0 != 0
    }

    /// `self` if `condition` holds, else nothing.
    #[inline]
    pub const fn when(self, condition: bool) -> Flags {
        if condition { self } else { Flags::NONE }
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

/// A segment. Rare options are [separate](Beside).
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
    /// Bytes of IP and TCP headers with their options.
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

/// Options that only some segments have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentMetadata<'a> {
    /// SACK blocks, most recent first.
    pub sack: &'a [Block],
    /// Option for ports to write to, if the connection has it.
    pub notes: Option<HeaderOptions>,
}

/// Takes an endpoint's outgoing segments.
pub trait Wire {
    /// Sends a segment.
    fn send(&mut self, segment: Segment, beside: SegmentMetadata<'_>);
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
