//! Outcome of a plan.

use core::time::Duration;

use fanin_spec::{Point, RunSpec};
use fanin_tables::RunTables;

use crate::Provenance;

/// A finished run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its tables.
    pub tables: RunTables,
    /// User CPU time of the run.
    pub cpu: Duration,
}

/// Outcome of a plan.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One entry per spec of the plan, in order; `None` after a stop or a failure.
    pub runs: Vec<Option<Done>>,
    /// Runs that came from the cache.
    pub cached: usize,
    /// Messages about the cache for the user.
    pub notices: Vec<String>,
    /// Runs that the caller's own algorithm ended with an error, and its message.
    pub raised: Vec<Broken>,
    /// Total wall time.
    pub wall: Duration,
    /// Where and when the figures were measured; `None` if they follow from the specs alone.
    pub provenance: Option<Provenance>,
}

/// Runs of a plan with their outcome.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The plan: runs by scheme, point and seed.
    pub specs: &'a [RunSpec],
    /// Their outcomes, in the same order.
    pub outcome: &'a Outcome,
}

impl<'a> Runs<'a> {
    /// A plan's runs with their outcome, which is in the plan's order.
    pub fn of(specs: &'a [RunSpec], outcome: &'a Outcome) -> Runs<'a> {
        Runs { specs, outcome }
    }

    /// The finished runs with their tables.
    pub fn finished(self) -> impl Iterator<Item = (&'a RunSpec, &'a RunTables)> {
        let all = self.specs.iter().zip(&self.outcome.runs);
        all.filter_map(|(spec, done)| Some((spec, &done.as_ref()?.tables)))
    }
}

/// A run that broke an invariant, or in which the caller's own algorithm failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{label} at {point} under seed {seed}: {what}")]
pub struct Broken {
    /// The scheme's label.
    pub label: String,
    /// Point of the sweep.
    pub point: Point,
    /// The seed.
    pub seed: u64,
    /// The runner's message.
    pub what: String,
}

impl Broken {
    /// A broken run with its runner's message.
    pub fn new(spec: &RunSpec, what: String) -> Broken {
        Broken { label: spec.label.clone(), point: spec.point.clone(), seed: spec.seed, what }
    }
}
