//! A packet at its host, in the terms of receiver algorithms.

use fanin_units::Time;

/// A packet that has arrived, for the algorithm of its host.
pub(super) struct Arrived {
    /// Bytes on the wire.
    pub bytes: u32,
    pub payload: u32,
    /// Its place in its stream.
    pub seq: u32,
    pub opens: bool,
    pub closes: bool,
    /// Round trip of the endpoint's own packets.
    pub own: Time,
}
