//! Papers: reading their folders and running their scenarios.

mod apart;
mod planning;
mod read;
mod reproduce;
mod sensitivity;
mod swarms;

pub use fanin_execute::embedded::EMBEDDED;
pub use read::{names, read, record, recorded};
pub use reproduce::{ReproduceError, reproduce};
pub use sensitivity::sweep;
