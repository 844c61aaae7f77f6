//! Rollout: the planner's side of a folder with plans. It replaces the plan when all front ends have carried out the last one, and leads
//! them from stage to stage. They never differ by more than one stage: the next one is written when all have settled in the last.
//!
//! Front ends write their progress into the same folder ([`progress`](super::progress)), so nothing else connects both. A planner that was
//! killed continues from the files: a new plan is complete in `next/` before any file of the last one is replaced.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fanin_plan_files::{placement, plan};
use serde_json::Value;

use super::Stage;
use super::plan::{InvalidPlan, STAGE, stage};
use super::progress::{FrontEndProgress, of_front_ends, write};

/// Folder of a plan that is about to replace the current one.
const NEXT: &str = "next";
/// The planner's own file, which is replaced together with the plan.
const MEMORY: &str = "planner.json";
/// Lock against a second planner.
const LOCK: &str = "planner.lock";

/// A folder of plans, as its planner sees it.
#[derive(Debug)]
pub struct Rollout {
    folder: PathBuf,
    digest: String,
    /// Whether the plan names no key.
    is_empty: bool,
    stage: Stage,
    /// When this process first saw the stage.
    since: Instant,
    /// Time for copies, in `move`.
    moving: Duration,
    /// Held as long as this exists.
    _lock: File,
}

/// Progress of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// No front end has begun a plan of this folder.
    Unused,
    /// All front ends have carried out the plan.
    Done,
    /// Some are still on their way, to this stage. Those that have not settled in it are named.
    Underway(Stage, Vec<String>),
}

impl Rollout {
    /// Takes over a folder. One without a plan gets an empty one with this description, with which front ends can start.
    /// Stage `move` of later plans takes at least `moving`.
    ///
    /// # Errors
    /// Another planner uses the folder; it has an invalid plan; or its files cannot be written.
    pub fn take_over(
        folder: &Path,
        moving: Duration,
        description: &Value,
        now: Instant,
    ) -> Result<Rollout, InvalidPlan> {
        let unfit = |path: &Path, what: String| InvalidPlan { path: path.to_owned(), what };
        let failed = |error: io::Error| unfit(folder, error.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let lock = File::create(folder.join(LOCK)).map_err(failed)?;
        lock.try_lock().map_err(|_| unfit(folder, "another planner uses this folder; stop it first".to_owned()))?;
        let next = folder.join(NEXT);
        if next.join(plan::FILE).exists() {
            install(folder).map_err(failed)?;
        } else if next.exists() {
            fs::remove_dir_all(&next).map_err(failed)?;
        }
        if !folder.join(plan::FILE).exists() {
            prepare(folder, description, b"", |path| placement::Writer::create(path)?.finish()).map_err(failed)?;
            install(folder).map_err(failed)?;
        }
        let path = folder.join(plan::FILE);
        let file = plan::PlanFile::read(&path).map_err(|error| unfit(&path, error.into()))?;
        let digest = file.digest.ok_or_else(|| unfit(&path, format!("it has no digest of {}", placement::FILE)))?;
        let is_empty = placement::is_empty(&folder.join(placement::FILE)).map_err(failed)?;
        if !is_empty && !folder.join(MEMORY).exists() {
            return Err(unfit(&path, "the plan is not a planner's; use a new folder".to_owned()));
        }
        let stage = stage(folder)?.unwrap_or(Stage::Begin);
        Ok(Rollout { folder: folder.to_owned(), digest, is_empty, stage, since: now, moving, _lock: lock })
    }

    /// The planner's memory as of the last call of [`replace`](Self::replace) or [`remember`](Self::remember), if there was one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn memory(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(MEMORY)) {
            Ok(memory) if memory.is_empty() => Ok(None),
            Ok(memory) => Ok(Some(memory)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the planner's memory, after a period without a new plan.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remember(&self, memory: &[u8]) -> io::Result<()> {
        write(&self.folder.join(MEMORY), memory)
    }

    /// Replaces the plan, which is done. `fill` writes `placement.csv` and returns its digest; `plan.json` gets the description.
    ///
    /// # Errors
    /// The files cannot be written; the current plan then stays.
    pub fn replace(
        &mut self,
        description: &Value,
        memory: &[u8],
        now: Instant,
        fill: impl FnOnce(&Path) -> io::Result<String>,
    ) -> io::Result<()> {
        self.digest = prepare(&self.folder, description, memory, fill)?;
        install(&self.folder)?;
        self.is_empty = placement::is_empty(&self.folder.join(placement::FILE))?;
        (self.stage, self.since) = (Stage::Begin, now);
        Ok(())
    }

    /// Writes the next stage if all front ends have settled in the current one; returns the progress.
    ///
    /// # Errors
    /// A front end's files are damaged, or the stage cannot be written.
    pub fn step(&mut self, now: Instant) -> Result<Status, InvalidPlan> {
        let front_ends = of_front_ends(&self.folder)?;
        if front_ends.is_empty() {
            return Ok(Status::Unused);
        }
        let has_settled = |of: &FrontEndProgress| of.digest == self.digest && of.stage == self.stage && of.settled;
        let late: Vec<String> = front_ends.into_iter().filter(|of| !has_settled(of)).map(|of| of.name).collect();
        let failed = |error: io::Error| InvalidPlan { path: self.folder.clone(), what: error.to_string() };
        // The empty plan moves nothing, and further front ends can start in its first stage.
        if late.is_empty() && (self.stage == Stage::Over || self.is_empty) {
            return Ok(Status::Done);
        }
        let holds = self.stage == Stage::Move && now.duration_since(self.since) < self.moving;
        if late.is_empty() && !holds {
            let next = Stage::WORDS[self.stage as usize + 1].1;
            write(&self.folder.join(STAGE), next.word().as_bytes()).map_err(failed)?;
            (self.stage, self.since) = (next, now);
        }
        Ok(Status::Underway(self.stage, late))
    }
}

/// Writes a plan into `next/`, its description last; returns its digest.
fn prepare(
    folder: &Path,
    description: &Value,
    memory: &[u8],
    fill: impl FnOnce(&Path) -> io::Result<String>,
) -> io::Result<String> {
    let next = folder.join(NEXT);
    if next.exists() {
        fs::remove_dir_all(&next)?;
    }
    DirBuilder::new().mode(0o700).create(&next)?;
    let digest = fill(&next.join(placement::FILE))?;
    File::open(next.join(placement::FILE))?.sync_all()?;
    write(&next.join(MEMORY), memory)?;
    let description = plan::text(description, &digest)?;
    write(&next.join(plan::FILE), description.as_bytes())?;
    Ok(digest)
}

/// Moves the files of `next/` to their places, `plan.json` last; goes on after an interruption.
fn install(folder: &Path) -> io::Result<()> {
    let next = folder.join(NEXT);
    // Front ends refuse a new plan in any other stage.
    write(&folder.join(STAGE), Stage::Begin.word().as_bytes())?;
    for name in [MEMORY, placement::FILE, plan::FILE] {
        match fs::rename(next.join(name), folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir_all(&next)?;
    File::open(folder)?.sync_all()
}
