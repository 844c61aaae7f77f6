//! Carries out measurements: without a cache, and only as many at once as do not disturb each other.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fanin_lab::{Batch, Broken, Executor, Measurement, News, Provenance, Runner};
use fanin_spec::RunSpec;
use fanin_tables::{RunError, RunTables};

use crate::threads::Threads;

/// An executor of measurements.
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    /// Measures one spec.
    pub measurement: &'a dyn Measurement,
    /// Stops work.
    pub stop: &'a AtomicBool,
}

/// A measurement where threads expect a run. Nothing caches its results.
struct Once<'a>(&'a dyn Measurement);

impl Runner for Once<'_> {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        self.0.measure(spec, stop)
    }
}

impl Executor for Measured<'_> {
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken> {
        let runner = &Once(self.measurement);
        Threads { runner, cache: None, jobs: self.measurement.at_once(), stop: self.stop }.carry_out(batch, tell)
    }

    fn provenance(&self) -> Option<Provenance> {
        Some(self.measurement.provenance())
    }
}
