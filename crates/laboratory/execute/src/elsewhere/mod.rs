//! Remote execution: packs runs into batches, which a [`Transport`] takes to workers, and reads their results. Lost batches are sent
//! again; results equal those of local threads, in any order and after any number of attempts.

mod batch;
#[cfg(test)]
mod tests;
mod waiting;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fanin_lab::{Batch, Broken, Done, Executor, News, Runner};
use fanin_spec::{RunParts, RunSpec};

use crate::cache::{Cache, Found};
use crate::threads::clock;
pub use batch::work;
use batch::{Answer, RunResult, pack, read};
use waiting::{MOST_TRIES, Waiting};

/// Transport of batches to workers: local processes or a cluster.
pub trait Transport {
    /// Number of batches that are worked on at once, if known.
    fn at_once(&self) -> usize;

    /// Accepts a numbered batch.
    ///
    /// # Errors
    /// Why it accepts no more batches.
    fn hand_in(&self, number: u64, batch: Vec<u8>) -> Result<(), String>;

    /// The next result, or `None` after this time.
    fn next(&self, most: Duration) -> Option<(u64, BatchResult)>;

    /// Cancels outstanding batches.
    fn give_up(&self);

    /// Reports that work has ended early.
    fn ended(&self, why: StopReason<'_>);
}

/// Result of a batch.
pub enum BatchResult {
    /// Output of [`work`].
    Answer(Vec<u8>),
    /// Lost with its worker or on the way, with the reason.
    Lost(String),
    /// Refused by the workers, with the reason.
    Refused(String),
}

/// Why work has ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason<'a> {
    /// Workers refuse such batches.
    Refused(&'a str),
    /// The transport accepts no more batches; finished runs remain.
    Gone(&'a str),
    /// A run was lost too often; other runs are finished.
    Lost(&'a str),
}

/// Remote workers.
pub struct Elsewhere<'a> {
    carrier: &'a dyn Transport,
    /// Estimates the cost of runs; runs none itself.
    runner: &'a dyn Runner,
    engine: &'a str,
    /// Local cache, checked before sending and filled with results.
    cache: Option<&'a Cache>,
    /// Folder for the workers' caches.
    cache_there: Option<PathBuf>,
    stop: &'a AtomicBool,
    /// Whether it accepts no more work.
    ended: Cell<bool>,
}

/// Polling interval for stops, and minimum interval of progress reports.
const TICK: Duration = Duration::from_millis(50);
const TOLD: Duration = Duration::from_millis(200);
/// Maximum number of lost runs named.
const NAMED: usize = 3;

impl<'a> Elsewhere<'a> {
    /// Remote workers, which must have the same engine.
    pub fn new(
        carrier: &'a dyn Transport,
        runner: &'a dyn Runner,
        engine: &'a str,
        cache: Option<&'a Cache>,
        cache_there: Option<PathBuf>,
        stop: &'a AtomicBool,
    ) -> Elsewhere<'a> {
        Elsewhere { carrier, runner, engine, cache, cache_there, stop, ended: Cell::new(false) }
    }

    fn end(&self, why: StopReason<'_>) {
        if !self.ended.replace(true) {
            self.carrier.ended(why);
        }
    }
}

impl Executor for Elsewhere<'_> {
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken> {
        let start = clock();
        let mut session = Session::new(self, batch, start);
        session.look_up(tell);
        let worked = session.work(tell);
        if !session.underway.is_empty() {
            self.carrier.give_up();
        }
        worked?;
        session.name_lost(tell);
        Ok(start.elapsed())
    }
}

/// A session with one batch of runs.
struct Session<'a> {
    of: &'a Elsewhere<'a>,
    batch: Batch<'a>,
    start: Instant,
    told: Instant,
    waiting: Waiting,
    /// Sent batches: indices of their runs.
    underway: BTreeMap<u64, Vec<usize>>,
    next_number: u64,
    /// Runs that were lost too often, with the last reason.
    lost: Vec<(usize, String)>,
    /// Why the transport accepts no more batches.
    gone: Option<String>,
}

impl<'a> Session<'a> {
    fn new(of: &'a Elsewhere<'a>, batch: Batch<'a>, start: Instant) -> Session<'a> {
        let waiting = Waiting::new(batch.specs.len());
        let (underway, lost) = (BTreeMap::new(), Vec::new());
        Session { of, batch, start, told: start, waiting, underway, next_number: 0, lost, gone: None }
    }

    fn cache(&self) -> Option<&'a Cache> {
        self.of.cache.filter(|_| self.batch.watch.is_none())
    }

    fn is_stopped(&self) -> bool {
        self.of.ended.get() || self.of.stop.load(Ordering::Relaxed)
    }

    /// Takes runs from the cache, and queues the others by cost.
    fn look_up(&mut self, tell: &mut dyn FnMut(News)) {
        let mut wanted = Vec::new();
        for (place, spec) in self.batch.specs.iter().enumerate() {
            if self.is_stopped() {
                return;
            }
            match self.cache().map_or(Found::Nothing, |cache| cache.get(spec)) {
                Found::Run(done) => {
                    tell(News::Ended { place, done, cached: true });
                    continue;
                }
                Found::Damaged(path) => {
                    tell(News::Notice(format!("discarded a damaged cache entry: {}", path.display())));
                }
                Found::Nothing => {}
            }
            wanted.push(place);
            self.tick(tell);
        }
        let cost = |place: usize| {
            let spec = &self.batch.specs[place];
            self.of.runner.need(&spec.scheme, &spec.settings).cpu_s
        };
        self.waiting.fill(wanted, cost);
    }

    /// Works until all results have arrived or no more will.
    fn work(&mut self, tell: &mut dyn FnMut(News)) -> Result<(), Broken> {
        while !self.is_stopped() {
            self.hand_in();
            if self.underway.is_empty() {
                break;
            }
            if let Some((number, came)) = self.of.carrier.next(TICK) {
                self.take(number, came, tell)?;
            }
            self.tick(tell);
        }
        if let Some(why) = self.gone.take() {
            self.of.end(StopReason::Gone(&why));
        }
        Ok(())
    }

    /// Sends enough batches to keep all workers busy, but not many more.
    fn hand_in(&mut self) {
        let at_once = self.of.carrier.at_once().max(1);
        while self.gone.is_none() && self.underway.len() < 2 * at_once + 2 {
            let places = self.waiting.batch(at_once);
            if places.is_empty() {
                return;
            }
            let runs: Vec<&RunSpec> = places.iter().map(|&place| &self.batch.specs[place]).collect();
            let batch = pack(self.of.engine, &runs, self.batch.watch, self.of.cache_there.as_ref());
            let number = self.next_number;
            self.next_number += 1;
            match self.of.carrier.hand_in(number, batch) {
                Ok(()) => drop(self.underway.insert(number, places)),
                Err(why) => self.gone = Some(why),
            }
        }
    }

    /// Handles the result of a batch.
    fn take(&mut self, number: u64, came: BatchResult, tell: &mut dyn FnMut(News)) -> Result<(), Broken> {
        // Ignore results of cancelled batches.
        let Some(places) = self.underway.remove(&number) else { return Ok(()) };
        let answer = match came {
            BatchResult::Answer(bytes) => read(self.of.engine, &bytes, places.len()),
            BatchResult::Lost(why) => {
                self.lose(&places, &why);
                return Ok(());
            }
            BatchResult::Refused(why) => Answer::Refused(why),
        };
        match answer {
            Answer::Runs(gave, notices) => {
                notices.into_iter().for_each(|notice| tell(News::Notice(notice)));
                for (place, gave) in places.into_iter().zip(gave) {
                    match gave {
                        RunResult::Done(done, cached) => self.ended(place, done, cached, tell),
                        RunResult::Broken(what) => return Err(Broken::new(&self.batch.specs[place], what)),
                        RunResult::Stopped => self.lose(&[place], "its worker was stopped"),
                        RunResult::Raised(what) => {
                            self.waiting.ended(place);
                            tell(News::Raised { place, what });
                        }
                    }
                }
            }
            Answer::Refused(why) => self.of.end(StopReason::Refused(&why)),
            Answer::Damaged => self.lose(&places, "its result is unreadable"),
        }
        Ok(())
    }

    fn ended(&mut self, place: usize, done: Box<Done>, cached: bool, tell: &mut dyn FnMut(News)) {
        if !cached {
            self.waiting.learn(place, done.cpu);
        }
        self.waiting.ended(place);
        if let Some(cache) = self.cache()
            && let Err(error) = cache.put(&self.batch.specs[place], &done)
        {
            tell(News::Notice(format!("cannot cache runs in {}: {error}", cache.folder().display())));
        }
        tell(News::Ended { place, done, cached });
    }

    /// Queues lost runs again, or gives them up after too many attempts.
    fn lose(&mut self, places: &[usize], why: &str) {
        for &place in places {
            if !self.waiting.again(place) {
                self.waiting.ended(place);
                self.lost.push((place, why.into()));
            }
        }
    }

    /// Names runs that were lost too often, after which no more runs are planned.
    fn name_lost(&self, tell: &mut dyn FnMut(News)) {
        for (place, why) in self.lost.iter().take(NAMED) {
            let RunParts { label, point, seed, .. } = &*self.batch.specs[*place];
            let what =
                format!("{label} at {point} under seed {seed} was sent {MOST_TRIES} times and lost each time: {why}");
            tell(News::Notice(what.clone()));
            self.of.end(StopReason::Lost(&what));
        }
        if self.lost.len() > NAMED {
            tell(News::Notice(format!("{} more runs were lost", self.lost.len() - NAMED)));
        }
    }

    fn tick(&mut self, tell: &mut dyn FnMut(News)) {
        if self.told.elapsed() >= TOLD {
            let left = self.waiting.left(self.of.carrier.at_once().max(1));
            tell(News::Underway { elapsed: self.start.elapsed(), left, pace: None });
            self.told = clock();
        }
    }
}
