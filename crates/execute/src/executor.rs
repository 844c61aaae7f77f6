//! Runs specs on local threads. The outcome is ordered by the plan and does not depend on the number of threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fanin_lab::{Broken, Done, Outcome, Planner, Runner, Wishes};
use fanin_spec::{Contender, RunError, RunSpec};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::cache::{Cache, Found};
use crate::estimate::{Costs, spread};

/// What runs specs, and where.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// Runs one spec.
    pub runner: &'a dyn Runner,
    /// Keeps finished runs, if anything does.
    pub cache: Option<&'a Cache>,
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Ends it with what has finished.
    pub stop: &'a AtomicBool,
}

/// How far the work is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Runs finished.
    pub done: usize,
    /// Runs planned.
    pub total: usize,
    /// Wall time since the start.
    pub elapsed: Duration,
    /// Wall time that is left, as the finished runs have it; `None` before the first has finished.
    pub left: Option<Duration>,
}

/// How often progress is told.
const TICK: Duration = Duration::from_millis(200);

/// What a worker tells.
#[expect(clippy::large_enum_variant, reason = "one is sent a run, and none is kept")]
enum News {
    Cached(usize, Box<Done>),
    Started(usize),
    Ended(usize, Result<Done, RunError>),
    Notice(String),
}

/// Carries a plan out to its end, batch after batch: everything that was planned, by scheme, point, seed, and what became
/// of it.
///
/// # Errors
/// As [`execute`].
pub fn conduct(
    lab: &Lab,
    contenders: &[Contender],
    wishes: Wishes,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Vec<RunSpec>, Outcome), Broken> {
    let planner = Planner::new(contenders, wishes);
    let mut all = Outcome { runs: Vec::new(), cached: 0, notices: Vec::new(), wall: Duration::ZERO };
    let (mut done, mut unfinished) = (Vec::new(), Vec::new());
    while unfinished.is_empty() {
        let batch = planner.next(&done);
        if batch.is_empty() {
            break;
        }
        let outcome = execute(lab, &batch, progress)?;
        for (spec, run) in batch.into_iter().zip(outcome.runs) {
            match run {
                Some(run) => done.push((spec, run)),
                None => unfinished.push(spec),
            }
        }
        all.cached += outcome.cached;
        all.notices.extend(outcome.notices);
        all.wall += outcome.wall;
    }
    let place = |spec: &RunSpec| contenders.iter().position(|c| c.label == spec.label);
    let mut runs: Vec<(RunSpec, Option<Done>)> = done.into_iter().map(|(spec, run)| (spec, Some(run))).collect();
    runs.extend(unfinished.into_iter().map(|spec| (spec, None)));
    runs.sort_by_cached_key(|(spec, _)| (place(spec), spec.place, spec.seed));
    let (specs, runs) = runs.into_iter().unzip();
    Ok((specs, Outcome { runs, ..all }))
}

/// Runs every spec, as [`each`] does, and keeps what became of them.
///
/// # Errors
/// As [`each`].
pub fn execute(lab: &Lab, specs: &[RunSpec], progress: &mut dyn FnMut(Progress)) -> Result<Outcome, Broken> {
    let mut runs: Vec<Option<Done>> = specs.iter().map(|_| None).collect();
    let Ended { cached, notices, wall } = each(lab, specs, &mut |index, done| runs[index] = Some(done), progress)?;
    Ok(Outcome { runs, cached, notices, wall })
}

/// How runs went of which others took what they gave.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// Runs that came from the cache.
    pub(crate) cached: usize,
    /// What the user may want to know of the cache.
    pub(crate) notices: Vec<String>,
    /// Wall time of it all.
    pub(crate) wall: Duration,
}

/// Runs every spec, but for those that the cache has. `take` has each as it ends, with its place in `specs`; `progress` is told
/// some times a second: to work out what is left takes a look at every run, so that it is not done as each ends. Both are called
/// on the calling thread.
///
/// A stop ends it with what has finished by then.
///
/// # Errors
/// A run that broke an invariant; it stops the others.
pub(crate) fn each(
    lab: &Lab,
    specs: &[RunSpec],
    take: &mut dyn FnMut(usize, Done),
    progress: &mut dyn FnMut(Progress),
) -> Result<Ended, Broken> {
    let order = schedule(specs);
    let next = AtomicUsize::new(0);
    let jobs = lab.jobs.get().min(specs.len());
    let mut watch = Watch::new(specs, jobs);
    let (mut cached, mut notices) = (0, Vec::new());
    let mut broken: Option<(usize, String)> = None;
    let mut told = clock();
    thread::scope(|scope| {
        let (tell, news) = mpsc::channel();
        for _ in 0..jobs {
            let (tell, order, next) = (tell.clone(), &order, &next);
            scope.spawn(move || work(lab, specs, order, next, &tell));
        }
        drop(tell);
        loop {
            match news.recv_timeout(TICK) {
                Ok(News::Cached(index, done)) => {
                    watch.found(index);
                    cached += 1;
                    take(index, *done);
                }
                Ok(News::Notice(text)) => notices.push(text),
                Ok(News::Started(index)) => watch.started(index),
                Ok(News::Ended(index, Err(RunError::Broken(what)))) => {
                    lab.stop.store(true, Ordering::Relaxed);
                    if broken.as_ref().is_none_or(|(first, _)| index < *first) {
                        broken = Some((index, what));
                    }
                }
                Ok(News::Ended(index, result)) => {
                    watch.ended(index, result.is_ok());
                    if let Ok(done) = result {
                        take(index, done);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if told.elapsed() >= TICK {
                progress(watch.progress());
                told = clock();
            }
        }
    });
    match broken {
        Some((index, what)) => Err(Broken::new(&specs[index], what)),
        None => {
            notices.sort();
            notices.dedup();
            Ok(Ended { cached, notices, wall: watch.start.elapsed() })
        }
    }
}

/// The order of work: the first seed of every point, then the second, so that a stop leaves something everywhere and
/// costs are known early; the largest fan-ins first, since they may take longest.
fn schedule(specs: &[RunSpec]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..specs.len()).collect();
    order.sort_by_key(|&i| (specs[i].seed, std::cmp::Reverse(specs[i].fan_in), i));
    order
}

fn work(lab: &Lab, specs: &[RunSpec], order: &[usize], next: &AtomicUsize, news: &mpsc::Sender<News>) {
    // The receiver outlives the workers; a failed send would have nobody to hear of it.
    let tell = |piece: News| drop(news.send(piece));
    while !lab.stop.load(Ordering::Relaxed)
        && let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed))
    {
        let spec = &specs[index];
        match lab.cache.map_or(Found::Nothing, |cache| cache.get(spec)) {
            Found::Run(done) => {
                tell(News::Cached(index, done));
                continue;
            }
            Found::Damaged(place) => {
                tell(News::Notice(format!("a damaged entry of the cache was discarded: {}", place.display())));
            }
            Found::Nothing => {}
        }
        tell(News::Started(index));
        let before = thread_user_time();
        let result = lab.runner.run(spec, lab.stop);
        let cpu = thread_user_time().saturating_sub(before);
        let result = result.map(|tables| Done { tables, cpu });
        if let (Ok(done), Some(cache)) = (&result, lab.cache)
            && let Err(error) = cache.put(spec, done)
        {
            tell(News::Notice(format!("runs are not kept in {}: {error}", cache.folder().display())));
        }
        tell(News::Ended(index, result));
    }
}

/// User CPU time of the calling thread.
fn thread_user_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD);
    usage.map_or(Duration::ZERO, |u| Duration::from_micros(u.user_time().num_microseconds().unsigned_abs()))
}

/// The wall clock, which no result sees.
#[expect(clippy::disallowed_methods, reason = "progress and cost figures need a clock")]
pub(crate) fn clock() -> Instant {
    Instant::now()
}

/// What the calling thread knows of the work.
struct Watch<'a> {
    specs: &'a [RunSpec],
    jobs: usize,
    start: Instant,
    done: usize,
    waiting: Vec<bool>,
    running: BTreeMap<usize, Instant>,
    costs: Costs,
}

impl<'a> Watch<'a> {
    fn new(specs: &'a [RunSpec], jobs: usize) -> Watch<'a> {
        Watch {
            specs,
            jobs,
            start: clock(),
            done: 0,
            waiting: vec![true; specs.len()],
            running: BTreeMap::new(),
            costs: Costs::default(),
        }
    }

    fn found(&mut self, index: usize) {
        self.waiting[index] = false;
        self.done += 1;
    }

    fn started(&mut self, index: usize) {
        self.waiting[index] = false;
        self.running.insert(index, clock());
    }

    fn ended(&mut self, index: usize, finished: bool) {
        let since = self.running.remove(&index);
        if let (Some(since), true) = (since, finished) {
            self.costs.learn(&self.specs[index], since.elapsed());
            self.done += 1;
        }
    }

    fn progress(&self) -> Progress {
        let waiting = (0..self.specs.len()).filter(|&i| self.waiting[i]).map(|i| (i, Duration::ZERO));
        let running = self.running.iter().map(|(&i, since)| (i, since.elapsed()));
        let left: Option<Vec<Duration>> = waiting
            .chain(running)
            .map(|(i, spent)| self.costs.expect(&self.specs[i]).map(|whole| whole.saturating_sub(spent)))
            .collect();
        Progress {
            done: self.done,
            total: self.specs.len(),
            elapsed: self.start.elapsed(),
            left: left.map(|left| spread(left.into_iter(), self.jobs as u32)),
        }
    }
}
