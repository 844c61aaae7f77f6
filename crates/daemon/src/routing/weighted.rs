//! What is known of a server where keys are placed.

/// A server as far as keys are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted {
    /// What it is known by: `host:port`, the port left out where it is 11211, unless it was given a name.
    pub name: String,
    /// Its share.
    pub weight: u32,
}
