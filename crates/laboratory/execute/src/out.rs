//! Output folder: claimed before any run, filled at the end, never half-written.

use std::fs::{self, DirBuilder, DirEntry, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use fanin_lab::{Manifest, Runs, Summary};
use fanin_papers::{Reproduced, Scorecard};
use fanin_plan::{PlacementPlan, write_placement};
use fanin_plan_files::{placement, plan as plan_file};
use fanin_report::Report;
use nix::libc::O_NOFOLLOW;
use sha2::{Digest, Sha256};

use crate::cleanup::Cleanup;
use crate::ownership;
use crate::tables::{Table, Tables};

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {what}", path = path.display())]
pub struct Refusal {
    /// The folder.
    pub path: PathBuf,
    /// The error, with its remedy.
    pub what: String,
}

/// Files in addition to the summary and tables.
#[derive(Clone, Copy, Debug)]
pub enum ExtraFiles<'a> {
    /// Nothing.
    Nothing,
    /// The report.
    Report(&'a Report),
    /// Series and events of watched runs.
    Series,
}

/// An output folder, owned by this process. It contains only a draft subfolder until [`Out::fill`]. Dropping it before that, or a
/// signal, removes everything that it created. It takes over drafts of killed processes.
#[derive(Debug)]
pub struct Out {
    folder: PathBuf,
    /// Folder for files before they are moved into `folder`.
    draft: PathBuf,
    /// Removes the draft; dropped before the lock.
    _cleanup: Cleanup,
    /// Locked while in use; lists the files that are being moved out of the draft.
    lock: File,
}

const DRAFT: &str = ".unfinished";
const LOCK: &str = "lock";

impl Out {
    /// Claims a folder: creates it with its parents, and checks that it is writable.
    ///
    /// # Errors
    /// A folder that is not empty, that others can write to, that another process uses, or that is not writable.
    pub fn claim(folder: &Path) -> Result<Out, Refusal> {
        let refuse = |what: String| Refusal { path: folder.into(), what };
        let unwritable = |error: io::Error| refuse(format!("is not writable ({error}); use another folder"));
        let draft = folder.join(DRAFT);
        let held = |what: Option<String>| match what {
            Some(name) => Err(refuse(format!("contains `{name}`; use a new or empty folder"))),
            None => Ok(()),
        };
        match fs::metadata(folder) {
            Ok(there) if !there.is_dir() => return Err(refuse("is not a folder; use a new or empty folder".into())),
            Ok(there) => {
                ownership::distrust(&there).map_or(Ok(()), |why| Err(refuse(why)))?;
                // Files next to a draft may be its own, which is known once it is locked.
                if !is_draft(&draft) {
                    held(stranger(folder).map_err(unwritable)?)?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(refuse("is not a folder; use a new or empty folder".into()));
            }
            Err(error) => return Err(unwritable(error)),
        }
        let missing = folder.ancestors().filter(|a| !a.as_os_str().is_empty()).take_while(|a| !a.exists());
        let created: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        let claimed = Cleanup::of(
            || locked(folder, &draft),
            |_| {
                let folder = folder.to_path_buf();
                Box::new(move || take_back(&folder, &created))
            },
        );
        let (lock, cleanup) = claimed.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                refuse("is in use by another fanin process; wait for it to end, or use another folder".into())
            }
            _ => unwritable(error),
        })?;
        take_out(folder);
        held(stranger(folder).map_err(unwritable)?)?;
        Ok(Out { folder: folder.into(), draft, _cleanup: cleanup, lock })
    }

    /// Writes the summary, the tables of all finished runs, the extra files, other files by their paths, and `manifest.json`, which
    /// comes last and marks the folder as complete.
    ///
    /// # Errors
    /// Errors of the file system; the folder is then unchanged.
    pub fn fill(
        self,
        manifest: &Manifest,
        summary: &Summary,
        runs: Runs<'_>,
        beside: ExtraFiles,
        files: &[(String, String)],
    ) -> Result<(), Refusal> {
        self.publish(|out, names| {
            out.write_files(files, names)?;
            out.write(manifest, summary, runs, beside, names)
        })
    }

    /// Writes a scorecard, its curves and its report; the scorecard comes last and marks the folder as complete.
    ///
    /// # Errors
    /// Errors of the file system; the folder is then unchanged.
    pub fn fill_scorecard(self, reproduced: &Reproduced, card: &Scorecard) -> Result<(), Refusal> {
        self.publish(|out, names| {
            out.write_table(&Table::of_curves(&reproduced.curve_rows()), names)?;
            fs::write(out.draft.join("report.html"), reproduced.html(card))?;
            names.push("report.html".into());
            names.push("scorecard.json".into());
            fs::write(out.draft.join("scorecard.json"), format!("{}\n", serde_json::to_string_pretty(card)?))
        })
    }

    /// Writes files by name; the last one marks the folder as complete.
    ///
    /// # Errors
    /// Errors of the file system; the folder is then unchanged.
    pub fn fill_files(self, files: &[(String, String)]) -> Result<(), Refusal> {
        self.publish(|out, names| out.write_files(files, names))
    }

    /// Writes files by path; a subfolder is moved as a whole. Scripts are executable.
    fn write_files(&self, files: &[(String, String)], names: &mut Vec<String>) -> io::Result<()> {
        for (path, text) in files {
            let file = self.draft.join(path);
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&file, text)?;
            if text.starts_with("#!") {
                fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
            }
            let name = path.split('/').next().unwrap_or(path);
            if !names.iter().any(|known| known == name) {
                names.push(name.into());
            }
        }
        Ok(())
    }

    /// Writes a plan: its moves, the distribution of servers per query, a picture of it, and `plan.json`, which comes last.
    ///
    /// # Errors
    /// Errors of the file system; the folder is then unchanged.
    pub fn fill_plan(self, plan: &PlacementPlan, object: &serde_json::Value) -> Result<(), Refusal> {
        self.publish(|out, names| {
            out.write_table(&Table::of_moves(plan), names)?;
            out.write_table(&Table::of_servers(plan), names)?;
            fs::write(out.draft.join("servers.svg"), plan.picture())?;
            names.push("servers.svg".into());
            let digest = write_placement(&out.draft.join(placement::FILE), plan)?;
            names.extend([placement::FILE, plan_file::FILE].map(String::from));
            plan_file::write(&out.draft.join(plan_file::FILE), object, &digest)
        })
    }

    /// Writes files into the draft, then moves them into the folder. On failure, removes all of them again.
    fn publish(mut self, write: impl FnOnce(&Out, &mut Vec<String>) -> io::Result<()>) -> Result<(), Refusal> {
        let mut names = Vec::new();
        write(&self, &mut names)
            .and_then(|()| self.list(&names))
            .and_then(|()| names.iter().try_for_each(|n| fs::rename(self.draft.join(n), self.folder.join(n))))
            .map_err(|error| Refusal { path: self.folder.clone(), what: format!("cannot write results: {error}") })
    }

    /// Lists the files that are about to be moved, so that a cleanup can identify them.
    fn list(&mut self, names: &[String]) -> io::Result<()> {
        let mut list = String::new();
        for name in names {
            list += &format!("{} {name}\n", fs::symlink_metadata(self.draft.join(name))?.ino());
        }
        self.lock.write_all(list.as_bytes())
    }

    fn write(
        &self,
        manifest: &Manifest,
        summary: &Summary,
        runs: Runs<'_>,
        beside: ExtraFiles,
        names: &mut Vec<String>,
    ) -> io::Result<()> {
        let tables = Tables::of(summary, runs, matches!(beside, ExtraFiles::Series));
        for (_, table) in tables.made() {
            self.write_table(&table(), names)?;
        }
        if let ExtraFiles::Report(report) = beside {
            fs::write(self.draft.join("report.html"), report.html())?;
            names.push("report.html".into());
        }
        let digest = Sha256::digest(&manifest.scenario_text);
        let text = serde_json::json!({
            "schema": 1,
            "fanin": manifest.version,
            "arguments": manifest.arguments,
            "scenario": summary.scenario,
            "scenario_sha256": hex::encode(digest),
            "hash": summary.hash,
            "runs_planned": runs.specs.len(),
            "runs_finished": tables.runs(),
        });
        names.push("manifest.json".into());
        fs::write(self.draft.join("manifest.json"), format!("{text:#}\n"))
    }

    fn write_table(&self, table: &Table, names: &mut Vec<String>) -> io::Result<()> {
        for (ending, write) in Table::FORMATS {
            let name = format!("{}.{ending}", table.name);
            write(table, &self.draft.join(&name))?;
            names.push(name);
        }
        Ok(())
    }
}

/// The first entry of a folder other than a draft of this program.
fn stranger(folder: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name != DRAFT || !is_draft(&folder.join(DRAFT)) {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// Whether this user's program made a draft: a private folder, unlike any clone of a repository, with only regular files and folders.
fn is_draft(draft: &Path) -> bool {
    let ours = |there: &Metadata| ownership::is_own(there) && there.mode() & 0o077 == 0;
    let plain = |entry: io::Result<DirEntry>| match entry.and_then(|entry| entry.metadata()) {
        Ok(there) => there.is_file() || there.is_dir(),
        // Its owner is just removing it.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    fs::symlink_metadata(draft).is_ok_and(|there| there.is_dir() && ours(&there))
        && fs::read_dir(draft).is_ok_and(|mut entries| entries.all(plain))
}

/// Creates a draft or reuses one, and locks it. The kernel unlocks it at the process's end.
fn locked(folder: &Path, draft: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    loop {
        match DirBuilder::new().mode(0o700).create(draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_draft(draft) => {}
            made => made?,
        }
        let lock = match opened(draft, OpenOptions::new().append(true).create(true)) {
            // Its last owner has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            lock => lock?,
        };
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            // Some file systems have no locks; continue without.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its last owner may have just removed it.
        if fs::symlink_metadata(draft.join(LOCK))
            .is_ok_and(|there| lock.metadata().is_ok_and(|ours| ours.ino() == there.ino()))
        {
            return Ok(lock);
        }
    }
}
/// Opens a draft's lock file, not following links.
fn opened(draft: &Path, how: &mut OpenOptions) -> io::Result<File> {
    how.read(true).custom_flags(O_NOFOLLOW).open(draft.join(LOCK))
}

/// Empties a draft that a killed process left, and removes the files that it had moved into the folder unless it had moved all. Trusts a
/// listed name only if it is a file in this folder with the listed inode.
fn take_out(folder: &Path) {
    let draft = folder.join(DRAFT);
    let Ok(mut lock) = opened(&draft, OpenOptions::new().write(true)) else { return };
    let mut list = String::new();
    // An unreadable list is empty.
    let _ = lock.read_to_string(&mut list);
    let listed: Vec<(u64, &str)> = list.lines().filter_map(listed).collect();
    let whole = listed.iter().all(|(_, name)| !draft.join(name).exists());
    for (number, name) in listed.into_iter().filter(|_| !whole) {
        let path = folder.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|there| there.ino() == number) {
            remove(&path);
        }
    }
    for left in fs::read_dir(&draft).into_iter().flatten().flatten().filter(|left| left.file_name() != LOCK) {
        remove(&left.path());
    }
    // An empty list: no files are being moved.
    let _ = lock.set_len(0);
}

/// An entry of the list: an inode and a name, which is a single path component.
fn listed(line: &str) -> Option<(u64, &str)> {
    let (number, name) = line.split_once(' ')?;
    let mut parts = Path::new(name).components();
    let one = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    one.then_some((number.parse().ok()?, name))
}

/// Removes a regular file or a folder, ignoring errors.
fn remove(path: &Path) {
    let _ = match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path),
        Ok(there) if there.is_file() => fs::remove_file(path),
        _ => Ok(()),
    };
}

/// Removes the draft, an incomplete set of moved files, and the created folders, innermost first. Folders that are not empty stay.
fn take_back(folder: &Path, created: &[PathBuf]) {
    take_out(folder);
    // After a signal, another thread may still add a few files.
    for _ in 0..100 {
        match fs::remove_dir_all(folder.join(DRAFT)) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => break,
        }
    }
    for folder in created {
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder whose process was killed after it moved `one` and before it moved `two`.
    fn killed(top: &Path) -> PathBuf {
        let folder = top.join("results");
        let mut out = Out::claim(&folder).unwrap();
        let names = ["one", "two"].map(str::to_string);
        names.iter().for_each(|name| fs::write(out.draft.join(name), name).unwrap());
        out.list(&names).unwrap();
        fs::rename(out.draft.join("one"), folder.join("one")).unwrap();
        // After a kill, the lock is released and nothing is cleaned up.
        let Out { _cleanup: cleanup, .. } = out;
        cleanup.keep();
        folder
    }

    #[test]
    fn takes_over_files_of_a_killed_process() {
        let top = tempfile::tempdir().unwrap();
        let folder = killed(top.path());
        let out = Out::claim(&folder).unwrap();
        assert!(!folder.join("one").exists() && !out.draft.join("two").exists());
        drop(out);
        assert!(folder.exists() && fs::read_dir(&folder).unwrap().next().is_none());
    }

    #[test]
    fn keeps_another_file_with_a_listed_name() {
        let top = tempfile::tempdir().unwrap();
        let folder = killed(top.path());
        let mine = folder.join("mine");
        fs::write(&mine, "mine").unwrap();
        fs::rename(&mine, folder.join("one")).unwrap();
        assert!(Out::claim(&folder).unwrap_err().to_string().contains("contains `one`;"));
        assert_eq!(fs::read_to_string(folder.join("one")).unwrap(), "mine");
    }

    #[test]
    fn ignores_listed_names_outside_the_folder() {
        let top = tempfile::tempdir().unwrap();
        let [victim, folder] = ["victim", "results"].map(|name| top.path().join(name));
        fs::write(&victim, "precious").unwrap();
        let number = fs::metadata(&victim).unwrap().ino();
        for name in ["../victim", "../results/../victim", victim.to_str().unwrap()] {
            for line in [name.to_string(), format!("{number} {name}")] {
                let draft = folder.join(DRAFT);
                fs::create_dir_all(&draft).unwrap();
                fs::set_permissions(&draft, Permissions::from_mode(0o700)).unwrap();
                fs::write(draft.join(LOCK), format!("{line}\nmissing\n{number} missing\n")).unwrap();
                fs::write(draft.join("missing"), "").unwrap();
                drop(Out::claim(&folder));
                assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{line}");
            }
        }
    }

    #[test]
    fn follows_no_links() {
        let top = tempfile::tempdir().unwrap();
        let [theirs, folder] = ["theirs", "results"].map(|name| top.path().join(name));
        let draft = folder.join(DRAFT);
        fs::create_dir_all(&theirs).unwrap();
        for name in [LOCK, "data"] {
            fs::write(theirs.join(name), "precious").unwrap();
        }
        fs::set_permissions(&theirs, Permissions::from_mode(0o700)).unwrap();
        fs::create_dir_all(&folder).unwrap();
        symlink(&theirs, &draft).unwrap();
        assert!(Out::claim(&folder).is_err());
        fs::remove_file(&draft).unwrap();
        fs::create_dir(&draft).unwrap();
        fs::set_permissions(&draft, Permissions::from_mode(0o700)).unwrap();
        symlink(theirs.join(LOCK), draft.join(LOCK)).unwrap();
        assert!(Out::claim(&folder).is_err());
        for name in [LOCK, "data"] {
            assert_eq!(fs::read_to_string(theirs.join(name)).unwrap(), "precious");
        }
    }

    #[test]
    fn refuses_folders_and_drafts_that_others_can_write_to() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("results");
        fs::create_dir(&folder).unwrap();
        let mode = |mode| fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        assert!(Out::claim(&folder).unwrap_err().to_string().contains("chmod go-w"));
        mode(0o755);
        drop(Out::claim(&folder).unwrap());
        fs::create_dir_all(folder.join(DRAFT)).unwrap();
        fs::set_permissions(folder.join(DRAFT), Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.join(DRAFT).join(LOCK), "").unwrap();
        assert!(Out::claim(&folder).unwrap_err().to_string().contains("contains `.unfinished`;"));
        assert!(folder.join(DRAFT).join(LOCK).exists());
    }
}
