//! Links and hosts that fail, recover or change their speed during a run.

use fanin_units::{Rate, Share, Time};

use crate::ids::{HostId, LinkId};

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Time since the start of the run.
    pub at: Time,
    /// Both directions of the link.
    pub links: [LinkId; 2],
    /// The new state.
    pub to: State,
}

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Forwards packets.
    Up,
    /// Drops packets.
    Down,
    /// Has this rate from the next packet on.
    Rate(Rate),
}

/// A fault of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostFault {
    /// Time since the start of the run.
    pub at: Time,
    /// The host.
    pub host: HostId,
    /// The new state.
    pub to: HostState,
}

/// State of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// Has lost its state and receives nothing.
    Crashed,
    /// Receives again.
    Returned,
    /// Works at this share of its speed, which is above zero.
    Slowed(Share),
}
