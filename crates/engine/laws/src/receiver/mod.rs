//! Receiver algorithms: windows that a host advertises to its senders.

pub mod grants;
pub mod ictcp;
