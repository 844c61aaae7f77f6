//! The phases of one MapReduce job of a scheme over time.

use fanin_spec::{RunSpec, RunTables};

use crate::paper::DrawnChart;

/// How many tasks are in each phase.
#[derive(Debug, Clone, serde::Serialize)]
pub(super) struct Phases {
    scheme: String,
    fan_in: u32,
    seed: u64,
    chart: DrawnChart<'static>,
}

impl Phases {
    /// `None` of a run without a job.
    pub fn new(spec: &RunSpec, tables: &RunTables) -> Option<Phases> {
        let chart = DrawnChart::of_phases(spec, tables)?;
        Some(Phases { scheme: spec.label.clone(), fan_in: spec.fan_in, seed: spec.seed, chart })
    }
}
