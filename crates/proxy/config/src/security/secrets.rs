//! Files of keys, certificates and passwords.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use zeroize::Zeroizing;

use crate::values::Wrong;
use fanin_proxy_core::clock::unix;

/// Largest file.
const LARGEST: u64 = 4 << 20;
/// Permission of others to read.
const OTHERS_READ: u32 = 0o004;

/// Files that a configuration names, and warnings about them.
pub struct Files {
    folder: PathBuf,
    /// Unix time in seconds, for validity.
    pub now: i64,
    warnings: RefCell<Vec<Wrong>>,
}

impl Files {
    /// Files of a configuration at this path.
    pub fn of(configuration: &str) -> Files {
        let folder = Path::new(configuration).parent().unwrap_or(Path::new("")).to_owned();
        Files { folder, now: (unix() / 1_000_000_000) as i64, warnings: RefCell::default() }
    }

    /// A path, relative to the configuration's folder.
    pub fn path(&self, path: &Spanned<PathBuf>) -> PathBuf {
        self.folder.join(path.get_ref())
    }

    /// The warnings so far.
    pub fn warnings(self) -> Vec<Wrong> {
        self.warnings.into_inner()
    }

    /// Adds a warning.
    pub fn warn(&self, warning: Wrong) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Reads a file that is not secret; returns its path, too.
    pub fn read(&self, path: &Spanned<PathBuf>) -> Result<(PathBuf, Zeroizing<Vec<u8>>), Wrong> {
        let full = self.path(path);
        let wrong = |why: String| Wrong(Some(path.span()), format!("{}: {why}", full.display()));
        let unreadable = |error: std::io::Error| wrong(format!("{error}; use a file that this user can read"));
        let file = File::open(&full).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?;
        if !size.is_file() || size.len() > LARGEST {
            return Err(wrong("it is no file of at most 4 MiB; use a PEM file, or a list of users".to_owned()));
        }
        // With space for all of it, no copy stays behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(size.len() as usize + 1));
        file.take(size.len()).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok((full, bytes))
    }

    /// Reads a file with a key or passwords; from then on the process leaves no core dump. Warns if others may read the file.
    pub fn read_secret(&self, path: &Spanned<PathBuf>) -> Result<(PathBuf, Zeroizing<Vec<u8>>), Wrong> {
        let unsafe_process = |error: nix::Error| {
            Wrong(Some(path.span()), format!("core dumps of this process cannot be prevented (prctl): {error}"))
        };
        nix::sys::prctl::set_dumpable(false).map_err(unsafe_process)?;
        let (full, bytes) = self.read(path)?;
        if fs::metadata(&full).is_ok_and(|file| file.permissions().mode() & OTHERS_READ != 0) {
            let why = format!("{0}: every user can read this secret; run chmod o-r {0}", full.display());
            self.warn(Wrong(Some(path.span()), why));
        }
        Ok((full, bytes))
    }
}
