//! `fanin plan --watch`: a planner beside front ends. After each period it plans from the rows that they have logged since the last one, and
//! leads them through the plan (PICC, section III).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use fanin::{CarriedOut, Error, Memory, Plan, Resolved, describe_empty_plan, write_placement};
use fanin_daemon::log::{FollowedLog, HEAD as LOG_HEAD};
use fanin_daemon::{Rollout, Status};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::figures::{bytes, clean, large, three};
use crate::planner::Watch;
use crate::stop::{STOP, listen};
use crate::terminal::say;
use crate::work::{Means, in_lab, warn};

/// Interval between looks at the logs and at the front ends' progress.
const LOOK: Duration = Duration::from_millis(250);
/// Subfolder with the rows of the current period.
const ROWS: &str = "period";
/// Seconds added to times, so that none is negative.
const ZERO: f64 = 1e6;

/// A folder that no other planner uses.
pub struct Folder(Rollout);

impl Folder {
    /// Takes over the folder; front ends can start with it from now on.
    pub fn take_over(folder: &Path, every: Duration, cluster: &Resolved) -> Result<Folder, Failure> {
        let description = describe_empty_plan(cluster)?;
        // Copies have half of a period, the other stages a few seconds.
        let rollout = Rollout::take_over(folder, every / 2, &description, clock());
        rollout.map(Folder).map_err(|unfit| Failure::Input(unfit.to_string()))
    }

    /// Plans, and leads the front ends through the plans, until a signal ends it.
    pub fn watch(self, watch: Watch<'_>) -> Result<(), Failure> {
        listen()?;
        let mut planner = Planner::new(watch, self.0)?;
        while !STOP.load(Relaxed) {
            thread::sleep(LOOK);
            planner.look(clock())?;
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "periods are real time")]
fn clock() -> Instant {
    Instant::now()
}

struct Planner<'a> {
    watch: Watch<'a>,
    rollout: Rollout,
    rows: Vec<Rows>,
    began: Instant,
    /// Number of the current period, from 1.
    period: u64,
    /// Whether a message about the current period's delay was printed.
    delayed: bool,
}

impl<'a> Planner<'a> {
    fn new(mut watch: Watch<'a>, rollout: Rollout) -> Result<Planner<'a>, Failure> {
        let unfit = |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", watch.folder.display()));
        let memory = match rollout.memory().map_err(|error| unfit(&error))? {
            Some(text) => Memory::of_text(&text).map_err(|error| unfit(&format!("planner.json: damaged ({error})")))?,
            None => Memory::default(),
        };
        watch.wish.memory = Some(Arc::new(memory));
        let folder = watch.folder.join(ROWS);
        fs::create_dir_all(&folder).map_err(|error| unfit(&error))?;
        let rows = watch.logs.iter().zip(1..).map(|(log, number)| Rows::new(log, &folder, number));
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(Planner { watch, rollout, rows, began: clock(), period: 1, delayed: false })
    }

    /// Reads new rows, leads the front ends on, and plans if a period is over.
    fn look(&mut self, now: Instant) -> Result<(), Failure> {
        for rows in &mut self.rows {
            rows.read(now.duration_since(self.began))?;
        }
        let status = self.rollout.step(now).map_err(|unfit| unfit.to_string());
        if now.duration_since(self.began) < self.watch.every {
            return Ok(());
        }
        match status {
            Ok(Status::Done) => {}
            late => {
                if !std::mem::replace(&mut self.delayed, true) {
                    self.report_delay(&late)?;
                }
                return Ok(());
            }
        }
        self.plan()?;
        self.rows.iter_mut().for_each(Rows::clear);
        (self.began, self.period, self.delayed) = (now, self.period + 1, false);
        Ok(())
    }

    /// Plans from the period's rows, and carries out the plan if it is recommended.
    fn plan(&mut self) -> Result<(), Failure> {
        let logs: Vec<PathBuf> = self.rows.iter_mut().filter_map(Rows::file).collect();
        if logs.is_empty() {
            return self.report("no requests", json!({"queries": 0}));
        }
        let means = Means { jobs: None, cached: false };
        let (reading, wish, cluster) = (self.watch.reading, &self.watch.wish, self.watch.cluster);
        let planned = in_lab(means, |lab, hear| match lab.plan(&logs, reading, wish, cluster, hear) {
            Err(Error::PlanningError(why)) => Ok(Err(why.to_string())),
            other => other.map(Ok),
        });
        match planned {
            Ok(Ok(plan)) => self.carry_out(plan),
            Ok(Err(why)) => self.report(&format!("no plan: {why}"), json!({"why": why})),
            Err(Failure::Stopped(_)) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    fn carry_out(&mut self, mut plan: Plan) -> Result<(), Failure> {
        let mut description = plan.to_json();
        let why = plan.why();
        let carried_out = match (plan.advice.undo(), plan.recommended()) {
            (true, _) => Some(CarriedOut::Undoing),
            (false, true) => Some(CarriedOut::Plan),
            (false, false) => None,
        };
        let advice = &plan.advice;
        let memory = advice.memory(carried_out).unwrap_or_default();
        let moves = advice.plan.moves.len() as u64;
        let [before, after] = &advice.effects;
        let mut text = format!("{} queries, {} servers each", large(advice.tally.queries as f64), three(before.mean()));
        let mut object = json!({
            "queries": advice.tally.queries, "keys": advice.catalogue.len(), "servers_before": before.mean(),
            "servers_after": after.mean(), "carried_out": carried_out == Some(CarriedOut::Plan),
            "undone": carried_out == Some(CarriedOut::Undoing), "why": why, "moved_keys": 0, "moved_bytes": 0, "returned_keys": 0,
        });
        match carried_out {
            None => text += &format!("; {why}"),
            Some(way) => {
                (object["moved_keys"], object["moved_bytes"]) = (moves.into(), advice.moved_bytes.into());
                object["returned_keys"] = advice.returned.into();
                text += &match way {
                    CarriedOut::Plan => format!(
                        "; {} keys ({}) move, and {} return home: {} servers each",
                        large(moves as f64),
                        bytes(advice.moved_bytes as f64),
                        large(advice.returned as f64),
                        three(after.mean())
                    ),
                    CarriedOut::Undoing => format!("; the last plan is undone: {} servers each", three(after.mean())),
                };
            }
        }
        let text_of_memory = memory.text();
        let written = if carried_out.is_some() {
            description["undoes_last_plan"] = (carried_out == Some(CarriedOut::Undoing)).into();
            self.rollout.replace(&description, &text_of_memory, clock(), |path| write_placement(path, advice))
        } else {
            self.rollout.remember(&text_of_memory)
        };
        written.map_err(|error| Failure::Environment(format!("{}: {error}", self.watch.folder.display())))?;
        self.watch.wish.memory = Some(Arc::new(memory));
        self.report(&text, object)
    }

    fn report_delay(&self, status: &Result<Status, String>) -> Result<(), Failure> {
        let (text, waits_for) = match status {
            Err(why) => (clean(why), Vec::new()),
            Ok(Status::Underway(stage, late)) => {
                let names = late.join(", ");
                (format!("the last plan is still in `{}`; waiting for {}", stage.word(), clean(&names)), late.clone())
            }
            _ => ("no front end has this folder as its `plan` yet".to_owned(), Vec::new()),
        };
        self.report(&text, json!({"waits_for": waits_for}))
    }

    fn report(&self, text: &str, mut object: Value) -> Result<(), Failure> {
        if !self.watch.json {
            return say(&format!("period {}: {text}\n", self.period));
        }
        (object["schema"], object["period"]) = (1.into(), self.period.into());
        say(&format!("{object}\n"))
    }
}

/// Rows of a log in the current period, in a file of their own.
struct Rows {
    log: FollowedLog,
    name: PathBuf,
    path: PathBuf,
    file: BufWriter<File>,
    count: u64,
    /// Added to the log's times: results must not depend on the clocks of front ends.
    shift: Option<f64>,
}

impl Rows {
    fn new(log: &Path, folder: &Path, number: usize) -> Result<Rows, Failure> {
        let unread = |error: io::Error| Failure::Input(format!("{}: {error}", log.display()));
        let path = folder.join(format!("{number}.csv"));
        let unwritten = |error: io::Error| Failure::Environment(format!("{}: {error}", path.display()));
        let followed = FollowedLog::open(log).map_err(unread)?;
        let file = begin(&path).map_err(unwritten)?;
        Ok(Rows { log: followed, name: log.to_owned(), file, path, count: 0, shift: None })
    }

    /// Takes the new rows, at this time of the period.
    fn read(&mut self, now: Duration) -> Result<(), Failure> {
        let unread = |name: &Path, error: io::Error| Failure::Environment(format!("{}: {error}", name.display()));
        let new = self.log.read().map_err(|error| unread(&self.name, error))?;
        if new.lost {
            warn(&[format!("{}: rows are missing; use larger or more files in `[log]`", self.name.display())]);
        }
        let time = |line: &[u8]| {
            let comma = line.iter().position(|byte| *byte == b',')?;
            str::from_utf8(&line[..comma]).ok()?.parse::<f64>().ok().map(|time| (time, comma))
        };
        let lines = || new.text.split_inclusive(|byte| *byte == b'\n');
        if self.shift.is_none() {
            self.shift = lines().filter_map(time).next_back().map(|(last, _)| ZERO + now.as_secs_f64() - last);
        }
        let shift = self.shift.unwrap_or(0.0);
        for line in lines() {
            let written = match time(line) {
                Some((at, comma)) => {
                    write!(self.file, "{:.6}", at + shift).and_then(|()| self.file.write_all(&line[comma..]))
                }
                None => self.file.write_all(line),
            };
            written.map_err(|error| unread(&self.path, error))?;
            self.count += 1;
        }
        Ok(())
    }

    /// The file, if there are rows.
    fn file(&mut self) -> Option<PathBuf> {
        let any = self.count > 0 && self.file.flush().is_ok();
        any.then(|| self.path.clone())
    }

    /// Begins a new period.
    fn clear(&mut self) {
        // If this fails, the next write does, too, and is reported.
        if let Ok(file) = begin(&self.path) {
            (self.file, self.count, self.shift) = (file, 0, None);
        }
    }
}

/// An empty table, readable by its owner only, since keys may be private.
fn begin(path: &Path) -> io::Result<BufWriter<File>> {
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut file = BufWriter::new(file);
    file.write_all(LOG_HEAD)?;
    Ok(file)
}
