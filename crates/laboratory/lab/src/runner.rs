//! Interface of a driver that runs one spec.

use core::num::NonZeroUsize;
use core::sync::atomic::AtomicBool;

use fanin_spec::{Need, RunSpec, Scheme, Settings, Watch};
use fanin_tables::{RunError, RunTables};
use fanin_units::Time;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The part of it that is done, an estimate from 0 to 1.
    pub share: f64,
    /// Simulated time.
    pub simulated: Time,
    /// Data packets sent.
    pub data_packets: u64,
}

/// Turns a spec into tables: the same ones for the same spec, on any machine. What measures real networks is a
/// [`Measurement`](crate::Measurement).
pub trait Runner: Sync {
    /// Runs a spec on the calling thread; checks `stop` from time to time.
    ///
    /// # Errors
    /// [`RunError`].
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError>;

    /// Runs a spec on up to this many cores if that is faster; the tables are the same. `tell` receives from time to time a function that
    /// says how far the run is, if the runner can.
    ///
    /// # Errors
    /// As [`Runner::run`].
    fn run_on(
        &self,
        spec: &RunSpec,
        _cores: NonZeroUsize,
        stop: &AtomicBool,
        _tell: &mut dyn FnMut(&dyn Fn() -> Reached),
    ) -> Result<RunTables, RunError> {
        self.run(spec, stop)
    }

    /// Runs a spec and adds the samples and events that `watch` requests, if the runner supports it.
    ///
    /// # Errors
    /// As [`Runner::run`].
    fn watch(&self, spec: &RunSpec, _watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        self.run(spec, stop)
    }

    /// Estimated resources of a run of a scheme with these settings; zero if unknown.
    fn need(&self, _scheme: &Scheme, _settings: &Settings) -> Need {
        Need::default()
    }
}
