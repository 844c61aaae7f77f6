//! The transport's own header in a packet's body.

use fanin_transport::{Bits, Class, Packet};
use fanin_units::Time;

/// Class of data, which ports may pause.
const DATA: Class = Class::new(3);

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The connection opens.
    Open,
    /// It is open at the other side, too.
    Accept,
    /// Payload from `at` on.
    Data,
    /// The sender has closed at `at`, which counts as one byte.
    Close,
    /// Everything before `at` has arrived.
    Ack,
    /// The same, and the next packet is missing.
    Nack,
}

const KINDS: [Kind; 6] = [Kind::Open, Kind::Accept, Kind::Data, Kind::Close, Kind::Ack, Kind::Nack];
/// Bit of an acknowledgement that notifies of congestion.
const NOTIFIES: u32 = 1 << 8;

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its kind.
    pub kind: Kind,
    /// Place in the stream of bytes.
    pub at: u64,
    /// When a data packet was sent, in an acknowledgement, too.
    pub sent: Time,
    /// An acknowledgement notifies of congestion.
    pub notifies: bool,
}

impl Header {
    /// A packet with this header.
    #[inline]
    pub fn packet(self, bytes: u32, payload: u16) -> Packet {
        let Header { kind, at, sent, notifies } = self;
        let word = kind as u32 | if notifies { NOTIFIES } else { 0 };
        let bits = Bits::OPENS.when(kind == Kind::Open)
            | Bits::CLOSES.when(kind == Kind::Close)
            | Bits::ECT.when(kind == Kind::Data);
        let class = if matches!(kind, Kind::Data | Kind::Close) { DATA } else { Class::HIGHEST };
        let body = [at as u32, (at >> 32) as u32, word, sent.0 as u32, (sent.0 >> 32) as u32];
        Packet { bytes, payload, bits, class, body }
    }

    /// The header of a packet.
    pub fn of(packet: &Packet) -> Header {
        let [at, at_high, word, sent, sent_high] = packet.body;
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Header {
            kind: KINDS[(word & 7) as usize % KINDS.len()],
            at: wide(at, at_high),
            sent: Time(wide(sent, sent_high)),
            notifies: word & NOTIFIES != 0,
        }
    }
}
