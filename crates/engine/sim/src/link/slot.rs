//! Packets of a link.

use crate::event::ArrivalOrder;
use crate::packet::InFlight;

/// A packet on the link or in the queue in front of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Its arrival; while it waits in a lazy queue, the time when it entered it, and as rank the number of the link by which it came.
    pub due: ArrivalOrder,
    pub packet: InFlight,
}
