//! Execution of plans in batches by an executor: threads, remote processes, or a browser's worker. This module uses neither threads nor
//! a clock.

use core::time::Duration;

use fanin_spec::{RunSpec, Variant, Watch};
use fanin_units::Time;

use crate::{Broken, CompareOptions, Done, Outcome, Planner, Provenance};

/// Runs that are executed together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The runs.
    pub specs: &'a [RunSpec],
    /// Additional samples and events to record. Watched runs bypass the cache, whose key is the spec alone.
    pub watch: Option<&'a Watch>,
}

/// Events during a batch.
#[derive(Debug)]
pub enum News {
    /// A run has finished.
    Ended {
        /// Index in the batch.
        place: usize,
        /// Result.
        done: Box<Done>,
        /// Whether it came from the cache.
        cached: bool,
    },
    /// The caller's own algorithm failed in a run.
    Raised {
        /// Index in the batch.
        place: usize,
        /// Message of the algorithm.
        what: String,
    },
    /// A message for the user.
    Notice(String),
    /// Time has passed; at most a few per second.
    Underway {
        /// Wall time since the batch started.
        elapsed: Duration,
        /// Estimated remaining wall time from the finished runs; `None` before the first one.
        left: Option<Duration>,
        /// Of the runs under way, if it is known.
        pace: Option<Pace>,
    },
}

/// Executes batches of runs. Results depend only on the specs, not on the executor or the order of execution, unless they were measured.
pub trait Executor {
    /// Executes every run of a batch, reports each when it finishes, on the calling thread and in any order, and returns the wall time.
    /// A stop ends it with the runs finished by then.
    ///
    /// # Errors
    /// A run that broke an invariant, which also ends the others.
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken>;

    /// Where and when its figures were measured; `None` if they follow from the specs alone.
    fn provenance(&self) -> Option<Provenance> {
        None
    }
}

/// Progress of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Finished runs.
    pub done: usize,
    /// Runs planned so far.
    pub total: usize,
    /// Wall time since the start.
    pub elapsed: Duration,
    /// Estimated remaining wall time; `None` before the first run has finished.
    pub left: Option<Duration>,
    /// Of the runs under way, if it is known.
    pub pace: Option<Pace>,
}

/// Pace of the runs under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Simulated time of the one that began first.
    pub simulated: Time,
    /// Data packets of all, per second of wall time.
    pub packets_per_s: u64,
}

/// Executes batches with one executor, and keeps count over all of them.
pub struct Session<'a> {
    executor: &'a dyn Executor,
    tell: &'a mut dyn FnMut(Progress),
    done: usize,
    total: usize,
    elapsed: Duration,
    /// Runs from the cache.
    pub cached: usize,
    /// Messages for the user, without duplicates.
    pub notices: Vec<String>,
    /// Runs in which the caller's own algorithm failed.
    raised: Vec<Broken>,
}

impl<'a> Session<'a> {
    /// A new session.
    pub fn new(executor: &'a dyn Executor, tell: &'a mut dyn FnMut(Progress)) -> Session<'a> {
        let (notices, raised) = (Vec::new(), Vec::new());
        Session { executor, tell, done: 0, total: 0, elapsed: Duration::ZERO, cached: 0, notices, raised }
    }

    /// Adds this many planned runs.
    pub fn expect(&mut self, runs: usize) {
        self.total += runs;
    }

    /// Removes this many planned runs, which are no longer needed.
    pub fn spare(&mut self, runs: usize) {
        self.total -= runs;
    }

    /// Executes a batch of planned runs. `take` receives each result with its index in the batch; after a stop, some are missing.
    ///
    /// # Errors
    /// A run that broke an invariant.
    pub fn run(&mut self, batch: Batch<'_>, take: &mut dyn FnMut(usize, Done)) -> Result<(), Broken> {
        let Session { executor, tell, done, total, elapsed, cached, notices, raised } = self;
        let mut of_batch = Vec::new();
        let last = *done + batch.specs.len() >= *total;
        let took = executor.carry_out(batch, &mut |news| match news {
            News::Ended { place, done: gave, cached: kept } => {
                *done += 1;
                *cached += usize::from(kept);
                take(place, *gave);
            }
            News::Raised { place, what } => of_batch.push((place, what)),
            News::Notice(text) => notices.push(text),
            News::Underway { elapsed: now, left, pace } => {
                let elapsed = *elapsed + now;
                // Estimate later batches from the earlier ones.
                let as_before = (*done > 0).then(|| elapsed.mul_f64((*total - *done) as f64 / *done as f64));
                let left = if last { left } else { as_before };
                tell(Progress { done: *done, total: *total, elapsed, left, pace });
            }
        })?;
        of_batch.sort_unstable();
        raised.extend(of_batch.into_iter().map(|(place, what)| Broken::new(&batch.specs[place], what)));
        self.elapsed += took;
        self.notices.sort_unstable();
        self.notices.dedup();
        Ok(())
    }

    /// The outcome of all runs, given by spec in the order of a plan.
    fn outcome(self, runs: Vec<Option<Done>>) -> Outcome {
        let provenance = self.executor.provenance();
        Outcome {
            runs,
            cached: self.cached,
            notices: self.notices,
            raised: self.raised,
            wall: self.elapsed,
            provenance,
        }
    }
}

/// Executes a fixed plan.
///
/// # Errors
/// A run that broke an invariant.
pub fn execute(
    executor: &dyn Executor,
    batch: Batch<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, Broken> {
    let mut runs: Vec<Option<Done>> = batch.specs.iter().map(|_| None).collect();
    let mut session = Session::new(executor, progress);
    session.expect(batch.specs.len());
    session.run(batch, &mut |place, done| runs[place] = Some(done))?;
    Ok(session.outcome(runs))
}

/// Executes a comparison batch by batch: returns all planned runs by scheme, point and seed, and their outcomes.
///
/// # Errors
/// A run that broke an invariant.
pub fn conduct(
    executor: &dyn Executor,
    variants: &[Variant],
    options: CompareOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Vec<RunSpec>, Outcome), Broken> {
    let planner = Planner::new(variants, options);
    let mut session = Session::new(executor, progress);
    let (mut done, mut unfinished) = (Vec::new(), Vec::new());
    while unfinished.is_empty() {
        let specs = planner.next(&done);
        if specs.is_empty() {
            break;
        }
        let mut runs: Vec<Option<Done>> = specs.iter().map(|_| None).collect();
        session.expect(specs.len());
        session.run(Batch { specs: &specs, watch: None }, &mut |place, done| runs[place] = Some(done))?;
        for (spec, run) in specs.into_iter().zip(runs) {
            match run {
                Some(run) => done.push((spec, run)),
                None => unfinished.push(spec),
            }
        }
    }
    let place = |spec: &RunSpec| variants.iter().position(|c| c.label == spec.label);
    let mut runs: Vec<(RunSpec, Option<Done>)> = done.into_iter().map(|(spec, run)| (spec, Some(run))).collect();
    runs.extend(unfinished.into_iter().map(|spec| (spec, None)));
    runs.sort_by_cached_key(|(spec, _)| (place(spec), spec.place, spec.seed));
    let (specs, runs) = runs.into_iter().unzip();
    Ok((specs, session.outcome(runs)))
}
