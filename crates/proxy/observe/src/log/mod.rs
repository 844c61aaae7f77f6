//! Log of requested keys, for `fanin plan`: one row per key, for a sample of complete queries.
//!
//! Threads collect rows (`tap`) and pass them to the log's own thread (`writer`), which writes a few files of limited size. Threads never
//! wait for it: rows that do not fit are counted and dropped.

mod follow;
mod naming;
mod tap;
mod writer;

use std::path::PathBuf;

use fanin_units::{Bytes, Share};

pub use follow::{FollowedLog, NewRows};
pub use naming::{Naming, Secret};
pub use tap::{Logged, Tap};
pub use writer::{HEAD, Rows, Writer};

/// Log settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file, ending in `.csv`. Full files become `NAME.1.csv`, and so on.
    pub file: PathBuf,
    /// Share of queries.
    pub share: Share,
    /// Format of keys.
    pub naming: Naming,
    /// Size limit of a file.
    pub size: Bytes,
    /// Maximum number of files.
    pub files: usize,
}
