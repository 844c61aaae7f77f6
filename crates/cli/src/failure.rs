//! Why a command did not do all of its work, and its exit code.

use std::io;

use fanin::{Error, Refusal};

use crate::stop;

/// What ends a command early.
#[derive(Debug)]
pub enum Failure {
    /// A check failed: a run broke an invariant of its own. Exit 1.
    Check(String),
    /// Bad input. Exit 2.
    Input(String),
    /// The environment lacks something. Exit 3.
    Environment(String),
    /// Ctrl-C or its like; what was finished is written. Exit 130 and so on, by the signal.
    Stopped(String),
    /// Nobody reads standard output any more; that is no fault. Exit 0.
    Unread,
}

impl Failure {
    /// What the user is told, if anything.
    pub fn text(&self) -> Option<&str> {
        match self {
            Failure::Check(text) | Failure::Input(text) | Failure::Environment(text) | Failure::Stopped(text) => {
                Some(text)
            }
            Failure::Unread => None,
        }
    }

    /// The exit code of the house.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Unread => 0,
            Failure::Check(_) => 1,
            Failure::Input(_) => 2,
            Failure::Environment(_) => 3,
            Failure::Stopped(_) => stop::exit_code(),
        }
    }

    /// What a failed write to standard output means.
    pub fn from_stdout(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Environment(format!("standard output cannot be written to: {error}")),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Broken(_) | Error::Raised(_) => Failure::Check(error.to_string()),
            Error::Folder(refusal) => Failure::unwritten(refusal),
            Error::Unwritten(what) => Failure::Environment(what),
            Error::Stopped => Failure::Stopped(format!("stopped by {}; nothing was written", stop::what())),
            Error::Scenario(_)
            | Error::Unread { .. }
            | Error::Asked(_)
            | Error::Memory(_)
            | Error::Paper(_)
            | Error::PlanningError(_) => Failure::Input(error.to_string()),
        }
    }
}

impl Failure {
    /// An output folder that cannot be claimed: bad input.
    pub fn unclaimed(refusal: Refusal) -> Failure {
        Failure::Input(format!("--out {refusal}"))
    }

    /// An output folder that could be written to before the runs and cannot after: the environment's fault.
    pub fn unwritten(refusal: Refusal) -> Failure {
        Failure::Environment(format!("--out {refusal}"))
    }
}
