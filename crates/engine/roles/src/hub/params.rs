//! Settings of a hub.

use fanin_units::{Bytes, Rate, Time};

use crate::wire::Node;

/// Settings of a hub.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// This machine. Its own objects come first; they do not count for the window, unless there are limits.
    pub me: Node,
    /// Payload of a packet.
    pub room: u32,
    /// Other bytes of a packet, which count for the speed.
    pub overhead: u32,
    /// Whether packets hold several objects.
    pub packs: bool,
    /// Maximum time that a packet waits to fill.
    pub linger: Time,
    /// Limit of outstanding bytes; always at least one object.
    pub window: Bytes,
    /// Assumed object size until the first is known.
    pub mean_object: Bytes,
    /// Timeout for a server's response.
    pub timeout: Time,
    /// Time without messages after which a request is dropped, since its front end is gone.
    pub forget: Time,
    /// Limits of a real machine; none in a simulation.
    pub limits: Option<Limits>,
    /// Time by which sending may be behind its speed and catch up: the resolution of the host's clock; zero if that is exact.
    pub behind: Time,
}

/// Limits of a hub on a real machine. With them, requests of several front ends get objects by turns.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that wait to be sent. A front end may have as many as are free; then no further objects are requested for it.
    pub waiting: Bytes,
    /// Rate of its link, which front ends, and then their requests, share equally.
    pub link: Rate,
    /// Open requests. A front end may have as many as are free.
    pub requests: u32,
    /// Memory of open requests. A front end may have as much as is free.
    pub state: Bytes,
}

impl Params {
    /// Whether outstanding objects of a server count for the window.
    pub(super) fn counts(&self, holder: Node) -> bool {
        holder != self.me || self.limits.is_some()
    }
}
