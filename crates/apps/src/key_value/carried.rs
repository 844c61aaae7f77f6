//! What connections carry.

use fanin_roles::wire::{Numbered, Size};

use crate::message::meanings;

meanings! {
    pub(crate) enum Carried {
        /// Messages of roles that go together.
        Frame(number),
        /// An object that is moved.
        Copy(number),
    }
}

/// What roles say to one another, objects being numbers and values lengths.
pub(crate) type Message = fanin_roles::Message<Numbered, Size>;
