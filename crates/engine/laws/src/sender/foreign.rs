//! Congestion control from outside this crate, in any language. It has no row in the table and costs nothing unless used.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ptr;

use super::control::Control;
use crate::row::Row;

/// State of one connection.
pub trait Foreign: Control + fmt::Debug + Send {
    /// The state of another connection, which is new.
    fn fresh(&self) -> Box<dyn Foreign>;
}

impl Clone for Box<dyn Foreign> {
    fn clone(&self) -> Box<dyn Foreign> {
        (**self).fresh()
    }
}

/// Factory of external congestion controls.
pub trait Source: Send + Sync {
    /// The state of a new connection.
    fn start(&self) -> Box<dyn Foreign>;

    /// Execute a run that uses it.
    ///
    /// # Errors
    /// The error that the algorithm raised, which ended the run.
    fn during(&self, run: &mut (dyn FnMut() + Send)) -> Result<(), alloc::string::String>;
}

/// An external congestion control by its name in a scheme. It is never freed: schemes are plain values.
#[derive(Clone, Copy)]
pub struct Named(&'static (Row, Box<dyn Source>));

impl Named {
    /// A congestion control with its metadata.
    pub fn new(row: Row, source: Box<dyn Source>) -> Named {
        Named(Box::leak(Box::new((row, source))))
    }

    /// Its metadata.
    pub const fn row(self) -> &'static Row {
        &self.0.0
    }

    /// Its factory.
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
