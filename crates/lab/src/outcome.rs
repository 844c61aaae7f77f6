//! What became of a plan.

use core::time::Duration;

use fanin_spec::{Point, RunSpec, RunTables};

/// A finished run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its tables.
    pub tables: RunTables,
    /// The user CPU time of the run alone.
    pub cpu: Duration,
}

/// What became of a plan.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One entry a spec of the plan, in its order; `None` where a stop or a failure came first.
    pub runs: Vec<Option<Done>>,
    /// Runs that came from the cache.
    pub cached: usize,
    /// What the user may want to know of the cache.
    pub notices: Vec<String>,
    /// Runs that a law of the caller's ended, and what it says.
    pub raised: Vec<Broken>,
    /// Wall time of it all.
    pub wall: Duration,
}

/// A run that broke an invariant, or that a law of the caller's ended.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{label} at {point} under seed {seed}: {what}")]
pub struct Broken {
    /// The scheme's label.
    pub label: String,
    /// Where in the sweep.
    pub point: Point,
    /// The seed.
    pub seed: u64,
    /// What the runner says.
    pub what: String,
}

impl Broken {
    /// Such a run, and what its runner says.
    pub fn new(spec: &RunSpec, what: String) -> Broken {
        Broken { label: spec.label.clone(), point: spec.point.clone(), seed: spec.seed, what }
    }
}
