//! The folder that results are written to: claimed before anything is run, filled at the end, never half.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fanin_spec::{RunSpec, RunTables};
use sha2::{Digest, Sha256};

use crate::paper::{Reproduced, Scorecard};
use crate::tables::Table;
use crate::{Outcome, Report, Summary};

/// Why a folder cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {what}", path = path.display())]
pub struct Refusal {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// What `manifest.json` says besides: enough to do it again.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The version of the program.
    pub version: String,
    /// The command's arguments, without the program's name.
    pub arguments: Vec<String>,
    /// The scenario's text as it was read.
    pub scenario_text: String,
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

/// A folder for results. Until [`Out::fill`] there is only an empty subfolder in it; dropped before that, it takes
/// back what it created.
#[derive(Debug)]
pub struct Out {
    folder: PathBuf,
    /// Where files are written before they are moved into `folder`.
    draft: PathBuf,
    /// Folders that were not there, outermost first.
    created: Vec<PathBuf>,
}

const DRAFT: &str = ".unfinished";

impl Out {
    /// Claims a folder: creates it, with its parents, and shows that it can be written to.
    ///
    /// # Errors
    /// A folder that holds something, or that cannot be written to.
    pub fn claim(folder: &Path) -> Result<Out, Refusal> {
        let refuse = |what: String| Refusal { path: folder.into(), what };
        let unwritable =
            |error: io::Error| refuse(format!("cannot be written to ({error}); give a folder that can be"));
        match fs::read_dir(folder) {
            Ok(mut entries) => {
                if let Some(first) = entries.next() {
                    let name = first.map(|e| e.file_name().to_string_lossy().into_owned()).unwrap_or_default();
                    return Err(refuse(format!("holds `{name}` already; give a new or an empty folder")));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(refuse("is not a folder; give a new or an empty one".into()));
            }
            Err(error) => return Err(unwritable(error)),
        }
        let missing = folder.ancestors().filter(|a| !a.as_os_str().is_empty()).take_while(|a| !a.exists());
        let mut created: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        created.reverse();
        let out = Out { folder: folder.into(), draft: folder.join(DRAFT), created };
        fs::create_dir_all(&out.draft).map_err(unwritable)?;
        Ok(out)
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
            out.write_table(&reproduced.table(), names)?;
            fs::write(out.draft.join("report.html"), reproduced.html(card))?;
            names.push("report.html".into());
            names.push("scorecard.json".into());
            fs::write(out.draft.join("scorecard.json"), format!("{}\n", serde_json::to_string_pretty(card)?))
        })
    }

    /// Has files written into the draft, then moves them into the folder.
    fn publish(self, write: impl FnOnce(&Out, &mut Vec<String>) -> io::Result<()>) -> Result<(), Refusal> {
        let mut names = Vec::new();
        write(&self, &mut names)
            .and_then(|()| names.iter().try_for_each(|n| fs::rename(self.draft.join(n), self.folder.join(n))))
            .map_err(|error| {
                for name in &names {
                    // What was moved goes again; what was not is in the draft, which goes when `self` is dropped.
                    let _ = fs::remove_file(self.folder.join(name));
                }
                Refusal { path: self.folder.clone(), what: format!("the results could not be written: {error}") }
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
        let runs: Vec<(&RunSpec, &RunTables)> = specs
            .iter()
            .zip(&outcome.runs)
            .filter_map(|(spec, done)| done.as_ref().map(|done| (spec, &done.tables)))
            .collect();
        let mut tables = vec![
            Table::of_summary(&summary.rows),
            Table::of_slowdowns(&summary.rows),
            Table::of_runs(&runs, |t| &t.flows),
            Table::of_runs(&runs, |t| &t.queries),
            Table::of_runs(&runs, |t| &t.ports),
        ];
        if runs.iter().any(|(_, tables)| !tables.tasks.is_empty()) {
            tables.push(Table::of_runs(&runs, |t| &t.tasks));
        }
        if runs.iter().any(|(_, tables)| !tables.service.is_empty()) {
            tables.push(Table::of_runs(&runs, |t| &t.service));
        }
        if runs.iter().any(|(_, tables)| !tables.latency.is_empty()) {
            tables.push(Table::of_runs(&runs, |t| &t.latency));
        }
        if runs.iter().any(|(_, tables)| !tables.port_series.is_empty()) {
            tables.push(Table::of_runs(&runs, |t| &t.port_series));
        }
        if let Beside::Series = beside {
            tables.push(Table::of_runs(&runs, |t| &t.samples));
            tables.push(Table::of_runs(&runs, |t| &t.events));
        }
        for table in &tables {
            self.write_table(table, names)?;
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
            "scenario_sha256": digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            "hash": summary.hash,
            "runs_planned": specs.len(),
            "runs_finished": runs.len(),
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

impl Drop for Out {
    fn drop(&mut self) {
        // Clearing up is all that can be done here: a folder that is not empty stays.
        let _ = fs::remove_dir_all(&self.draft);
        for folder in self.created.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}
