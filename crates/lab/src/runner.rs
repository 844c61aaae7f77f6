//! What runs one spec.

use std::sync::atomic::AtomicBool;

use fanin_spec::{RunSpec, RunTables};

/// Why a run gave no tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// It was asked to stop.
    Stopped,
    /// It broke an invariant: a fault of the runner. The text says what.
    Broken(String),
}

/// Turns a spec into tables: the simulator, or a testbed. The same spec gives the same tables.
pub trait Runner: Sync {
    /// Runs one spec on the calling thread; looks at `stop` from time to time.
    ///
    /// # Errors
    /// [`RunError`]; never on account of the spec, which is checked where scenarios are read.
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError>;
}
