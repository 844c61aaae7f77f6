//! An endpoint at its host.

use fanin_fabric::LinkId;
use fanin_tcp::Endpoint;
use fanin_units::Time;

/// An endpoint, and what the world keeps beside it.
pub(crate) struct Socket {
    pub endpoint: Endpoint,
    /// When its entry in the queue of timers is due: at its deadline or before.
    pub armed: Time,
    /// The way out of its host.
    pub uplink: LinkId,
    /// The endpoint at the other end.
    pub peer: u32,
    /// Bytes that the application gave it to send.
    pub written: u64,
}
