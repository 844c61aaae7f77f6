//! A server's address, and what it takes to be connected to it.

use super::address::Address;

/// A server to connect to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its address.
    pub address: Address,
}
