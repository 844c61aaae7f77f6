//! Runs a plan on the simulator: what it will take before it begins, and how far it is.

use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use etcetera::{BaseStrategy, choose_base_strategy};
use fanin_execute::{Cache, Lab, Progress, conduct, forecast, free_memory};
use fanin_lab::{Manifest, Outcome, Report, Runner, Summary, Watching, Wishes, report};
use fanin_spec::{Contender, Need, RunError, RunSpec, RunTables, Settings, Watch};

use crate::failure::Failure;
use crate::figures::{self, GREY};
use crate::progress::Teller;
use crate::stop::{self, STOP, listen};

struct Simulator;

impl Runner for Simulator {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        fanin_sim::run(spec, stop)
    }

    fn watch(&self, spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        fanin_sim::watch(spec, watch, stop)
    }

    fn need(&self, settings: &Settings) -> Need {
        fanin_sim::need(settings)
    }
}

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
    let folder = choose_base_strategy().ok()?.cache_dir();
    Some(Cache::new(folder.join("fanin"), fanin_sim::ENGINE))
}

/// Works in the simulator's lab.
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

/// Works in a lab, telling how far it is.
fn work_in<T, E>(lab: Lab, work: impl FnOnce(&Lab, &mut dyn FnMut(Progress)) -> Result<T, E>) -> Result<T, Failure>
where
    Failure: From<E>,
{
    listen()?;
    let mut teller = Teller::default();
    let done = work(&lab, &mut |progress| teller.update(progress));
    teller.clear();
    Ok(done?)
}

/// Tells what contenders will take where that is long, and refuses what cannot fit into the memory.
fn announce(lab: &Lab, contenders: &[Contender]) -> Result<(), Failure> {
    const LONG: Duration = Duration::from_secs(10);
    let free = free_memory();
    let forecast = forecast(lab, contenders, free).map_err(Failure::Input)?;
    let tight = free.is_some_and(|free| forecast.bytes > free as f64);
    if forecast.time >= LONG || tight {
        let warning = if tight { ", more than is free unless rounds stall" } else { "" };
        notice(&[format!(
            "{} {}, about {} with {} at once, and {} of memory{warning}; less where runs are kept from before",
            forecast.runs,
            if forecast.runs == 1 { "run" } else { "runs" },
            figures::span(forecast.time),
            forecast.runs.min(lab.jobs.get() as u64),
            figures::bytes(forecast.bytes)
        )]);
    }
    Ok(())
}

/// Carries a comparison's plan out.
pub fn simulate(contenders: &[Contender], wishes: Wishes, means: Means) -> Result<(Vec<RunSpec>, Outcome), Failure> {
    let (specs, outcome) = in_lab(means, |lab, progress| {
        announce(lab, contenders)?;
        conduct(lab, contenders, wishes, progress).map_err(Failure::from)
    })?;
    notice(&outcome.notices);
    Ok((specs, outcome))
}

/// Runs what the contenders plan, one after another, and watches it. The cache is left alone: it has no series.
pub fn simulate_watched(contenders: &[Contender], watch: Watch) -> Result<(Vec<RunSpec>, Outcome), Failure> {
    let lab =
        Lab { runner: &Watching { runner: &Simulator, watch }, cache: None, jobs: NonZeroUsize::MIN, stop: &STOP };
    work_in(lab, |lab, progress| {
        announce(lab, contenders)?;
        conduct(lab, contenders, Wishes::default(), progress).map_err(Failure::from)
    })
}

/// Tells what the user may want to know besides the results.
pub fn notice(notices: &[String]) {
    for notice in notices {
        // Where it cannot be told, the results are none the worse.
        let _ = writeln!(anstream::stderr(), "{GREY}note: {}{GREY:#}", figures::clean(notice));
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
        "stopped by {} with {done} of {total} runs finished; the results are those alone",
        stop::what()
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
