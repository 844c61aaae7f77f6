//! State that a front end's threads share: the settings in force, counters and memory (`shared`), predictions of incast, and clients on
//! their way between processes (`handover`).

pub mod handover;
pub mod incast;
pub mod shared;
