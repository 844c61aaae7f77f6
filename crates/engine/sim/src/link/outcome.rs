//! Outcomes of a packet at a port: dropped, queued, sent, departed.

use fanin_fabric::LinkId;
use fanin_laws::port::Drop;

use crate::event::ArrivalOrder;
use crate::packet::InFlight;

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub drops_full: u64,
    pub drops_early: u64,
    pub drops_not_ect: u64,
    pub drops_down: u64,
    pub marks: u64,
}

impl Counts {
    pub fn of(&mut self, drop: Drop) -> &mut u64 {
        match drop {
            Drop::Full => &mut self.drops_full,
            Drop::Early => &mut self.drops_early,
            Drop::NotEct => &mut self.drops_not_ect,
        }
    }

    pub fn drops(&self) -> u64 {
        self.drops_full + self.drops_early + self.drops_not_ect + self.drops_down
    }
}

/// Follow-up action for a link's caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkAction {
    /// Nothing.
    Nothing,
    /// Schedule the arrival of an idle link's head.
    Arrival(ArrivalOrder),
    /// Schedule the next departure from the queue.
    Departure(u64),
    /// The packet was dropped for this reason; free its metadata.
    Dropped(Why),
    /// The link is down, or classes are paused: see `Link::enqueue_held`.
    Held,
}

/// A packet removed from a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cleared {
    /// The link by which it came, at a switch with lazy departures.
    pub came_by: LinkId,
    pub packet: InFlight,
}

/// A departure from a lazy queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departed {
    /// Arrival of the packet if the wire was empty.
    pub arrival: Option<ArrivalOrder>,
    /// The next departure.
    pub next: Option<u64>,
    /// The packet that has left the queue.
    pub left: Option<Left>,
}

/// A packet that has left a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub queued: Queued,
    /// Slot of its receiver, its payload, and the handle of its metadata.
    pub to: crate::slot::Slot,
    pub payload: u16,
    pub beside: u32,
}

/// A packet in a switch's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The link by which it came.
    pub came_by: LinkId,
    /// Its class of service, 0 to 7.
    pub class: u8,
    /// Bytes that it takes.
    pub bytes: u32,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// By the port's algorithm.
    Law(Drop),
    /// The link is down.
    Down,
    /// By the receiving card, whose buffer is full.
    Card,
}
