//! The folder of a shared budget, and which folders and files a process trusts.
//!
//! Whoever can open a file of the folder can hold its lock, and whoever can write to the folder can put a link there. So the folder belongs to
//! the process's user or to root, and nobody else can open it, except members of the group that the settings name.

use std::format;
use std::fs::{DirBuilder, File, create_dir_all};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::string::String;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::fs::{fchmod, fchown, flock, fstat, open, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Gid, geteuid};

/// A folder that the process trusts.
#[derive(Debug)]
pub struct Folder {
    file: OwnedFd,
    owner: u32,
    user: u32,
    group: Option<u32>,
}

impl Folder {
    /// Opens a folder, or makes it.
    ///
    /// # Errors
    ///
    /// If the process does not trust it; the error has the reason and the remedy.
    pub fn open(path: &Path, group: Option<u32>) -> io::Result<Folder> {
        path.parent().map_or(Ok(()), create_dir_all)?;
        let made = match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => true,
            Err(why) if why.kind() == ErrorKind::AlreadyExists => false,
            Err(why) => return Err(why),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty()).map_err(|why| match why {
            Errno::LOOP | Errno::NOTDIR => distrusted("it is a link or no folder; use a folder"),
            why => why.into(),
        })?;
        if made && let Some(group) = group {
            fchown(&file, None, Some(Gid::from_raw(group)))?;
            fchmod(&file, Mode::from_raw_mode(0o2770))?;
        }
        let (found, user) = (fstat(&file)?, geteuid().as_raw());
        match distrust_of_folder(Found::of(&found), user, group) {
            Some(why) => Err(distrusted(&why)),
            None => Ok(Folder { file, owner: found.st_uid, user, group }),
        }
    }

    /// Replaces files of these names that the process does not trust, by empty ones: those of a time when others could write to the folder.
    ///
    /// # Errors
    ///
    /// If one of them cannot be removed.
    pub fn replace_distrusted(&self, names: impl Iterator<Item = String>) -> io::Result<()> {
        // No other process may replace one in between.
        self.alone(|| self.replace_each(names))
    }

    /// Does something while no other process creates or replaces a file.
    fn alone<T>(&self, does: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        flock(&self.file, FlockOperation::LockExclusive)?;
        let done = does();
        flock(&self.file, FlockOperation::Unlock)?;
        done
    }

    fn replace_each(&self, names: impl Iterator<Item = String>) -> io::Result<()> {
        for name in names {
            match statat(&self.file, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => {}
                Err(why) => return Err(why.into()),
                Ok(found) if self.trusts(&found) => {}
                Ok(_) => {
                    unlinkat(&self.file, &name, AtFlags::empty())
                        .map_err(|why| distrusted(&format!("{name} is no file of this user ({why}); delete it")))?;
                    self.open_file(&name, OFlags::CREATE)?;
                }
            }
        }
        Ok(())
    }

    /// Opens a file for reading and writing, if it exists.
    ///
    /// # Errors
    ///
    /// If the process does not trust it.
    pub fn file(&self, name: &str) -> io::Result<Option<File>> {
        let file = match self.open_file(name, OFlags::empty()) {
            // Another user's process may be about to permit it.
            Err(why) if why.kind() == ErrorKind::PermissionDenied && self.group.is_some() => {
                self.alone(|| self.open_file(name, OFlags::empty()))
            }
            other => other,
        };
        match file {
            Ok(file) => Ok(Some(file)),
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// The same; an absent file is created.
    ///
    /// # Errors
    ///
    /// If the process does not trust it.
    pub fn create(&self, name: &str) -> io::Result<File> {
        match self.file(name)? {
            Some(file) => Ok(file),
            None => self.alone(|| self.open_file(name, OFlags::CREATE)),
        }
    }

    fn open_file(&self, name: &str, more: OFlags) -> io::Result<File> {
        let wrong = || distrusted(&format!("{name} is no file of this user; delete it"));
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
        let file = openat(&self.file, name, flags, Mode::from_raw_mode(0o600)).map_err(|why| match why {
            Errno::LOOP | Errno::ISDIR => wrong(),
            why => why.into(),
        })?;
        let found = fstat(&file)?;
        if !self.trusts(&found) {
            return Err(wrong());
        }
        if found.st_uid == self.user {
            self.permit(file.as_fd(), &found)?;
        }
        Ok(file.into())
    }

    /// Lets only the group open an own file, if the settings name one.
    fn permit(&self, file: impl AsFd, found: &Stat) -> io::Result<()> {
        let mode = if self.group.is_some() { 0o660 } else { 0o600 };
        if let Some(group) = self.group.filter(|group| found.st_gid != *group) {
            fchown(&file, None, Some(Gid::from_raw(group)))?;
        }
        if Found::of(found).mode & 0o777 != mode {
            fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        Ok(())
    }

    /// Whether a file is a plain one of this user, of the folder's owner, or of the group.
    fn trusts(&self, found: &Stat) -> bool {
        let is_plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_nlink == 1;
        let is_known = [self.user, self.owner].contains(&found.st_uid) || Some(found.st_gid) == self.group;
        is_plain && is_known
    }
}

/// Owner and permissions of a folder.
#[derive(Clone, Copy, Debug)]
struct Found {
    user: u32,
    group: u32,
    /// Permissions.
    mode: u32,
}

impl Found {
    #[allow(clippy::useless_conversion, reason = "the type of a mode depends on the system")]
    fn of(stat: &Stat) -> Found {
        Found { user: stat.st_uid, group: stat.st_gid, mode: u32::from(stat.st_mode) & 0o7777 }
    }
}

/// The reason for which a user does not trust a folder, and the remedy.
fn distrust_of_folder(found: Found, user: u32, group: Option<u32>) -> Option<String> {
    let Found { user: owner, group: of, mode } = found;
    if owner != user && owner != 0 {
        return Some(format!(
            "it belongs to user {owner}, but this process is of user {user}; use an own folder, or one of root"
        ));
    }
    match group {
        None if mode & 0o077 != 0 => {
            Some("other users may open it; run `chmod 700` on it, or name its group in the setting `group`".into())
        }
        Some(group) if of != group => {
            Some(format!("its group is {of}, but the setting `group` is {group}; run `chgrp {group}` on it"))
        }
        Some(_) if mode & 0o007 != 0 => Some("users outside of its group may open it; run `chmod o=` on it".into()),
        _ => None,
    }
}

fn distrusted(why: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases that need other users, with the texts of all languages.
    #[test]
    fn distrusts_as_the_vectors_say() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../../../vectors/limit_folder.json")).unwrap();
        let cases = file["permissions"].as_array().unwrap();
        for case in cases {
            let number = |key: &str| case[key].as_u64().unwrap() as u32;
            let mode = u32::from_str_radix(case["mode"].as_str().unwrap(), 8).unwrap();
            let found = Found { user: number("owner"), group: number("of"), mode };
            let group = case["group"].as_u64().map(|group| group as u32);
            assert_eq!(distrust_of_folder(found, number("user"), group).as_deref(), case["refused"].as_str(), "{case}");
        }
        assert!(cases.len() >= 10);
    }
}
