//! Runs a plan on the simulator, with progress on the terminal and an ear for Ctrl-C.

use std::io::{IsTerminal, Write, stderr};
use std::num::NonZeroUsize;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanin_lab::{
    Cache, Lab, Manifest, Outcome, Progress, Report, RunError, Runner, Summary, Watching, Wishes, conduct, report,
};
use fanin_spec::{Contender, RunSpec, RunTables, Watch};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::figures::{self, GREY};

struct Simulator;

impl Runner for Simulator {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        fanin_sim::run(spec, stop).map_err(no_tables)
    }

    fn watch(&self, spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        fanin_sim::watch(spec, watch, stop).map_err(no_tables)
    }
}

fn no_tables(failure: fanin_sim::Failure) -> RunError {
    match failure {
        fanin_sim::Failure::Stopped => RunError::Stopped,
        fanin_sim::Failure::Broken(what) => RunError::Broken(what),
    }
}

static STOP: AtomicBool = AtomicBool::new(false);

/// How to run: on so many threads, with or without the cache.
#[derive(Clone, Copy)]
pub struct Means {
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Take finished runs from the user's cache, and keep them there.
    pub cached: bool,
}

/// The user's cache of finished runs, where the system has a place for it.
pub fn user_cache() -> Option<Cache> {
    dirs::cache_dir().map(|folder| Cache::new(folder.join("fanin"), fanin_sim::ENGINE))
}

/// Works in the simulator's lab; the first Ctrl-C ends it with what has finished, the second kills.
pub fn in_lab<T, E>(
    means: Means,
    work: impl FnOnce(&Lab, &mut dyn FnMut(Progress)) -> Result<T, E>,
) -> Result<T, Failure>
where
    Failure: From<E>,
{
    let cache = if means.cached { user_cache() } else { None };
    work_in(Lab { runner: &Simulator, cache: cache.as_ref(), jobs: means.jobs, stop: &STOP }, work)
}

/// Works in a lab, with a bar of progress and an ear for Ctrl-C.
fn work_in<T, E>(lab: Lab, work: impl FnOnce(&Lab, &mut dyn FnMut(Progress)) -> Result<T, E>) -> Result<T, Failure>
where
    Failure: From<E>,
{
    let listen = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    });
    listen.map_err(|error| Failure::Environment(format!("Ctrl-C cannot be listened for: {error}")))?;
    let mut bar = Bar { shown: None, wanted: stderr().is_terminal() };
    let done = work(&lab, &mut |progress| bar.update(progress));
    bar.clear();
    Ok(done?)
}

/// Carries a comparison's plan out.
pub fn simulate(contenders: &[Contender], wishes: Wishes, means: Means) -> Result<(Vec<RunSpec>, Outcome), Failure> {
    let (specs, outcome) = in_lab(means, |lab, progress| conduct(lab, contenders, wishes, progress))?;
    notice(&outcome.notices);
    Ok((specs, outcome))
}

/// Runs what the contenders plan, one after another, and watches it. The cache is left alone: it has no series.
pub fn simulate_watched(contenders: &[Contender], watch: Watch) -> Result<(Vec<RunSpec>, Outcome), Failure> {
    let lab =
        Lab { runner: &Watching { runner: &Simulator, watch }, cache: None, jobs: NonZeroUsize::MIN, stop: &STOP };
    work_in(lab, |lab, progress| conduct(lab, contenders, Wishes::default(), progress))
}

/// Tells what the user may want to know of the cache.
pub fn notice(notices: &[String]) {
    for notice in notices {
        // Where it cannot be told, the results are none the worse.
        let _ = writeln!(anstream::stderr(), "{GREY}note: {notice}{GREY:#}");
    }
}

/// The report of a comparison; a Ctrl-C, by now or while it is made, leaves out what is not told yet.
pub fn tell(
    title: Option<&str>,
    contenders: &[Contender],
    manifest: &Manifest,
    summary: &Summary,
    done: (&[RunSpec], &Outcome),
) -> Result<Report, Failure> {
    Ok(report(&Simulator, title, contenders, manifest, summary, done, &STOP)?)
}

/// What a stopped outcome is told as, or `Ok` where everything has finished.
pub fn all_finished(outcome: &Outcome) -> Result<(), Failure> {
    let done = outcome.runs.iter().flatten().count();
    let total = outcome.runs.len();
    if done == total {
        return Ok(());
    }
    Err(Failure::Stopped(format!(
        "stopped by Ctrl-C with {done} of {total} runs finished; the results are those alone"
    )))
}

/// What it cost, in a line.
pub fn cost(outcome: &Outcome) -> String {
    let done = || outcome.runs.iter().flatten();
    let runs = done().count();
    let events: u64 = done().map(|d| d.tables.engine.events).sum();
    let packets: u64 = done().map(|d| d.tables.totals.data_packets).sum();
    let cpu = done().map(|d| d.cpu).sum::<Duration>().as_secs_f64();
    let speed = match cpu > 0.0 {
        true => format!("; {} packets per core-second", figures::large(packets as f64 / cpu)),
        false => String::new(),
    };
    format!(
        "{runs} {}{}, {} events, {} data packets; {cpu:.2} s CPU, {:.2} s wall{speed}",
        if runs == 1 { "run" } else { "runs" },
        if outcome.cached > 0 { format!(" ({} kept from before)", outcome.cached) } else { String::new() },
        figures::large(events as f64),
        figures::large(packets as f64),
        outcome.wall.as_secs_f64(),
    )
}

/// The bar, shown once the job has lasted a second.
struct Bar {
    shown: Option<ProgressBar>,
    wanted: bool,
}

impl Bar {
    fn update(&mut self, progress: Progress) {
        if !self.wanted || progress.elapsed < Duration::from_secs(1) {
            return;
        }
        let bar = self.shown.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {msg}");
            ProgressBar::new(progress.total as u64)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▌ "))
        });
        bar.set_message(match progress.left {
            Some(left) => format!("about {:.0} s left", left.as_secs_f64().ceil()),
            None => "the first is under way".into(),
        });
        bar.set_position(progress.done as u64);
    }

    fn clear(&self) {
        if let Some(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
