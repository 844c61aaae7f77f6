//! Errors of planning.

use std::io;
use std::path::PathBuf;

use crate::requests::Unread;

/// Why planning failed.
#[derive(Debug, thiserror::Error)]
pub enum PlanningError {
    /// An invalid log.
    #[error(transparent)]
    Log(#[from] Unread),
    /// A temporary file failed.
    #[error("cannot write a temporary file: {0}")]
    Spool(#[from] io::Error),
    /// Too few queries.
    #[error("it has {}; a plan needs one half to plan from and one to evaluate on: use a longer log", queries(*.0))]
    Short(u64),
    /// An invalid placement file.
    #[error("{}: {what}", path.display())]
    CurrentPlacement {
        /// The file.
        path: PathBuf,
        /// The error.
        what: String,
    },
    /// Contradictory servers of keys.
    #[error("{0}")]
    Places(String),
    /// An invalid cluster.
    #[error("{0}")]
    Cluster(String),
    /// An impossible plan.
    #[error("{0}")]
    Plan(String),
}

fn queries(count: u64) -> String {
    if count == 1 { "one query".into() } else { format!("{count} queries") }
}
