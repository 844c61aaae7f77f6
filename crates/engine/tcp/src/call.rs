//! Arguments of every endpoint call.

use fanin_units::Time;

use crate::params::Stack;
use crate::segment::Wire;

/// State that the driver passes with every call instead of storing it in each endpoint.
#[derive(Debug)]
pub struct Call<'a, W: Wire> {
    /// The settings, the same at every call.
    pub params: &'a Stack,
    /// The time.
    pub now: Time,
    /// Receives outgoing segments.
    pub wire: &'a mut W,
}
