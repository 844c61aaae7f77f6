//! A base law from outside the house: whoever links this crate brings it, in whatever language. It has no row in the table, and nothing of
//! it is paid for where none is used.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ptr;

use super::control::Control;
use crate::row::Row;

/// One connection's state of such a law.
pub trait Foreign: Control + fmt::Debug + Send {
    /// The state of another connection, which is new.
    fn another(&self) -> Box<dyn Foreign>;
}

impl Clone for Box<dyn Foreign> {
    fn clone(&self) -> Box<dyn Foreign> {
        (**self).another()
    }
}

/// Where such a law comes from.
pub trait Source: Send + Sync {
    /// The state of a new connection.
    fn start(&self) -> Box<dyn Foreign>;

    /// Carries a run out that has it.
    ///
    /// # Errors
    /// What the law raised, which ended the run.
    fn during(&self, run: &mut (dyn FnMut() + Send)) -> Result<(), alloc::string::String>;
}

/// Such a law by its name, as a scheme has it. It is never given back: schemes are plain values.
#[derive(Clone, Copy)]
pub struct Named(&'static (Row, Box<dyn Source>));

impl Named {
    /// A law with what it says of itself.
    pub fn new(row: Row, source: Box<dyn Source>) -> Named {
        Named(Box::leak(Box::new((row, source))))
    }

    /// What it says of itself.
    pub const fn row(self) -> &'static Row {
        &self.0.0
    }

    /// Where it comes from.
    pub fn source(self) -> &'static dyn Source {
        &*self.0.1
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Named) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Named {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ptr::hash(self.0, state);
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().word)
    }
}
