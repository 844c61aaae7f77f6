//! Interface of a queue discipline.

use fanin_units::{QueueSize, Rate, Time};
use rand_core::Rng;

use crate::row::Shown;

/// The queue at a packet's arrival; excludes the packet in transmission.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Bytes on the wire.
    pub bytes: u64,
    /// Packets.
    pub packets: u32,
    /// When the link became idle; `None` while it is sending.
    pub idle_since: Option<Time>,
}

/// Header fields that a port reads.
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

/// A packet about to leave its queue.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Time that it has waited.
    pub sojourn: Time,
    /// Bytes queued behind it.
    pub behind: u64,
    /// ECN-capable (ECT or CE).
    pub ect: bool,
}

/// The window of an option that no port has written yet.
pub const NO_OFFER: u32 = u32::MAX;

/// Header option that ports write if the sender reserved it, and that the receiver echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderOption {
    /// The window that [M21's ports](super::many_to_one) assign.
    pub mcw: u32,
}

impl HeaderOption {
    /// Not yet written by any port.
    pub const BLANK: HeaderOption = HeaderOption { mcw: NO_OFFER };
}

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// No space.
    Full,
    /// Dropped early by the discipline.
    Early,
    /// Not ECN-capable, so dropped instead of marked.
    NotEct,
}

/// A discipline's verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congested {
    /// Pass it.
    No,
    /// Mark it, or drop it if it is not ECN-capable.
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

/// Location of a discipline: its link and buffer.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The rate of the port's link.
    pub rate: Rate,
    /// Capacity of the queue.
    pub buffer: QueueSize,
    /// Buffer space of a full packet, bytes.
    pub full_packet: u64,
    /// ECN is used: the discipline marks packets instead of dropping them, if it can do either.
    pub ecn: bool,
}

impl Place {
    /// A size in bytes, counting packets as full ones.
    pub(super) fn in_bytes(&self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Bytes(bytes) => bytes,
            QueueSize::Packets(packets) => u64::from(packets).saturating_mul(self.full_packet),
        }
    }
}

/// A queue discipline: behaviour of a port beyond dropping packets that do not fit.
pub trait Manage {
    /// Whether it inspects packets as they leave, too.
    const LOOKS_AT_DEPARTURES: bool = false;

    /// Verdict on an arriving packet. The driver provides time and randomness.
    fn enqueue(&mut self, _now: Time, _queue: &Queue, _header: &Header, _rng: &mut impl Rng) -> Congested {
        Congested::No
    }

    /// Verdict on a packet about to leave. After a drop, the driver calls this for the next packet at the same instant.
    fn dequeue(&mut self, _now: Time, _leaving: &Leaving, _rng: &mut impl Rng) -> Congested {
        Congested::No
    }

    /// State to display.
    fn shown(&self) -> Option<Shown> {
        None
    }
}
