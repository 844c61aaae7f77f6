//! The memcached proxy and its agent as commands: reading files, signals, systemd, reloads and hand-overs. The program `fanin` has both as
//! `fanin front` and `fanin agent`, with predictions by its simulator; `fanin-proxy` has them without it.

#[cfg(feature = "daemon")]
mod agent;
mod arguments;
mod failure;
#[cfg(feature = "daemon")]
mod front;
#[cfg(feature = "daemon")]
mod handover;
#[cfg(feature = "daemon")]
mod program;
#[cfg(feature = "daemon")]
mod service;
pub mod signals;
#[cfg(feature = "daemon")]
mod stop;

#[cfg(feature = "daemon")]
pub use agent::agent;
pub use arguments::{AgentArguments, FrontArguments};
pub use failure::Failure;
#[cfg(feature = "daemon")]
pub use front::{front, settings_of, settings_of_file};
#[cfg(feature = "daemon")]
pub use program::Program;
