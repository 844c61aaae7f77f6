//! What can go wrong.

use std::io;
use std::path::PathBuf;

use fanin_execute::PlanningError;
use fanin_execute::Refusal;
use fanin_lab::Broken;
use fanin_papers::PaperProblem;
use fanin_spec::Problem;

/// Why a call gives nothing. Each says where, what, and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What a scenario says, or what a caller sets in it: the file and its line, or the argument.
    #[error(transparent)]
    Scenario(#[from] Problem),
    /// A scenario that cannot be read.
    #[error("{path}: the scenario cannot be read: {error}", path = path.display())]
    Unread {
        /// Its file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// What is asked for does not go together, or is not there.
    #[error("{0}")]
    Asked(String),
    /// It cannot fit into the memory; what would.
    #[error("{0}")]
    Memory(String),
    /// A run that broke an invariant: a fault of the simulator.
    #[error("a fault of the simulator, please report it with the scenario: {0}")]
    Broken(#[from] Broken),
    /// A run that a law of the caller's ended.
    #[error("{0}")]
    Raised(Broken),
    /// A paper's files.
    #[error(transparent)]
    Paper(#[from] PaperProblem),
    /// A log that no plan can be made from, or a cluster that has none.
    #[error(transparent)]
    PlanningError(#[from] PlanningError),
    /// A folder that results cannot be written to.
    #[error(transparent)]
    Folder(#[from] Refusal),
    /// What was asked to be written could not be.
    #[error("{0}")]
    Unwritten(String),
    /// It was asked to stop before there was anything to give.
    #[error("stopped")]
    Stopped,
}
