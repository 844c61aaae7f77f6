//! Failures of measurements.

use std::io;

use fanin_assemble::Unsupported;
use fanin_units::Time;

/// Most nodes of a network in one kernel.
pub const MOST_NODES: u32 = 1_024;

/// Why a run was not measured.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The scenario has something that no kernel has.
    #[error("{0}")]
    Unsupported(#[from] Unsupported),
    /// The measurement cannot be made of this scenario.
    #[error("{0}")]
    Asked(String),
    /// The network is too large.
    #[error(
        "a testbed has at most {MOST_NODES} hosts and switches, and this network has {0}: use fewer servers, with --fan-in or fabric.hosts"
    )]
    TooLarge(u32),
    /// The machine lacks something.
    #[error("{0}")]
    Lacks(String),
    /// The run did not end.
    #[error("the run did not end within {0}")]
    Endless(Time),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
    /// The system failed.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl From<nix::errno::Errno> for Trouble {
    fn from(error: nix::errno::Errno) -> Trouble {
        Trouble::System(error.into())
    }
}
