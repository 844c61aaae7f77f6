//! A receiver's turn.

use fanin_units::Time;

/// A receiver's turn among those of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// All that was granted so far, in units of the algorithm.
    pub granted: u64,
    /// How long the host's other receivers wait.
    pub takes: Time,
}
