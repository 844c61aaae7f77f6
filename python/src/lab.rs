//! Work in a lab on its own thread, while the calling thread handles signals and reports progress.

use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fanin::advice::{Addresses, Goal};
use fanin::{CompareOptions, Draft, Error, Lab, Reading, Time, Update, Wanted, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::carrier::Futures;
use crate::comparison::Comparison;
use crate::failure::{asked, claimed, raised};
use crate::scenario::Scenario;

/// Execution options: an object of `fanin.means.Means`.
#[derive(FromPyObject)]
pub struct Means {
    jobs: Option<NonZeroUsize>,
    /// Read finished runs from a cache and store them there.
    cached: bool,
    /// Cache folder, replacing the user's.
    cache: Option<PathBuf>,
    carrier: Option<Py<PyAny>>,
    worker_cache: Option<PathBuf>,
    /// Progress callback, called with an event's name and values.
    hear: Option<Py<PyAny>>,
}

/// Maximum delay of signal handling.
const TICK: Duration = Duration::from_millis(20);

/// Result of work in a lab.
pub struct LabResult<T> {
    result: Result<T, Error>,
    /// The exception that interrupted it.
    interrupted: Option<PyErr>,
}

impl Means {
    fn lab(&self, py: Python<'_>, stop: &Arc<AtomicBool>) -> Lab {
        let mut lab = Lab::default().stopped_by(Arc::clone(stop));
        if let Some(jobs) = self.jobs {
            lab = lab.jobs(jobs);
        }
        lab = match (self.cached, &self.cache) {
            (false, _) => lab.without_cache(),
            (true, Some(folder)) => lab.cache_in(folder),
            (true, None) => lab,
        };
        match &self.carrier {
            Some(carrier) => lab.with_transport(Futures(carrier.clone_ref(py)), self.worker_cache.clone()),
            None => lab,
        }
    }

    fn tell(&self, py: Python<'_>, update: Update) -> PyResult<()> {
        let Some(hear) = &self.hear else { return Ok(()) };
        match update {
            Update::Progress(at) => {
                let left = at.left.map(|left| left.as_secs_f64());
                hear.call1(py, ("progress", (at.done, at.total, at.elapsed.as_secs_f64(), left)))
            }
            Update::Forecast(of) => hear.call1(py, ("forecast", (of.runs, of.time.as_secs_f64(), of.bytes))),
            Update::Notice(text) => hear.call1(py, ("notice", (text,))),
            Update::Warning(text) => hear.call1(py, ("warning", (text,))),
        }?;
        Ok(())
    }

    /// Work in a lab; stop if a signal handler raises.
    pub fn in_lab<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Lab, &mut dyn FnMut(Update)) -> Result<T, Error> + Send,
    ) -> PyResult<LabResult<T>> {
        let stop = Arc::new(AtomicBool::new(false));
        let (say, mut updates) = mpsc::channel();
        let mut interrupted = None;
        let result = thread::scope(|scope| {
            let worker = scope.spawn({
                let stop = &stop;
                move || {
                    let lab = Python::attach(|py| self.lab(py, stop));
                    // After an interruption nothing receives updates.
                    work(&lab, &mut |update| drop(say.send(update)))
                }
            });
            loop {
                let waited = &mut updates;
                let told = match py.detach(move || waited.recv_timeout(TICK)) {
                    Ok(update) => self.tell(py, update),
                    Err(RecvTimeoutError::Timeout) => Ok(()),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if let Err(error) = told.and_then(|()| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    interrupted.get_or_insert(error);
                }
            }
            py.detach(|| worker.join())
        });
        let result =
            result.map_err(|_| PyRuntimeError::new_err("a thread of the library panicked; please report it"))?;
        Ok(LabResult { result, interrupted })
    }
}

/// The result or the error; an interruption comes first.
pub fn finished<T>(py: Python<'_>, done: LabResult<T>) -> PyResult<T> {
    match (done.result, done.interrupted) {
        (_, Some(interrupted)) => Err(interrupted),
        (Ok(done), None) => Ok(done),
        (Err(why), None) => Err(raised(py, &why)),
    }
}

/// A comparison, possibly cut short, and the exception that interrupted it.
fn compared(py: Python<'_>, came: LabResult<fanin::Comparison>) -> PyResult<(Comparison, Option<Py<PyAny>>)> {
    match came {
        LabResult { result: Ok(comparison), interrupted } => {
            Ok((Comparison::from(comparison), interrupted.map(|error| error.into_value(py).into_any())))
        }
        other => finished(py, other).map(|comparison| (Comparison::from(comparison), None)),
    }
}

/// Compare schemes.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    means: Means,
    onset: bool,
    precision: Option<f64>,
) -> PyResult<(Comparison, Option<Py<PyAny>>)> {
    let resolved = scenario.resolved(py)?;
    compared(py, means.in_lab(py, |lab, hear| lab.compare(&resolved, CompareOptions { onset, precision }, hear))?)
}

/// Execute one run; with a step, record samples of the given servers (numbered from one), or of all.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    means: Means,
    step_ps: Option<u64>,
    servers: Option<Vec<u32>>,
) -> PyResult<(Comparison, Option<Py<PyAny>>)> {
    let resolved = scenario.resolved(py)?;
    resolved.one_run().map_err(|why| raised(py, &why))?;
    let most = resolved.variants()[0].settings.servers();
    if let Some(number) = servers.iter().flatten().find(|number| !(1..=most).contains(*number)) {
        return Err(asked(py, &format!("servers: unknown server {number}; use 1 to {most}")));
    }
    let watch = step_ps.map(|step| Watch {
        step: Time(step),
        from: Time::ZERO,
        to: Time::NEVER,
        servers: servers.map_or_else(|| (0..most).collect(), |servers| servers.iter().map(|n| n - 1).collect()),
    });
    compared(py, means.in_lab(py, |lab, hear| lab.run(&resolved, watch.as_ref(), hear))?)
}

/// Write the packets of one run at a point as pcapng; returns their number, and the time of the last one in seconds.
#[pyfunction]
pub fn trace(
    py: Python<'_>,
    scenario: &Scenario,
    means: Means,
    at: &str,
    path: PathBuf,
) -> PyResult<(usize, Option<f64>)> {
    let resolved = scenario.resolved(py)?;
    let draft = Draft::open(&path).map_err(|why| asked(py, &format!("{}: cannot write: {why}", path.display())))?;
    let capture = finished(
        py,
        means.in_lab(py, |lab, _| {
            let capture = lab.trace(&resolved, at)?;
            capture.write(BufWriter::new(draft.file()))?;
            Ok((capture.len(), capture.last().map(Time::as_secs_f64)))
        })?,
    )?;
    draft.publish().map_err(|why| asked(py, &format!("{}: cannot write: {why}", path.display())))?;
    Ok(capture)
}

/// Recommend changes, as one JSON object; with a folder, also write them there.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's, by name")]
pub fn advise(
    py: Python<'_>,
    scenario: &Scenario,
    means: Means,
    file: String,
    arguments: Vec<String>,
    servers: Option<u32>,
    grow_to: Option<u32>,
    goal: Option<&str>,
    budget: u64,
    seconds: Option<f64>,
    remedies: Vec<String>,
    folder: Option<PathBuf>,
) -> PyResult<String> {
    let goal: Option<Goal> =
        goal.map(str::parse).transpose().map_err(|why: String| asked(py, &format!("goal: {why}")))?;
    let time = seconds.map(Duration::try_from_secs_f64).transpose();
    let time = time.map_err(|_| asked(py, "seconds: use a number above 0, such as 30"))?;
    let wanted = Wanted {
        source: vec![file],
        arguments,
        servers,
        grow_to,
        goal,
        budget,
        time,
        remedies,
        addresses: Addresses::default(),
    };
    let out = folder.map(|folder| claimed(py, folder)).transpose()?;
    finished(
        py,
        means.in_lab(py, |lab, hear| {
            let advised = lab.advise(&scenario.0, &wanted, hear)?;
            if let Some(out) = out {
                let picture = lab.picture(&advised, hear)?;
                advised.write(out, &picture, &[], Vec::new())?;
            }
            Ok(advised.to_json())
        })?,
    )
}

/// Plan object placement, as one JSON object; with a folder, also write the plan there.
#[pyfunction]
pub fn plan(
    py: Python<'_>,
    cluster: &Scenario,
    means: Means,
    logs: Vec<PathBuf>,
    gap_ps: u64,
    skip_bad: bool,
    folder: Option<PathBuf>,
) -> PyResult<String> {
    let resolved = cluster.resolved(py)?;
    let reading = Reading { gap: Time(gap_ps), skip_bad };
    let out = folder.map(|folder| claimed(py, folder)).transpose()?;
    finished(
        py,
        means.in_lab(py, |lab, hear| {
            let plan = lab.plan(&logs, reading, &fanin::PlanOptions::default(), &resolved, hear)?;
            let json = plan.to_json().to_string();
            out.map(|out| plan.write(out)).transpose()?;
            Ok(json)
        })?,
    )
}
