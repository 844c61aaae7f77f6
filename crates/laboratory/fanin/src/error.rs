//! Errors of this crate's calls.

use std::io;
use std::path::PathBuf;

use fanin_execute::Refusal;
use fanin_lab::Broken;
use fanin_papers::PaperProblem;
use fanin_plan::PlanningError;
use fanin_spec::Problem;

/// Why a call failed: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A wrong scenario, or a wrong setting by the caller: names the file and line, or the argument.
    #[error(transparent)]
    Scenario(#[from] Problem),
    /// A scenario that cannot be read.
    #[error("{path}: cannot read the scenario: {error}", path = path.display())]
    Unread {
        /// Its file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The machine lacks something.
    #[error("{0}")]
    Lacking(String),
    /// A request that contradicts itself or names something that does not exist.
    #[error("{0}")]
    Asked(String),
    /// The scenario exceeds the memory; says how to reduce it.
    #[error("{0}")]
    Memory(String),
    /// A run that broke an invariant: a fault of the simulator.
    #[error("a bug in the simulator; please report it with the scenario: {0}")]
    Broken(#[from] Broken),
    /// A run that an algorithm of the caller's ended.
    #[error("{0}")]
    Raised(Broken),
    /// A problem in a paper's files.
    #[error(transparent)]
    Paper(#[from] PaperProblem),
    /// A log that no plan can be made from, or a cluster without a plan.
    #[error(transparent)]
    PlanningError(#[from] PlanningError),
    /// A folder that results cannot be written to.
    #[error(transparent)]
    Folder(#[from] Refusal),
    /// Output that could not be written.
    #[error("{0}")]
    Unwritten(String),
    /// A stop request arrived before there was a result.
    #[error("stopped")]
    Stopped,
}
