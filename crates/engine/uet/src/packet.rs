//! The transport's own header in a packet's body.

use fanin_transport::{Bits, Class, Packet};

/// Class of data; all else is served first.
const DATA: Class = Class::new(3);
/// An acknowledgement is requested at once.
const ASKS: Bits = Bits::OWN[0];
/// The packet was sent before.
const AGAIN: Bits = Bits::OWN[1];
/// An acknowledged packet was marked.
const MARKED: Bits = Bits::OWN[2];

/// Selective acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack {
    /// Everything before has arrived.
    pub expected: u32,
    /// The packet that caused it.
    pub packet: u32,
    /// Packets from `first` on that have arrived, one bit each.
    pub first: u32,
    /// See `first`.
    pub bitmap: u64,
    /// Bytes on the wire that have arrived so far; wraps.
    pub arrived: u32,
    /// The packet was marked; it was sent before.
    pub marked: bool,
    /// See `marked`.
    pub again: bool,
}

/// A packet's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The connection opens.
    Open,
    /// It is open at the other side, too.
    Accept,
    /// A packet of the stream, maybe trimmed. Its sender wants grants up to `wants`.
    Data {
        /// Its number in the stream.
        number: u32,
        /// It is the last one.
        closes: bool,
        /// An acknowledgement is wanted at once.
        asks: bool,
        /// It was sent before.
        again: bool,
        /// Credit in all that the sender wants.
        wants: u64,
        /// Entropy of the path that the sender chose, if it did.
        path: Option<u16>,
    },
    /// A sender without credit wants grants, maybe once more.
    Request {
        /// Credit in all.
        wants: u64,
        /// It was requested before.
        again: bool,
    },
    /// See [`Sack`].
    Ack(Sack),
    /// The packet came as a header.
    Trimmed {
        /// The packet's number.
        number: u32,
    },
    /// All that was granted so far.
    Grant {
        /// Credit in all.
        granted: u64,
    },
}

const OPEN: u32 = 0;
const ACCEPT: u32 = 1;
const DATA_KIND: u32 = 2;
const CLOSE: u32 = 3;
const REQUEST: u32 = 4;
const ACK: u32 = 5;
const TRIMMED: u32 = 6;
const GRANT: u32 = 7;
const KIND: u32 = 7;
/// Bits of an acknowledgement above its kind: how far `packet` is from `expected`, and whether the bitmap starts at it.
const OFFSET: u32 = 8;
const AT_PACKET: u32 = 1 << 3;
/// Offset of the distance, which may be negative.
const ZERO: u32 = 1 << 23;

fn split(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn joined(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Header {
    /// A packet with this header.
    #[inline]
    pub fn packet(self, bytes: u32, payload: u16) -> Packet {
        let (bits, body) = match self {
            Header::Open => (Bits::OPENS, [0, OPEN, 0, 0, 0]),
            Header::Accept => (Bits::NONE, [0, ACCEPT, 0, 0, 0]),
            Header::Data { number, closes, asks, again, wants, path } => {
                let bits = ASKS.when(asks) | AGAIN.when(again) | Bits::CLOSES.when(closes);
                let [low, high] = split(wants);
                let kind = if closes { CLOSE } else { DATA_KIND };
                (bits, [number, kind, low, high, path.map_or(0, |path| 1 + u32::from(path))])
            }
            Header::Request { wants, again } => {
                let [low, high] = split(wants);
                (AGAIN.when(again), [0, REQUEST, low, high, 0])
            }
            Header::Ack(sack) => {
                let Sack { expected, packet, first, bitmap, arrived, marked, again } = sack;
                let offset = packet.wrapping_sub(expected).wrapping_add(ZERO) << OFFSET;
                let at_packet = if first == packet { AT_PACKET } else { 0 };
                let [low, high] = split(bitmap);
                (MARKED.when(marked) | AGAIN.when(again), [expected, ACK | at_packet | offset, arrived, low, high])
            }
            Header::Trimmed { number } => (Bits::NONE, [number, TRIMMED, 0, 0, 0]),
            Header::Grant { granted } => {
                let [low, high] = split(granted);
                (Bits::NONE, [0, GRANT, low, high, 0])
            }
        };
        let class = if payload > 0 { DATA } else { Class::HIGHEST };
        Packet { bytes, payload, bits, class, body }
    }

    /// The header of a packet.
    #[inline]
    pub fn of(packet: &Packet) -> Header {
        let [number, word, low, high, last] = packet.body;
        let has = |bits: Bits| packet.bits.any(bits);
        match word & KIND {
            OPEN => Header::Open,
            ACCEPT => Header::Accept,
            REQUEST => Header::Request { wants: joined(low, high), again: has(AGAIN) },
            ACK => {
                let acked = number.wrapping_add(word >> OFFSET).wrapping_sub(ZERO);
                let first = if word & AT_PACKET != 0 { acked } else { first_of(number, acked) };
                let bitmap = joined(high, last);
                let (marked, again) = (has(MARKED), has(AGAIN));
                Header::Ack(Sack { expected: number, packet: acked, first, bitmap, arrived: low, marked, again })
            }
            TRIMMED => Header::Trimmed { number },
            GRANT => Header::Grant { granted: joined(low, high) },
            kind => Header::Data {
                number,
                closes: kind == CLOSE,
                asks: has(ASKS),
                again: has(AGAIN),
                wants: joined(low, high),
                path: last.checked_sub(1).map(|path| path as u16),
            },
        }
    }

    /// The path that a packet's sender chose.
    pub fn path_of(packet: &Packet) -> Option<u32> {
        let [_, word, .., path] = packet.body;
        (matches!(word & KIND, DATA_KIND | CLOSE) && path > 0).then_some(path)
    }
}

/// Where a bitmap starts that does not start at its packet: the 64 packets up to it, or later than the first missing one.
pub fn first_of(expected: u32, packet: u32) -> u32 {
    packet.saturating_sub(63).max(expected + 1)
}
