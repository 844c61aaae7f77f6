//! A log of what clients ask for, as `fanin plan` reads it: a key a row, of some of the queries, each of which is there whole.
//!
//! A thread puts rows down (`tap`) and hands them on when there are some; a thread of the log's own writes them (`writer`), into files of
//! which there are few and none is large. Nobody waits for it: what it has no room for is counted and left out.

mod naming;
mod tap;
mod writer;

use std::path::PathBuf;

use fanin_units::{Bytes, Share};

pub use naming::{Naming, Secret};
pub use tap::{Logged, Tap};
pub use writer::{Rows, Writer};

/// What is logged, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to: a table, so that it ends in `.csv`. What is full becomes `NAME.1.csv`, and so on.
    pub file: PathBuf,
    /// The share of queries.
    pub share: Share,
    /// How keys are written.
    pub naming: Naming,
    /// How large a file may become.
    pub size: Bytes,
    /// How many there are at the most.
    pub files: usize,
}
