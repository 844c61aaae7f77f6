//! Drop tail: drop a packet that does not fit.
//! Sources: RFC 7567, section 2 (definition and shortcomings).
//! Law:     admit while queue + packet <= limit.
//! Units:   bytes on the wire, or packets of any size.
//! Owns:    nothing.
//! Departs: nowhere. The packet in transmission is not in the queue.
//! Checked: vectors/drop_tail.json; tests/trajectories/drop_tail.txt.

use fanin_units::QueueSize;

use super::manage::{Header, Manage, Place, Queue};

/// One port's state: none.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl DropTail {
    /// The state of an empty port.
    pub fn start(_place: &Place) -> Option<DropTail> {
        Some(DropTail)
    }
}

/// Every port checks for space; drop tail adds nothing.
impl Manage for DropTail {}

/// Whether the packet fits.
#[inline]
pub fn has_room(limit: Option<QueueSize>, queue: &Queue, header: &Header) -> bool {
    match limit {
        None => true,
        Some(QueueSize::Bytes(limit)) => queue.bytes + u64::from(header.bytes) <= limit,
        Some(QueueSize::Packets(limit)) => queue.packets < limit,
    }
}
