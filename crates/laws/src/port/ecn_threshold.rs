//! Threshold marking: mark every packet that finds more than K in the queue.
//! Sources: Alizadeh et al., SIGCOMM 2010, section 3.1, item 1; RFC 8257, section 3.1; RFC 3168, section 5.
//! Law:     mark if queue > K, where the queue is the instantaneous one that the packet finds.
//! Units:   bytes on the wire, or packets of any size.
//! Owns:    nothing.
//! Departs: nowhere. A packet that is not ECN-capable is dropped in place of the mark.
//! Checked: vectors/ecn_threshold.json; tests/trajectories/ecn_threshold.txt.

use fanin_units::QueueSize;

use super::{Congested, Queue};

/// What a packet finds.
#[inline]
pub fn enqueue(k: QueueSize, queue: &Queue) -> Congested {
    let above = match k {
        QueueSize::Bytes(k) => queue.bytes > k,
        QueueSize::Packets(k) => queue.packets > k,
    };
    if above { Congested::Mark } else { Congested::No }
}
