//! The memcached proxy and its agent as commands: reading files, signals, systemd, reloads and hand-overs. The program `fanin` has both as
//! `fanin front` and `fanin agent`, with predictions by its simulator; `fanin-proxy` has them without it.

mod agent;
mod arguments;
mod failure;
mod front;
mod handover;
mod program;
mod service;
pub mod signals;

pub use agent::agent;
pub use arguments::{AgentArguments, FrontArguments};
pub use failure::Failure;
pub use front::{front, settings_of, settings_of_file};
pub use program::Program;
