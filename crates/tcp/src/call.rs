//! What comes with every call of an endpoint.

use fanin_units::Time;

use crate::params::Stack;
use crate::segment::Wire;

/// What an endpoint does not keep itself, and what its driver gives it with every call.
#[derive(Debug)]
pub struct Call<'a, W: Wire> {
    /// The settings, the same at every call.
    pub params: &'a Stack,
    /// The time.
    pub now: Time,
    /// Takes what is sent.
    pub wire: &'a mut W,
}
