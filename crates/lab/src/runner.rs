//! What runs one spec.

use core::num::NonZeroUsize;
use core::sync::atomic::AtomicBool;

use fanin_spec::{Need, RunError, RunSpec, RunTables, Settings, Watch};

/// Turns a spec into tables: the simulator, or a testbed. The same spec gives the same tables.
pub trait Runner: Sync {
    /// Runs one spec on the calling thread; looks at `stop` from time to time.
    ///
    /// # Errors
    /// [`RunError`].
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError>;

    /// Runs one spec as [`Runner::run`] does, on up to so many cores where it gains by them: the tables are the same.
    ///
    /// # Errors
    /// As [`Runner::run`].
    fn run_on(&self, spec: &RunSpec, _cores: NonZeroUsize, stop: &AtomicBool) -> Result<RunTables, RunError> {
        self.run(spec, stop)
    }

    /// Runs one spec as [`Runner::run`] does, and keeps the samples and events that `watch` asks for beside the tables.
    /// A runner that cannot look inside gives the tables alone.
    ///
    /// # Errors
    /// As [`Runner::run`].
    fn watch(&self, spec: &RunSpec, _watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        self.run(spec, stop)
    }

    /// What one run of these settings asks of the machine; nothing where that is not known.
    fn need(&self, _settings: &Settings) -> Need {
        Need::default()
    }
}
