//! A file written like `cp`: special files (devices, FIFOs) are opened and written, links are followed, and a regular file is replaced
//! when the new one is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use crate::cleanup::Cleanup;
use crate::ownership;

/// The name of a file that is not whole yet is a dot, the file's name, this, and something random.
pub(crate) const MARK: &str = ".fanin-";
/// Maximum number of links to follow, as in the kernel.
const LINKS: u32 = 40;

/// A file that is being written.
#[derive(Debug)]
pub struct Draft {
    file: File,
    /// The draft and its target, with its cleanup; `None` if the target itself is written.
    beside: Option<(PathBuf, PathBuf, Cleanup)>,
}

impl Draft {
    /// Opens a target; a FIFO waits for its reader. Removes drafts of killed processes.
    ///
    /// # Errors
    /// There is a folder, or nothing can be written there.
    pub fn open(path: &Path) -> io::Result<Draft> {
        if fs::metadata(path).is_ok_and(|there| there.is_dir()) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if is_special(path) {
            return Draft::in_place(path);
        }
        let target = target(path, LINKS)?;
        sweep(&target);
        Draft::beside(target)
    }

    /// Opens a draft next to a regular file or a missing one.
    pub(crate) fn beside(target: PathBuf) -> io::Result<Draft> {
        let there = fs::metadata(&target).ok();
        // A new file is readable as the user's others are: the mask takes its part.
        let new = there.as_ref().map_or(fs::Permissions::from_mode(0o666), fs::Metadata::permissions);
        let prefix = prefix(&target);
        let make = || {
            let (file, path) = tempfile::Builder::new()
                .prefix(&prefix)
                .permissions(new.clone())
                .tempfile_in(folder_of(&target))?
                .keep()?;
            // The lock marks it as in use. Some file systems have no locks.
            let _ = file.try_lock();
            Ok((file, path))
        };
        let made: io::Result<_> = Cleanup::of(make, |(_, path)| {
            let path = path.clone();
            // A failure to remove it has no remedy.
            Box::new(move || drop(fs::remove_file(path)))
        });
        match made {
            Ok(((file, path), cleanup)) => {
                if there.is_some() {
                    // Restore the old file's mode in spite of the umask.
                    file.set_permissions(new)?;
                }
                Ok(Draft { file, beside: Some((path, target, cleanup)) })
            }
            // A file that may be written in a folder that may not.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && there.is_some() => {
                Draft::in_place(&target)
            }
            Err(error) => Err(error),
        }
    }

    fn in_place(path: &Path) -> io::Result<Draft> {
        Ok(Draft { file: OpenOptions::new().write(true).truncate(true).open(path)?, beside: None })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The file is whole: it takes its place. Dropped before, nothing is left of it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn publish(self) -> io::Result<()> {
        if let Some((path, target, cleanup)) = self.beside {
            fs::rename(path, target)?;
            cleanup.keep();
        }
        Ok(())
    }
}

/// Writes a whole file.
///
/// # Errors
/// Errors of the file system.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let draft = Draft::open(path)?;
    draft.file().write_all(bytes.as_ref())?;
    draft.publish()
}

/// Whether the path must be written in place: it is no regular file, or an already open one.
pub fn is_special(path: &Path) -> bool {
    ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc"].iter().any(|open| path.starts_with(open))
        || fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn prefix(target: &Path) -> String {
    // The suffix must fit, too.
    const LONGEST: usize = 60;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}{MARK}", name.chars().take(LONGEST).collect::<String>())
}

/// Removes drafts that killed processes of this user left: regular files without a lock.
fn sweep(target: &Path) {
    let prefix = prefix(target);
    let is_left = |file: File| {
        file.metadata().is_ok_and(|there| there.is_file() && ownership::is_own(&there)) && file.try_lock().is_ok()
    };
    for left in fs::read_dir(folder_of(target)).into_iter().flatten().flatten() {
        if left.file_name().to_string_lossy().starts_with(&prefix)
            && OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(left.path()).is_ok_and(is_left)
        {
            // If it cannot be removed, it stays.
            let _ = fs::remove_file(left.path());
        }
    }
}

/// Target of a chain of links, which may not exist.
fn target(path: &Path, links: u32) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && links > 0 => match fs::read_link(path) {
            Ok(next) => target(&path.parent().unwrap_or(Path::new("")).join(next), links - 1),
            Err(_) => Ok(path.into()),
        },
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn writes_the_target_of_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, dangling] = ["file", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        symlink("file", &link).unwrap();
        symlink("later", &dangling).unwrap();
        replace(&link, "new").unwrap();
        replace(&dangling, "later").unwrap();
        assert!(link.is_symlink() && dangling.is_symlink());
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read("file").as_str(), read("later").as_str()), ("new", "later"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
    }

    #[test]
    fn keeps_the_mode_and_replaces_a_file_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o602)).unwrap();
        let draft = Draft::open(&file).unwrap();
        draft.file().write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        draft.publish().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o602);
        drop(Draft::open(&file).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn writes_to_a_fifo() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || fs::read_to_string(fifo).unwrap()
        });
        replace(&fifo, "text").unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(is_special(&fifo));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn removes_drafts_of_killed_processes_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(folder.path().join(".file.fanin-left"), "half").unwrap();
        fs::write(folder.path().join(".other.fanin-left"), "half").unwrap();
        let one = Draft::open(&file).unwrap();
        let other = Draft::open(&file).unwrap();
        one.file().write_all(b"one").unwrap();
        other.file().write_all(b"other").unwrap();
        one.publish().unwrap();
        other.publish().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "other");
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort_unstable();
        assert_eq!(names, [".other.fanin-left", "file"]);
    }

    #[test]
    fn ignores_special_files_named_like_a_draft() {
        let folder = tempfile::tempdir().unwrap();
        let [file, fifo, link] = ["file", ".file.fanin-fifo", ".file.fanin-link"].map(|name| folder.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        symlink("elsewhere", &link).unwrap();
        replace(&file, "text").unwrap();
        assert!(fifo.exists() && link.is_symlink());
    }

    #[test]
    fn a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Draft::open(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }
}
