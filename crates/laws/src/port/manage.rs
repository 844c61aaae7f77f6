//! What a port's law is told and asked.

use fanin_units::{QueueSize, Rate, Time};
use rand_core::Rng;

use super::many_to_one::NO_OFFER;
use crate::row::Shown;

/// What is in the queue as the packet comes; the packet on the wire does not count.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Bytes as they are on the wire.
    pub bytes: u64,
    /// Packets.
    pub packets: u32,
    /// Since when the link has had nothing to send; `None` while it is sending.
    pub idle_since: Option<Time>,
}

/// What a port reads of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Size on the wire.
    pub bytes: u32,
    /// ECN-capable (ECT or CE).
    pub ect: bool,
    /// The flow: one direction of one connection.
    pub flow: u32,
    /// SYN is set: the flow opens.
    pub opens: bool,
    /// FIN or RST is set: the flow closes.
    pub closes: bool,
}

/// What ports write into a packet on its way, where its sender left room for it, and its receiver sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderOption {
    /// What [M21's ports](super::many_to_one) hand out.
    pub mcw: u32,
}

impl HeaderOption {
    /// On which no port has written yet.
    pub const BLANK: HeaderOption = HeaderOption { mcw: NO_OFFER };
}

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// There was no room.
    Full,
    /// The law dropped it early.
    Early,
    /// The law would have marked it, and it was not ECN-capable.
    NotEct,
}

/// What a discipline says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congested {
    /// Let it pass.
    No,
    /// Mark it, or drop it where it is not ECN-capable.
    Mark,
    /// Drop it.
    Drop,
}

impl Congested {
    /// Whether the packet is marked, or why it is dropped.
    #[inline]
    pub(super) fn fate(self, ect: bool) -> Result<bool, Drop> {
        match self {
            Congested::No => Ok(false),
            Congested::Mark if ect => Ok(true),
            Congested::Mark => Err(Drop::NotEct),
            Congested::Drop => Err(Drop::Early),
        }
    }
}

/// Where a law stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The rate of the port's link.
    pub rate: Rate,
    /// What the queue holds.
    pub buffer: QueueSize,
    /// What a full packet takes of it, bytes.
    pub full_packet: u64,
    /// ECN is used: packets are marked in place of being dropped where the law can do either.
    pub ecn: bool,
}

/// A discipline: what a port does beyond dropping what finds no room.
pub trait Manage {
    /// Whether it looks at packets as they leave, too.
    const LOOKS_AT_DEPARTURES: bool = false;

    /// What a packet meets as it comes. Time and chance are the driver's.
    fn enqueue(&mut self, _now: Time, _queue: &Queue, _header: &Header, _rng: &mut impl Rng) -> Congested {
        Congested::No
    }

    /// What becomes of a packet that would leave after `sojourn`, with `behind` bytes in the queue behind it. After a
    /// drop, the next packet is asked about at the same instant.
    fn dequeue(&mut self, _now: Time, _sojourn: Time, _behind: u64, _ect: bool) -> Congested {
        Congested::No
    }

    /// What of its state is worth a look.
    fn shown(&self) -> Option<Shown> {
        None
    }
}
