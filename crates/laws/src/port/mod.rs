//! The port: what happens to a packet that comes to a queue.
//!
//! A driver asks [`Law::enqueue`] for a verdict and does as it says. A port has room for so much ([`drop_tail`]), may
//! drop or mark earlier ([`red`], [`ecn_threshold`]) or later, as packets leave ([`codel`]: [`Law::dequeue`]), and may hand out windows ([`many_to_one`]) beside either.

pub mod codel;
pub mod drop_tail;
pub mod ecn_threshold;
pub mod many_to_one;
pub mod red;

use fanin_units::{QueueSize, Time};
use rand_core::Rng;

use codel::CoDel;
use many_to_one::ManyToOne;
use red::Red;

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
    /// What the ports before this one hand out to the flow.
    pub offer: u32,
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

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is dropped.
    Drop(Drop),
    /// It is queued.
    Admit {
        /// Set CE.
        mark: bool,
        /// What the packet carries on of what ports hand out, where this port does.
        offer: Option<u32>,
    },
}

/// What becomes of a packet that would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It is dropped, and the next one would leave.
    Drop(Drop),
    /// It leaves.
    Pass {
        /// Set CE.
        mark: bool,
    },
}

/// What a port does beyond dropping what finds no room.
#[derive(Clone, Copy, Debug)]
pub enum Discipline {
    /// Nothing.
    DropTail,
    /// Random early detection.
    Red(Red),
    /// Marks above this.
    EcnThreshold(QueueSize),
    /// Controlled delay.
    CoDel(CoDel),
}

/// One port's law.
#[derive(Clone, Debug)]
pub struct Law {
    /// What the queue holds; `None` holds everything.
    pub limit: Option<QueueSize>,
    /// What happens before it is full.
    pub discipline: Discipline,
    /// Hands out windows.
    pub many_to_one: Option<ManyToOne>,
}

impl Law {
    /// A queue that never fills.
    pub const UNLIMITED: Law = Law { limit: None, discipline: Discipline::DropTail, many_to_one: None };

    /// Whether no queue, however long, makes a difference to any packet.
    pub fn admits_everything(&self) -> bool {
        self.limit.is_none() && matches!(self.discipline, Discipline::DropTail) && self.many_to_one.is_none()
    }

    /// What becomes of a packet. Only RED draws from `rng`.
    ///
    /// The early verdict comes before the test for room, as a queue discipline over a device queue has it: a packet
    /// that is both early and without room counts as early.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, queue: &Queue, header: &Header, rng: &mut impl Rng) -> Verdict {
        let congested = match &mut self.discipline {
            Discipline::DropTail | Discipline::CoDel(_) => Congested::No,
            Discipline::Red(red) => red.enqueue(now, queue, header, rng),
            Discipline::EcnThreshold(k) => ecn_threshold::enqueue(*k, queue),
        };
        let mark = match congested.fate(header.ect) {
            Ok(mark) => mark,
            Err(cause) => return Verdict::Drop(cause),
        };
        if !drop_tail::has_room(self.limit, queue, header) {
            return Verdict::Drop(Drop::Full);
        }
        let offer = self.many_to_one.as_mut().map(|m21| m21.enqueue(header));
        Verdict::Admit { mark, offer }
    }

    /// Whether the law looks at packets as they leave: then departures cannot be worked out before.
    pub fn needs_dequeue(&self) -> bool {
        matches!(self.discipline, Discipline::CoDel(_))
    }

    /// What becomes of the first packet in the queue as it would leave, after `sojourn` there, with `behind` bytes
    /// behind it.
    pub fn dequeue(&mut self, now: Time, sojourn: Time, behind: u64, ect: bool) -> Departure {
        let Discipline::CoDel(codel) = &mut self.discipline else { return Departure::Pass { mark: false } };
        match codel.dequeue(now, sojourn, behind, ect).fate(ect) {
            Ok(mark) => Departure::Pass { mark },
            Err(cause) => Departure::Drop(cause),
        }
    }
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
    fn fate(self, ect: bool) -> Result<bool, Drop> {
        match self {
            Congested::No => Ok(false),
            Congested::Mark if ect => Ok(true),
            Congested::Mark => Err(Drop::NotEct),
            Congested::Drop => Err(Drop::Early),
        }
    }
}
