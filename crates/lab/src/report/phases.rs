//! The phases of one MapReduce job of a scheme over time.

use fanin_spec::{RunSpec, RunTables};

use crate::axis::place_of;
use crate::paper::DrawnChart;

/// How many tasks are in each phase.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Phases {
    scheme: String,
    /// Where in the sweep, in words.
    at: String,
    seed: u64,
    chart: DrawnChart<'static>,
}

impl Phases {
    /// `None` of a run without a job.
    pub fn new(spec: &RunSpec, tables: &RunTables) -> Option<Phases> {
        let chart = DrawnChart::of_phases(spec, tables)?;
        Some(Phases { scheme: spec.label.clone(), at: place_of(spec), seed: spec.seed, chart })
    }
}
