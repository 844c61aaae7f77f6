//! Packets in flight, with the simulator's data.

use fanin_driver::ConnectionId;
use fanin_fabric::HostId;
use fanin_laws::port::{Header, HeaderOption};
use fanin_laws::rate::Hop;
use fanin_transport::{Bits, Block, HeaderOptions, Metadata, Packet, Telemetry};
use fanin_units::Time;

use crate::slot::Slot;

/// A packet in flight to an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    /// Slot of the destination endpoint.
    pub(crate) to: Slot,
    /// Handle of the packet's metadata; zero for none.
    pub(crate) beside: u32,
    /// Send time as `latency::stamp`.
    pub(crate) sent: u32,
    /// The packet; its bytes are those in a buffer, framing included.
    pub packet: Packet,
}

impl InFlight {
    /// Whether ports may mark it instead of dropping it.
    #[inline]
    pub(crate) fn is_ecn_capable(&self) -> bool {
        self.packet.bits.any(Bits::ECT | Bits::CE)
    }

    /// Mark it if a port decides so.
    #[inline]
    pub(crate) fn mark(&mut self, says_so: bool) {
        self.packet.bits |= Bits::CE.when(says_so);
    }

    /// Bytes that it takes in a buffer.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> u32 {
        self.packet.bytes
    }

    /// Whether it carries data.
    #[inline(always)]
    pub(crate) fn has_payload(&self) -> bool {
        self.packet.payload > 0
    }

    /// Header fields for a port's algorithm.
    #[inline(always)]
    pub(crate) fn header(&self) -> Header {
        let bits = self.packet.bits;
        Header {
            bytes: self.packet.bytes,
            ect: self.is_ecn_capable(),
            // A later flow may reuse the number, as in ports.
            flow: self.to.0,
            opens: bits.any(Bits::OPENS),
            closes: bits.any(Bits::CLOSES | Bits::BREAKS),
        }
    }
}

/// Metadata of those packets in flight that have any.
#[derive(Default)]
pub(crate) struct PacketMetadata {
    pieces: Vec<Piece>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Piece {
    sack: Vec<Block>,
    notes: Option<HeaderOptions>,
    hops: Vec<Hop>,
    telemetry: Kind,
}

/// Kind of a piece's telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    Written,
    Echo,
}

impl PacketMetadata {
    /// Store a packet's metadata; returns zero if there is none.
    #[inline(always)]
    pub fn keep(&mut self, beside: Metadata<'_>) -> u32 {
        match beside.sack.is_empty() && beside.notes.is_none() {
            true if beside.telemetry == Telemetry::None => 0,
            _ => self.keep_some(beside.sack, beside.notes, beside.telemetry),
        }
    }

    /// Store existing metadata, passed as pieces so that packets without any pay nothing.
    #[inline(never)]
    fn keep_some(&mut self, sack: &[Block], notes: Option<HeaderOptions>, telemetry: Telemetry<'_>) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.pieces.push(Piece { sack: Vec::with_capacity(4), ..Piece::default() });
            self.pieces.len() as u32
        });
        let piece = &mut self.pieces[handle as usize - 1];
        piece.sack.clear();
        piece.sack.extend_from_slice(sack);
        piece.notes = notes;
        piece.telemetry = match telemetry {
            Telemetry::None => Kind::None,
            Telemetry::Written(_) => Kind::Written,
            Telemetry::Echo(_) => Kind::Echo,
        };
        piece.hops.clear();
        piece.hops.extend_from_slice(telemetry.hops());
        handle
    }

    /// Duplicate the entry of a handle.
    pub fn copy(&mut self, handle: u32) -> u32 {
        let Metadata { sack, notes, telemetry } = self.of(handle);
        let (sack, hops) = (sack.to_vec(), telemetry.hops().to_vec());
        let telemetry = match telemetry {
            Telemetry::None => Telemetry::None,
            Telemetry::Written(_) => Telemetry::Written(&hops),
            Telemetry::Echo(_) => Telemetry::Echo(&hops),
        };
        self.keep(Metadata { sack: &sack, notes, telemetry })
    }

    /// The entry of a handle.
    #[inline]
    pub fn of(&self, handle: u32) -> Metadata<'_> {
        match handle {
            0 => Metadata::default(),
            _ => {
                let Piece { sack, notes, hops, telemetry } = &self.pieces[handle as usize - 1];
                let telemetry = match telemetry {
                    Kind::None => Telemetry::None,
                    Kind::Written => Telemetry::Written(hops),
                    Kind::Echo => Telemetry::Echo(hops),
                };
                Metadata { sack, notes: *notes, telemetry }
            }
        }
    }

    /// The header option of an entry, which ports write.
    #[inline]
    pub fn note(&mut self, handle: u32) -> Option<&mut HeaderOption> {
        let piece = self.pieces.get_mut((handle as usize).checked_sub(1)?)?;
        piece.notes.as_mut().map(|notes| &mut notes.written)
    }

    /// The telemetry of an entry to which ports write.
    pub fn hops(&mut self, handle: u32) -> Option<&mut Vec<Hop>> {
        let piece = self.pieces.get_mut((handle as usize).checked_sub(1)?)?;
        (piece.telemetry == Kind::Written).then_some(&mut piece.hops)
    }

    #[inline]
    pub fn free(&mut self, handle: u32) {
        if handle != 0 {
            self.free.push(handle);
        }
    }
}

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When it left the sending end of the link, or for a receiving host, when it arrived.
    pub time: Time,
    /// The link's name.
    pub port: String,
    /// The sending host.
    pub from: HostId,
    /// The receiving host.
    pub to: HostId,
    /// The connection.
    pub connection: ConnectionId,
    /// Whether the connection's opener sent it.
    pub from_opener: bool,
    /// The packet; its bytes are those in a buffer.
    pub packet: Packet,
    /// Its selective acknowledgements.
    pub sack: Vec<Block>,
    /// Header options that ports wrote, on its path and on the reverse path, if the connection has them.
    pub notes: Option<HeaderOptions>,
}
