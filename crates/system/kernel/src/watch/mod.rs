//! `fanin watch`: bursts that arrive at this host.

pub mod burst;
pub mod row;

#[cfg(feature = "load")]
mod anonymous;
#[cfg(feature = "load")]
pub mod command;
#[cfg(feature = "load")]
mod heads;
#[cfg(feature = "load")]
pub mod save;
#[cfg(feature = "load")]
mod sensor;
#[cfg(feature = "load")]
mod waits;
