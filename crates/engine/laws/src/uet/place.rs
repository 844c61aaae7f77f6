//! Where a connection is.

use fanin_units::{Rate, Time};

/// The network as its ends know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Rate of the hosts' links.
    pub line: Rate,
    /// Round-trip time of a full packet and its acknowledgement over the longest path of an idle network.
    pub rtt: Time,
    /// Bytes of a full packet on the wire, and of one without payload.
    pub packet: u32,
    /// See `packet`.
    pub header: u32,
}

impl Place {
    /// Bytes that are in flight in a round trip at the link's rate.
    pub fn bdp(&self) -> u64 {
        self.line.bytes_in(self.rtt)
    }

    /// Time of these bytes at 99 % of the link's rate: receivers grant a little less than arrives, so that queues drain.
    pub fn paced(&self, bytes: u64) -> Time {
        Time(self.line.time_for(bytes).0 * 100 / 99)
    }
}
