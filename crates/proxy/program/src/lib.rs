//! The memcached proxy and its agent as commands: reading files, signals, systemd, reloads and hand-overs. The program `fanin` has both as
//! `fanin front` and `fanin agent`, with predictions by its simulator; `fanin-proxy` has them without it.

mod agent;
mod arguments;
mod failure;
mod front;
mod handover;
mod service;
pub mod signals;

use fanin_daemon::incast::Predictor;

pub use agent::agent;
pub use arguments::{AgentArguments, FrontArguments};
pub use failure::Failure;
pub use front::{front, settings_of, settings_of_file};

/// The program around the commands.
pub trait Program {
    /// Prints to standard output.
    ///
    /// # Errors
    /// It cannot be written to.
    fn say(&self, text: &str) -> Result<(), Failure>;

    /// Predicts incast for pools with `incast`, if the program has a simulator.
    fn predictor(&self) -> Option<Box<dyn Predictor>>;
}
