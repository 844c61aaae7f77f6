//! Phases of a scheme's MapReduce job over time.

use fanin_lab::stats::six_digits;
use fanin_lab::tasks;
use fanin_spec::RunSpec;
use fanin_tables::RunTables;

use crate::chart::DrawnChart;
use fanin_lab::place_of;

/// Number of tasks in each phase.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Phases {
    scheme: String,
    /// The sweep point, in words.
    at: String,
    seed: u64,
    chart: DrawnChart<'static>,
}

impl Phases {
    /// The running tasks of a run's job by phase; `None` for a run without a job.
    pub fn new(spec: &RunSpec, tables: &RunTables) -> Option<Phases> {
        if tables.tasks.is_empty() {
            return None;
        }
        let curve = |(words, count): (&str, tasks::AtWork)| {
            (words.into(), count(tables).into_iter().map(|(ms, tasks)| (six_digits(ms), tasks)).collect())
        };
        let chart = DrawnChart::over_time("time, ms", "running tasks", &tasks::PHASES.map(curve));
        Some(Phases { scheme: spec.label.clone(), at: place_of(spec), seed: spec.seed, chart })
    }
}
