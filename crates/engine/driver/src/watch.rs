//! Which series and events of a run are recorded.

use fanin_units::Time;

/// Scope and resolution of watching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Sampling interval: a series has at most one sample per step, the largest queue or the last window.
    pub step: Time,
    /// Start, since the first request.
    pub from: Time,
    /// End.
    pub to: Time,
    /// Servers whose windows are recorded, from zero.
    pub servers: Vec<u32>,
}
