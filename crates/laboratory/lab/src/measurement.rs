//! Interface of a driver that measures real networks.

use core::num::NonZeroUsize;
use core::sync::atomic::AtomicBool;

use fanin_spec::RunSpec;
use fanin_tables::{RunError, RunTables};

/// Carries out a spec on real machines. Two measurements of one spec differ, so they are not cached.
pub trait Measurement: Sync {
    /// Measures a spec; checks `stop` from time to time.
    ///
    /// # Errors
    /// [`RunError`].
    fn measure(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError>;

    /// Where and when it measures.
    fn provenance(&self) -> Provenance;

    /// The number of specs that do not disturb each other: one at a time unless it says otherwise.
    fn at_once(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }
}

/// Where and when figures were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Provenance {
    /// Name and release of the kernel.
    pub kernel: String,
    /// The machine: its processors and memory.
    pub machine: String,
    /// When, in UTC (ISO 8601).
    pub date: String,
}
