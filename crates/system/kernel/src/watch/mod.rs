//! `fanin watch`: bursts that arrive at this host.

pub mod burst;
#[cfg(feature = "load")]
pub mod sensor;
