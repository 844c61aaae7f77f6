//! Runs that are carried out elsewhere: packed into batches, which a [`Transport`] takes to workers, and read from their answers. What
//! was lost on the way is handed in again; the results are those of local threads, in whatever order and however often it goes.

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

/// What takes batches to workers: processes of this machine, or a cluster's.
pub trait Transport {
    /// How many batches are worked on at once, as far as that is known.
    fn at_once(&self) -> usize;

    /// Takes a batch in, under a number of its own.
    ///
    /// # Errors
    /// Why it takes none, now and ever after.
    fn hand_in(&self, number: u64, batch: Vec<u8>) -> Result<(), String>;

    /// What has come of a batch, as soon as anything has; `None` where nothing did for so long.
    fn next(&self, most: Duration) -> Option<(u64, BatchResult)>;

    /// Nobody waits any more for what is under way.
    fn give_up(&self);

    /// Work has ended before its end.
    fn ended(&self, why: StopReason<'_>);
}

/// What comes of a batch.
pub enum BatchResult {
    /// What [`work`] gave.
    Answer(Vec<u8>),
    /// It was lost, with its worker or on the way: why.
    Lost(String),
    /// Workers do not take such batches: why.
    Refused(String),
}

/// Why work has ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason<'a> {
    /// Workers do not do it: nothing that they could say is wanted.
    Refused(&'a str),
    /// The carrier takes nothing more; what is done stands.
    Gone(&'a str),
    /// Runs were lost too often, of which this names one; the others are done.
    Lost(&'a str),
}

/// Workers elsewhere.
pub struct Elsewhere<'a> {
    carrier: &'a dyn Transport,
    /// Knows what a run will cost; it runs none here.
    runner: &'a dyn Runner,
    engine: &'a str,
    /// Asked before anything is handed in, and keeps what comes back.
    cache: Option<&'a Cache>,
    /// A folder of the workers' for theirs.
    cache_there: Option<PathBuf>,
    stop: &'a AtomicBool,
    /// Nothing is taken on any more.
    ended: Cell<bool>,
}

/// How long a stop may go unheard, and how often progress is told at most.
const TICK: Duration = Duration::from_millis(50);
const TOLD: Duration = Duration::from_millis(200);
/// Runs that are lost are named, up to so many.
const NAMED: usize = 3;

impl<'a> Elsewhere<'a> {
    /// Workers behind a carrier, which are the same engine as this one.
    pub fn new(
        carrier: &'a dyn Transport,
        (runner, engine): (&'a dyn Runner, &'a str),
        (cache, cache_there): (Option<&'a Cache>, Option<PathBuf>),
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

/// A batch on its way.
struct Session<'a> {
    of: &'a Elsewhere<'a>,
    batch: Batch<'a>,
    start: Instant,
    told: Instant,
    waiting: Waiting,
    /// Parcels that were handed in: the places of their runs.
    underway: BTreeMap<u64, Vec<usize>>,
    next_number: u64,
    /// Runs that were lost too often, and the last time why.
    lost: Vec<(usize, String)>,
    /// Why the carrier takes no more.
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

    /// Takes from the cache what it has; all else waits, by what it will cost.
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
                    tell(News::Notice(format!("a damaged entry of the cache was discarded: {}", path.display())));
                }
                Found::Nothing => {}
            }
            wanted.push(place);
            self.tick(tell);
        }
        let cost = |place: usize| self.of.runner.need(&self.batch.specs[place].settings).cpu_s;
        self.waiting.fill(wanted, cost);
    }

    /// Goes on until everything has come, or nothing more will.
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

    /// Hands batches in, so many that no worker waits and none is far from being worked on.
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

    /// Takes what has come of a batch.
    fn take(&mut self, number: u64, came: BatchResult, tell: &mut dyn FnMut(News)) -> Result<(), Broken> {
        // Of what was given up nothing is wanted.
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
            Answer::Damaged => self.lose(&places, "what came back cannot be read"),
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
            tell(News::Notice(format!("runs are not kept in {}: {error}", cache.folder().display())));
        }
        tell(News::Ended { place, done, cached });
    }

    /// Has runs wait once more, or gives those up that were lost too often.
    fn lose(&mut self, places: &[usize], why: &str) {
        for &place in places {
            if !self.waiting.again(place) {
                self.waiting.ended(place);
                self.lost.push((place, why.into()));
            }
        }
    }

    /// Names runs that were lost too often: nothing more is planned after that.
    fn name_lost(&self, tell: &mut dyn FnMut(News)) {
        for (place, why) in self.lost.iter().take(NAMED) {
            let RunParts { label, point, seed, .. } = &*self.batch.specs[*place];
            let what = format!(
                "{label} at {point} under seed {seed} was handed in {MOST_TRIES} times and lost each time: {why}"
            );
            tell(News::Notice(what.clone()));
            self.of.end(StopReason::Lost(&what));
        }
        if self.lost.len() > NAMED {
            tell(News::Notice(format!("so were {} runs more", self.lost.len() - NAMED)));
        }
    }

    fn tick(&mut self, tell: &mut dyn FnMut(News)) {
        if self.told.elapsed() >= TOLD {
            let left = self.waiting.left(self.of.carrier.at_once().max(1));
            tell(News::Underway { elapsed: self.start.elapsed(), left });
            self.told = clock();
        }
    }
}
