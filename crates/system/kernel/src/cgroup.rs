//! Cgroups whose new connections get a congestion control.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, fstatfs};

use crate::trouble::Trouble;

/// Where cgroup v2 is mounted: alone, or beside the older version.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// An open cgroup.
#[derive(Debug)]
pub struct Cgroup {
    /// Its folder.
    pub path: PathBuf,
    /// The open folder.
    pub folder: File,
    /// Its number.
    pub id: u64,
}

impl Cgroup {
    /// Open a cgroup by its folder, or by its path below cgroup v2's mount, such as `system.slice/nginx.service`.
    ///
    /// # Errors
    /// There is no such folder, or it is no cgroup v2.
    pub fn open(given: &Path) -> Result<Cgroup, Trouble> {
        let candidates = MOUNTS.iter().map(|mount| Path::new(mount).join(given.strip_prefix("/").unwrap_or(given)));
        let candidates: Vec<PathBuf> = std::iter::once(given.to_path_buf()).chain(candidates).collect();
        let mut not_unified = false;
        for path in candidates.iter().filter(|path| path.is_dir()) {
            let folder = File::open(path).map_err(|error| unreadable(path, error))?;
            if fstatfs(&folder).is_ok_and(|stat| stat.filesystem_type() == CGROUP2_SUPER_MAGIC) {
                let id = folder.metadata().map_err(|error| unreadable(path, error))?.ino();
                return Ok(Cgroup { path: path.clone(), folder, id });
            }
            not_unified = true;
        }
        let why = match not_unified {
            true => "is no folder of cgroup v2; programs select connections by cgroup v2 only",
            false => "no such cgroup; `systemd-cgls` lists them",
        };
        Err(Trouble::Input(format!("cgroup `{}`: {why}", given.display())))
    }
}

impl Cgroup {
    /// Its level below the root of cgroup v2.
    pub fn level(&self) -> u32 {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let is_below = |folder: &&Path| {
            File::open(folder)
                .and_then(|open| fstatfs(&open).map_err(io::Error::from))
                .is_ok_and(|stat| stat.filesystem_type() == CGROUP2_SUPER_MAGIC)
        };
        // The root is a folder of cgroup v2, too.
        (path.ancestors().take_while(is_below).count() as u32).saturating_sub(1)
    }

    /// The cgroup of this process.
    ///
    /// # Errors
    /// The machine has no cgroup v2.
    pub fn own() -> Result<Cgroup, Trouble> {
        let text = fs::read_to_string("/proc/self/cgroup")?;
        let path = text.lines().find_map(|line| line.strip_prefix("0::"));
        let path = path.ok_or_else(|| Trouble::Environment("this machine has no cgroup v2".into()))?;
        let folders = MOUNTS.iter().map(|mount| Path::new(mount).join(path.trim_start_matches('/')));
        let folder = folders.into_iter().find_map(|folder| Cgroup::open(&folder).ok());
        folder.ok_or_else(|| Trouble::Environment("cgroup v2 is not mounted".into()))
    }
}

fn unreadable(path: &Path, error: io::Error) -> Trouble {
    Trouble::Input(format!("cgroup `{}`: {error}", path.display()))
}
