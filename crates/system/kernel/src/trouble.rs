//! Reasons for which a command ends early.

use std::fmt;
use std::io;

/// Why a command ended early, and its exit code.
#[derive(Debug)]
pub enum Trouble {
    /// Bad input. Exit 2.
    Input(String),
    /// The machine lacks something, or refuses it. Exit 3.
    Environment(String),
    /// A trial found the congestion control to be worse. Exit 1.
    Worse(String),
}

impl Trouble {
    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Trouble::Worse(_) => 1,
            Trouble::Input(_) => 2,
            Trouble::Environment(_) => 3,
        }
    }

    /// A refusal of the kernel.
    pub fn kernel(what: &str, why: impl fmt::Display) -> Trouble {
        Trouble::Environment(format!("cannot {what}: {why}"))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Input(text) | Trouble::Environment(text) | Trouble::Worse(text) => f.write_str(text),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Environment(error.to_string())
    }
}
