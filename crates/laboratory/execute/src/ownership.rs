//! Ownership of folders. The program trusts and deletes contents of a folder only if no other user could have created them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use nix::unistd::{getegid, geteuid};

/// Why another user could have put files into a folder, and how to fix it; `None` if only the caller and root could.
pub(crate) fn distrust(folder: &Metadata) -> Option<String> {
    let (owner, user) = (folder.uid(), geteuid().as_raw());
    if owner != user {
        return Some(format!("belongs to user {owner}, but you are user {user}; use a folder of your own"));
    }
    // Many systems give each user a private group and make new folders group-writable.
    let others = if folder.gid() == getegid().as_raw() { 0o002 } else { 0o022 };
    (folder.mode() & others != 0)
        .then(|| "is writable by other users; run `chmod go-w` on it, or use another folder".into())
}

/// Whether the caller owns a file or folder.
pub(crate) fn is_own(there: &Metadata) -> bool {
    there.uid() == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::path::Path;

    use super::*;

    fn distrusted(folder: &Path) -> bool {
        distrust(&fs::metadata(folder).unwrap()).is_some()
    }

    #[test]
    fn distrusts_folders_that_others_can_write_to() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, expected) in [(0o700, false), (0o755, false), (0o775, false), (0o777, true), (0o1777, true)] {
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            assert_eq!(distrusted(folder.path()), expected, "{mode:o}");
        }
    }

    #[test]
    fn distrusts_folders_of_other_users_and_groups() {
        let folder = tempfile::tempdir().unwrap();
        if chown(folder.path(), None, Some(54_321)).is_err() {
            println!("skipped: only root can give a folder to another group or user");
            return;
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert!(!distrusted(folder.path()));
        fs::set_permissions(&folder, Permissions::from_mode(0o775)).unwrap();
        assert!(distrusted(folder.path()));
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        chown(folder.path(), Some(54_321), None).unwrap();
        assert!(distrusted(folder.path()));
    }
}
