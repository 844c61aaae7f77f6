//! Counters that a driver may be unable to read.

use serde::{Deserialize, Serialize};

/// A figure that the simulator always knows and a driver over real networks may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Retransmission timeouts.
    Timeouts,
    /// Entries into fast recovery.
    FastRetransmits,
    /// Packets dropped at ports.
    Drops,
    /// Packets marked at ports.
    Marks,
    /// Stalls and their causes.
    Stalls,
    /// Queues at ports.
    Queues,
}

impl Counter {
    /// Every counter that a loss or a wait shows in.
    pub const TROUBLE: [Counter; 3] = [Counter::Timeouts, Counter::Drops, Counter::Stalls];
}
