//! Failures of commands, and their exit codes.

use std::io;

use fanin::{Error, Refusal};

use crate::signal;

/// Reason for ending a command early.
#[derive(Debug)]
pub enum Failure {
    /// A check failed: a run broke an invariant of its own. Exit 1.
    Check(String),
    /// Bad input. Exit 2.
    Input(String),
    /// The environment lacks something. Exit 3.
    Environment(String),
    /// A signal such as Ctrl-C; finished results are written. Exit 128 plus the signal.
    Stopped(String),
    /// The reader of standard output is gone, which is not an error. Exit 0.
    Unread,
}

impl Failure {
    /// The message for the user, if any.
    pub fn text(&self) -> Option<&str> {
        match self {
            Failure::Check(text) | Failure::Input(text) | Failure::Environment(text) | Failure::Stopped(text) => {
                Some(text)
            }
            Failure::Unread => None,
        }
    }

    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Unread => 0,
            Failure::Check(_) => 1,
            Failure::Input(_) => 2,
            Failure::Environment(_) => 3,
            Failure::Stopped(_) => signal::exit_code(),
        }
    }

    /// A command that needs a part of the program with which it was not built.
    #[cfg(not(all(feature = "proxy", feature = "testbed")))]
    pub fn not_built(feature: &str) -> Failure {
        Failure::Environment(format!(
            "this program was built without its feature `{feature}`; `make build` in fanin's sources builds all of it"
        ))
    }

    /// The failure for an error of standard output.
    pub fn from_stdout(error: io::Error) -> Failure {
        fanin_proxy::Failure::from_stdout(error).into()
    }
}

impl From<fanin_proxy::Failure> for Failure {
    fn from(failure: fanin_proxy::Failure) -> Failure {
        match failure {
            fanin_proxy::Failure::Input(text) => Failure::Input(text),
            fanin_proxy::Failure::Environment(text) => Failure::Environment(text),
            fanin_proxy::Failure::Unread => Failure::Unread,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Broken(_) | Error::Raised(_) => Failure::Check(error.to_string()),
            Error::Folder(refusal) => Failure::unwritten(refusal),
            Error::Unwritten(what) | Error::Lacking(what) => Failure::Environment(what),
            Error::Stopped => Failure::Stopped(format!("stopped by {}; nothing was written", signal::name())),
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
    /// An unusable output folder: bad input.
    pub fn unclaimed(refusal: Refusal) -> Failure {
        Failure::Input(format!("--out {refusal}"))
    }

    /// An output folder that became unwritable during the runs: the environment's fault.
    pub fn unwritten(refusal: Refusal) -> Failure {
        Failure::Environment(format!("--out {refusal}"))
    }
}
