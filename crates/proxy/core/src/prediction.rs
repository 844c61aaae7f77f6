//! Multigets, and predictions for them, as values.

use fanin_units::Time;
use serde::{Deserialize, Serialize};

/// Mean multiget of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Keys.
    pub keys: u32,
    /// Servers.
    pub servers: u32,
    /// Bytes of a value in a response, its line included.
    pub value: u32,
}

/// Prediction for a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Smallest number of servers whose responses collapse if all are requested at once; none up to the pool's servers.
    pub collapse: Option<u32>,
    /// Most servers to request from at once, if more are in danger and the pool's algorithm has a limit.
    pub limit: Option<u32>,
    /// Mean time of a multiget without a limit.
    pub unlimited: Time,
    /// Mean time with the pool's algorithm and this limit.
    pub expected: Time,
    /// Whether multigets sustain their goodput then.
    pub sustains: bool,
}

/// A prediction, and the workload for which it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The workload.
    pub workload: Workload,
    /// Whether it was observed, not assumed.
    pub observed: bool,
    /// The prediction.
    pub prediction: Prediction,
}

impl Workload {
    /// Whether one of its figures differs by more than a half.
    pub fn differs(&self, other: &Workload) -> bool {
        let pairs = [(self.keys, other.keys), (self.servers, other.servers), (self.value, other.value)];
        pairs.iter().any(|(a, b)| 2 * u64::from(*a.max(b)) > 3 * u64::from(*a.min(b)))
    }
}
