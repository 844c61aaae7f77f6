//! Failures of the two commands, and their exit codes.

use std::fmt;
use std::io;

/// Reason for ending a command early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Bad input. Exit 2.
    Input(String),
    /// The environment lacks something. Exit 3.
    Environment(String),
    /// The reader of standard output is gone, which is not an error. Exit 0.
    Unread,
}

impl Failure {
    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Unread => 0,
            Failure::Input(_) => 2,
            Failure::Environment(_) => 3,
        }
    }

    /// The failure for an error of standard output.
    pub fn from_stdout(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Unread,
            _ => Failure::Environment(format!("cannot write to standard output: {error}")),
        }
    }
}

/// The message for the user; empty if there is none.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(text) | Failure::Environment(text) => f.write_str(text),
            Failure::Unread => Ok(()),
        }
    }
}
