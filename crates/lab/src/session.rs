//! How plans are carried out, batch after batch, by whatever runs them: threads of this process, processes elsewhere, a browser's
//! worker. No thread and no clock is in it.

use core::time::Duration;

use fanin_spec::{RunSpec, Variant, Watch};

use crate::{Broken, CompareOptions, Done, Outcome, Planner};

/// Runs that are carried out together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The runs.
    pub specs: &'a [RunSpec],
    /// What to keep of each beside its tables. A cache knows runs by their specs: such runs come from none and go to none.
    pub watch: Option<&'a Watch>,
}

/// What is told while a batch is carried out.
#[derive(Debug)]
pub enum News {
    /// A run has ended.
    Ended {
        /// Its place in the batch.
        place: usize,
        /// What it gave.
        done: Box<Done>,
        /// Whether it was kept from before.
        cached: bool,
    },
    /// A law of the caller's ended a run.
    Raised {
        /// Its place in the batch.
        place: usize,
        /// What the law says.
        what: String,
    },
    /// Something that the user may want to know.
    Notice(String),
    /// Time has passed; some times a second at most.
    Underway {
        /// Wall time since the batch was begun.
        elapsed: Duration,
        /// Wall time until its end, as the finished runs have it; `None` before the first has finished.
        left: Option<Duration>,
    },
}

/// What carries out batches of runs. What comes of a batch hangs on its specs alone, not on who carries it out and in which order.
pub trait Executor {
    /// Carries out every run of a batch and tells of each as it ends, on the calling thread, in any order; gives the wall time that it
    /// took. A stop ends it with what has finished by then.
    ///
    /// # Errors
    /// A run that broke an invariant; it ends the others.
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken>;
}

/// How far the work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Runs finished.
    pub done: usize,
    /// Runs planned so far.
    pub total: usize,
    /// Wall time since the start.
    pub elapsed: Duration,
    /// Wall time that is left, as the finished runs have it; `None` before the first has finished.
    pub left: Option<Duration>,
}

/// A way through batches that one executor carries out, and how far it is: what was done before stays counted.
pub struct Session<'a> {
    executor: &'a dyn Executor,
    tell: &'a mut dyn FnMut(Progress),
    done: usize,
    total: usize,
    elapsed: Duration,
    /// Runs that were kept from before.
    pub cached: usize,
    /// What the user may want to know, each once.
    pub notices: Vec<String>,
    /// Runs that a law of the caller's ended.
    raised: Vec<Broken>,
}

impl<'a> Session<'a> {
    /// A course that has not begun.
    pub fn new(executor: &'a dyn Executor, tell: &'a mut dyn FnMut(Progress)) -> Session<'a> {
        let (notices, raised) = (Vec::new(), Vec::new());
        Session { executor, tell, done: 0, total: 0, elapsed: Duration::ZERO, cached: 0, notices, raised }
    }

    /// So many runs more are planned.
    pub fn expect(&mut self, runs: usize) {
        self.total += runs;
    }

    /// So many of those that were planned are needed no more.
    pub fn spare(&mut self, runs: usize) {
        self.total -= runs;
    }

    /// Carries out a batch of what is expected. `take` has what each run gave as it ends, with its place in the batch; a stop leaves
    /// some out.
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
            News::Underway { elapsed: now, left } => {
                let elapsed = *elapsed + now;
                // Of batches that are still to come nothing is known but what those before took.
                let as_before = (*done > 0).then(|| elapsed.mul_f64((*total - *done) as f64 / *done as f64));
                let left = if last { left } else { as_before };
                tell(Progress { done: *done, total: *total, elapsed, left });
            }
        })?;
        of_batch.sort();
        raised.extend(of_batch.into_iter().map(|(place, what)| Broken::new(&batch.specs[place], what)));
        self.elapsed += took;
        self.notices.sort();
        self.notices.dedup();
        Ok(())
    }

    /// What has become of everything that was run, given by spec in the order of a plan.
    fn outcome(self, runs: Vec<Option<Done>>) -> Outcome {
        Outcome { runs, cached: self.cached, notices: self.notices, raised: self.raised, wall: self.elapsed }
    }
}

/// Carries out a plan that is known beforehand.
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

/// Carries a comparison out to its end, batch after batch: everything that was planned, by scheme, point, seed, and what became
/// of it.
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
