//! `fanin watch`: bursts that arrive at this host.

pub mod burst;
pub mod figures;
pub mod row;
pub mod shares;
pub mod summary;

#[cfg(feature = "load")]
mod anonymous;
#[cfg(feature = "load")]
pub mod command;
#[cfg(feature = "load")]
mod counters;
#[cfg(feature = "load")]
mod heads;
#[cfg(feature = "load")]
mod hours;
#[cfg(feature = "load")]
mod live;
#[cfg(feature = "load")]
mod metrics;
#[cfg(feature = "load")]
pub mod save;
#[cfg(feature = "load")]
pub mod sensor;
#[cfg(feature = "load")]
mod services;
#[cfg(feature = "load")]
mod waits;
