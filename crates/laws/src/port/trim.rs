//! Trimming: a packet that does not fit loses its payload instead of being dropped.
//! Sources: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance" (NDP, SIGCOMM 2017),
//!          section 3.1.
//! Law:     queue the header alone if fewer headers' worth of space than `headers` is taken beyond the limit.
//! Units:   bytes on the wire; headers.
//! Owns:    nothing.
//! Departs: NDP's switches trim the last queued packet or the new one at random; this trims the new one.
//! Checked: tests/properties/ports.rs.

use fanin_units::QueueSize;

use super::manage::{Header, Queue};

/// Trimming at one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Bytes that remain of a packet.
    pub bytes: u32,
    /// Headers that may wait beyond the queue's limit.
    pub headers: u32,
}

impl Trim {
    /// Whether a packet that does not fit within the limit is queued as a header.
    pub fn takes(self, limit: Option<QueueSize>, queue: &Queue, header: &Header) -> bool {
        let room = u64::from(self.headers) * u64::from(self.bytes);
        header.bytes > self.bytes
            && match limit {
                None => true,
                Some(QueueSize::Bytes(limit)) => queue.bytes + u64::from(self.bytes) <= limit + room,
                Some(QueueSize::Packets(limit)) => queue.packets < limit + self.headers,
            }
    }
}
