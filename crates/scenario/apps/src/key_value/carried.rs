//! Contents of messages on connections.

use fanin_driver::meanings;
use fanin_roles::wire::{Numbered, Size};

meanings! {
    pub(crate) enum Carried {
        /// Messages of roles that are sent together.
        Frame(number),
        /// A migrated object.
        Copy(number),
    }
}

/// Messages between roles, with numbers for objects and lengths for values.
pub(crate) type Message = fanin_roles::Message<Numbered, Size>;
