//! The command's lab: forecast, progress and cost of its runs.

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fanin::{Comparison, Error, Forecast, Lab, Update};

use crate::failure::Failure;
use crate::figures::{self, BOLD, GREY, clean, wrap};
use crate::on::Bridge;
use crate::progress::ProgressReporter;
use crate::signal;
use crate::stop::{STOP, listen};
use crate::terminal::width;

/// Number of threads (default: all cores) and use of the cache.
#[derive(Clone, Copy)]
pub struct Means {
    /// Threads.
    pub jobs: Option<NonZeroUsize>,
    /// Use the user's cache of finished runs.
    pub cached: bool,
}

/// Runs work in a lab that a signal stops, with progress reports.
pub fn in_lab<T>(
    means: Means,
    work: impl FnOnce(&Lab, &mut dyn FnMut(Update)) -> Result<T, Error>,
) -> Result<T, Failure> {
    let lab = lab(means)?;
    told(&lab, work)
}

/// As [`in_lab`], on a cluster's workers; also returns the reason if work ended early.
pub fn in_lab_on<T>(
    address: &str,
    means: Means,
    work: impl FnOnce(&Lab, &mut dyn FnMut(Update)) -> Result<T, Error>,
) -> Result<(T, Option<String>), Failure> {
    let ended = Rc::default();
    let lab = lab(means)?.with_transport(Bridge::to(address, Rc::clone(&ended))?, None);
    let done = told(&lab, work)?;
    let ended = ended.take();
    Ok((done, ended))
}

fn lab(means: Means) -> Result<Lab, Failure> {
    listen()?;
    let mut lab = Lab::default().stopped_by(Arc::clone(&STOP));
    if let Some(jobs) = means.jobs {
        lab = lab.jobs(jobs);
    }
    if !means.cached {
        lab = lab.without_cache();
    }
    Ok(lab)
}

fn told<T>(lab: &Lab, work: impl FnOnce(&Lab, &mut dyn FnMut(Update)) -> Result<T, Error>) -> Result<T, Failure> {
    let mut teller = ProgressReporter::default();
    let done = work(lab, &mut |update| hear(&mut teller, lab.at_once(), update));
    teller.clear();
    Ok(done?)
}

fn hear(teller: &mut ProgressReporter, jobs: NonZeroUsize, update: Update) {
    match update {
        Update::Progress(progress) => teller.update(progress),
        Update::Forecast(forecast) => {
            teller.clear();
            *teller = ProgressReporter::default();
            announce(&forecast, jobs);
        }
        Update::Notice(text) => {
            teller.clear();
            notice(&text);
        }
        Update::Warning(text) => {
            teller.clear();
            warn(&[text]);
        }
    }
}

/// Announces runs that take long or much memory.
fn announce(forecast: &Forecast, jobs: NonZeroUsize) {
    const LONG: Duration = Duration::from_secs(10);
    if forecast.time < LONG && !forecast.is_tight() {
        return;
    }
    let warning = if forecast.is_tight() { ", more than is free" } else { "" };
    notice(&format!(
        "{} {}, about {} with {} at once, and {} of memory{warning}; less if runs are cached",
        forecast.runs,
        if forecast.runs == 1 { "run" } else { "runs" },
        figures::span(forecast.time),
        forecast.runs.min(jobs.get() as u64),
        figures::bytes(forecast.bytes)
    ));
}

/// Prints a note.
pub fn notice(notice: &str) {
    // A failure to print a note is not an error.
    let _ = writeln!(anstream::stderr(), "{GREY}note: {}{GREY:#}", clean(notice));
}

/// Prints warnings.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        // A failure to print a note is not an error.
        let text = wrap(&format!("warning: {}", clean(warning)), width(), "  ");
        let _ =
            writeln!(anstream::stderr(), "{BOLD}warning:{BOLD:#}{}", text.strip_prefix("warning:").unwrap_or(&text));
    }
}

/// The command's arguments, which differ from the process's if an interpreter runs it.
static ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

/// Stores the command's arguments, the first of which is the program's name.
pub fn begin(arguments: &[OsString]) {
    ARGUMENTS.get_or_init(|| arguments.iter().skip(1).map(|one| one.to_string_lossy().into_owned()).collect());
}

/// The command's arguments, for results.
pub fn arguments() -> Vec<String> {
    ARGUMENTS.get().cloned().unwrap_or_default()
}

/// `Ok` if all runs finished, otherwise the failure of a stopped comparison.
pub fn all_finished(comparison: &Comparison) -> Result<(), Failure> {
    let [done, total] = comparison.finished();
    if done == total {
        return Ok(());
    }
    Err(Failure::Stopped(format!(
        "stopped by {}; the results include the {done} of {total} runs that finished",
        signal::name()
    )))
}

/// The cost, in one line.
pub fn cost(comparison: &Comparison) -> String {
    let outcome = comparison.outcome();
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
        if outcome.cached > 0 { format!(" ({} from the cache)", outcome.cached) } else { String::new() },
        figures::large(events as f64),
        figures::large(packets as f64),
        outcome.wall.as_secs_f64(),
    )
}
