//! Name and weight of a server.

/// A server, for placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighted {
    /// Its name: a configured name, or `host:port` without port 11211.
    pub name: String,
    /// Its weight.
    pub weight: u32,
}
