//! The folder that results are written to: claimed before anything is run, filled at the end, never half.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fanin_lab::{Manifest, Outcome, Summary};
use fanin_papers::{Reproduced, Scorecard};
use fanin_report::Report;
use fanin_spec::RunSpec;
use sha2::{Digest, Sha256};

use crate::advice::Advice;
use crate::cleanup::Cleanup;
use crate::lies;
use crate::tables::{Table, Tables};

/// Why a folder cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {what}", path = path.display())]
pub struct Refusal {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// What is written beside the summary and the tables that every run gives.
#[derive(Clone, Copy, Debug)]
pub enum Beside<'a> {
    /// Nothing.
    Nothing,
    /// The report.
    Report(&'a Report),
    /// The series and events of watched runs.
    Series,
}

/// A folder for results, this process's alone. Until [`Out::fill`] there is only a subfolder in it; dropped before that, or
/// cleaned up on a signal, it takes back what it created. What a killed process left there is taken over.
#[derive(Debug)]
pub struct Out {
    folder: PathBuf,
    /// Where files are written before they are moved into `folder`.
    draft: PathBuf,
    /// Takes the draft back; before the lock goes.
    _cleanup: Cleanup,
    /// Locked while the folder is ours; holds the names of files that are being moved out of the draft.
    lock: File,
}

const DRAFT: &str = ".unfinished";
const LOCK: &str = "lock";

impl Out {
    /// Claims a folder: creates it, with its parents, and shows that it can be written to.
    ///
    /// # Errors
    /// A folder that holds something, that another process writes to, or that cannot be written to.
    pub fn claim(folder: &Path) -> Result<Out, Refusal> {
        let refuse = |what: String| Refusal { path: folder.into(), what };
        let unwritable =
            |error: io::Error| refuse(format!("cannot be written to ({error}); give a folder that can be"));
        let draft = folder.join(DRAFT);
        let held = |what: Option<String>| match what {
            Some(name) => Err(refuse(format!("holds `{name}` already; give a new or an empty folder"))),
            None => Ok(()),
        };
        match fs::read_dir(folder) {
            // Files beside a draft may be its own: that is known once it is locked.
            Ok(_) if draft.join(LOCK).is_file() => {}
            Ok(_) => held(stranger(folder).map_err(unwritable)?)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(refuse("is not a folder; give a new or an empty one".into()));
            }
            Err(error) => return Err(unwritable(error)),
        }
        let missing = folder.ancestors().filter(|a| !a.as_os_str().is_empty()).take_while(|a| !a.exists());
        let created: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        let claimed = Cleanup::of(
            || locked(&draft),
            |_| {
                let folder = folder.to_path_buf();
                Box::new(move || take_back(&folder, &created))
            },
        );
        let (lock, cleanup) = claimed.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                refuse("is being written to by another fanin; wait for its end, or give another folder".into())
            }
            _ => unwritable(error),
        })?;
        take_out(folder);
        held(stranger(folder).map_err(unwritable)?)?;
        Ok(Out { folder: folder.into(), draft, _cleanup: cleanup, lock })
    }

    /// Writes the summary, every table of the finished runs, what is asked for beside them, and `manifest.json`; the
    /// manifest comes last, so that its presence says that the rest is whole.
    ///
    /// # Errors
    /// What the file system says; the folder is then as it was.
    pub fn fill(
        self,
        manifest: &Manifest,
        summary: &Summary,
        specs: &[RunSpec],
        outcome: &Outcome,
        beside: Beside,
    ) -> Result<(), Refusal> {
        self.publish(|out, names| out.write(manifest, summary, specs, outcome, beside, names))
    }

    /// Writes a scorecard, the curves behind it and its report; the scorecard comes last, so that its presence says that
    /// the rest is whole.
    ///
    /// # Errors
    /// What the file system says; the folder is then as it was.
    pub fn fill_scorecard(self, reproduced: &Reproduced, card: &Scorecard) -> Result<(), Refusal> {
        self.publish(|out, names| {
            out.write_table(&Table::of_curves(&reproduced.curve_rows()), names)?;
            fs::write(out.draft.join("report.html"), reproduced.html(card))?;
            names.push("report.html".into());
            names.push("scorecard.json".into());
            fs::write(out.draft.join("scorecard.json"), format!("{}\n", serde_json::to_string_pretty(card)?))
        })
    }

    /// Writes files by their names, the last of which says that the rest is whole.
    ///
    /// # Errors
    /// What the file system says; the folder is then as it was.
    pub fn fill_files(self, files: &[(&str, String)]) -> Result<(), Refusal> {
        self.publish(|out, names| {
            for (name, text) in files {
                names.push((*name).into());
                fs::write(out.draft.join(name), text)?;
            }
            Ok(())
        })
    }

    /// Writes a plan: its moves, how many servers queries ask, a picture of that, and `plan.json`, which comes last.
    ///
    /// # Errors
    /// What the file system says; the folder is then as it was.
    pub fn fill_plan(self, advice: &Advice, object: &serde_json::Value) -> Result<(), Refusal> {
        self.publish(|out, names| {
            out.write_table(&Table::of_moves(advice), names)?;
            out.write_table(&Table::of_servers(advice), names)?;
            fs::write(out.draft.join("servers.svg"), advice.picture())?;
            names.push("servers.svg".into());
            let digest = lies::write(&out.draft.join(lies::NAME), advice)?;
            // By which whoever carries the plan out knows that it has all of it.
            let mut object = object.clone();
            object["placement_sha256"] = digest.into();
            names.push(lies::NAME.into());
            names.push("plan.json".into());
            fs::write(out.draft.join("plan.json"), format!("{}\n", serde_json::to_string_pretty(&object)?))
        })
    }

    /// Has files written into the draft, then moves them into the folder. What is dropped before the last one is there goes
    /// again, with those that were moved.
    fn publish(mut self, write: impl FnOnce(&Out, &mut Vec<String>) -> io::Result<()>) -> Result<(), Refusal> {
        let mut names = Vec::new();
        write(&self, &mut names)
            .and_then(|()| self.lock.write_all(names.join("\n").as_bytes()))
            .and_then(|()| names.iter().try_for_each(|n| fs::rename(self.draft.join(n), self.folder.join(n))))
            .map_err(|error| Refusal {
                path: self.folder.clone(),
                what: format!("the results could not be written: {error}"),
            })
    }

    fn write(
        &self,
        manifest: &Manifest,
        summary: &Summary,
        specs: &[RunSpec],
        outcome: &Outcome,
        beside: Beside,
        names: &mut Vec<String>,
    ) -> io::Result<()> {
        let tables = Tables::of(summary, specs, outcome, matches!(beside, Beside::Series));
        for (_, table) in tables.made() {
            self.write_table(&table(), names)?;
        }
        if let Beside::Report(report) = beside {
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
            "runs_planned": specs.len(),
            "runs_finished": tables.runs(),
        });
        names.push("manifest.json".into());
        fs::write(self.draft.join("manifest.json"), format!("{text:#}\n"))
    }

    fn write_table(&self, table: &Table, names: &mut Vec<String>) -> io::Result<()> {
        for (ending, write) in [("csv", Table::write_csv as fn(&Table, &Path) -> _), ("parquet", Table::write_parquet)]
        {
            let name = format!("{}.{ending}", table.name);
            write(table, &self.draft.join(&name))?;
            names.push(name);
        }
        Ok(())
    }
}

/// What a folder holds besides a draft that was made here: its first entry.
fn stranger(folder: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let draft = folder.join(DRAFT);
        let ours =
            name == DRAFT && (draft.join(LOCK).is_file() || fs::read_dir(&draft).is_ok_and(|mut d| d.next().is_none()));
        if !ours {
            return Ok(Some(name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// Creates a draft, unless one was left, and locks it. The kernel unlocks it however this process ends.
fn locked(draft: &Path) -> io::Result<File> {
    let path = draft.join(LOCK);
    loop {
        fs::create_dir_all(draft)?;
        let lock = File::options().read(true).append(true).create(true).open(&path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            // Not every file system has locks; without, it is as safe as it can be.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its last owner may have removed it meanwhile.
        if fs::metadata(&path).is_ok_and(|there| lock.metadata().is_ok_and(|ours| ours.ino() == there.ino())) {
            return Ok(lock);
        }
    }
}

/// Empties a draft of what a killed process left there, and the folder of what it had moved into it, unless that was all.
fn take_out(folder: &Path) {
    let draft = folder.join(DRAFT);
    let names = fs::read_to_string(draft.join(LOCK)).unwrap_or_default();
    let whole = names.lines().all(|name| !draft.join(name).exists());
    // What cannot be removed is found to be in the way.
    for name in names.lines().filter(|_| !whole) {
        let _ = fs::remove_file(folder.join(name));
    }
    for left in fs::read_dir(&draft).into_iter().flatten().flatten().filter(|left| left.file_name() != LOCK) {
        let _ = fs::remove_file(left.path());
    }
    // An empty list: nothing of it is being moved.
    let _ = File::options().write(true).truncate(true).open(draft.join(LOCK));
}

/// Removes the draft, what was moved out of it where not all was, and the folders that were created, innermost first. Clearing
/// up is all that can be done here: a folder that is not empty stays.
fn take_back(folder: &Path, created: &[PathBuf]) {
    take_out(folder);
    // Where a signal ends the program, its other thread may still put files there: some two dozen at most.
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
