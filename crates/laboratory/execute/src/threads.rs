//! Runs specs on local threads. The outcome is ordered by the plan and does not depend on the number of threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fanin_lab::{Batch, Broken, Done, Executor, News, Pace, Reached, Runner};
use fanin_spec::RunSpec;
use fanin_tables::RunError;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::cache::{Cache, Found};
use crate::estimate::{Costs, spread};

/// Threads of this process.
#[derive(Clone, Copy)]
pub struct Threads<'a> {
    /// Runs one spec.
    pub runner: &'a dyn Runner,
    /// Cache of finished runs, if any.
    pub cache: Option<&'a Cache>,
    /// Number of threads; the last runs may use several each.
    pub jobs: NonZeroUsize,
    /// Stops work.
    pub stop: &'a AtomicBool,
}

/// Interval of progress reports.
const TICK: Duration = Duration::from_millis(200);

/// Interval at which a run is asked how far it is.
const LOOK: Duration = Duration::from_secs(1);
/// That interval is at least this many times as long as the answer takes.
const LEAST_BETWEEN: u32 = 100;
/// The least share from which a run's duration is estimated.
const LEAST_SHARE: f64 = 0.01;

/// Message of a worker.
#[expect(clippy::large_enum_variant, reason = "one is sent per run, and none is stored")]
enum Word {
    Cached(usize, Box<Done>),
    Started(usize),
    /// How far a run is.
    Reached(usize, Reached),
    Ended(usize, Result<Done, RunError>),
    Notice(String),
}

impl Executor for Threads<'_> {
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken> {
        let specs = batch.specs;
        let order = schedule(specs);
        let queue = Queue { order: &order, cores: self.jobs.get(), taken: Mutex::default() };
        let jobs = self.jobs.get().min(specs.len());
        let mut underway = Underway::new(specs, jobs);
        let mut broken: Option<(usize, String)> = None;
        let mut told = clock();
        thread::scope(|scope| {
            let (say, words) = mpsc::channel();
            for _ in 0..jobs {
                let (say, queue) = (say.clone(), &queue);
                scope.spawn(move || self.work(batch, queue, &say));
            }
            drop(say);
            loop {
                match words.recv_timeout(TICK) {
                    Ok(Word::Cached(place, done)) => {
                        underway.found(place);
                        tell(News::Ended { place, done, cached: true });
                    }
                    Ok(Word::Notice(text)) => tell(News::Notice(text)),
                    Ok(Word::Started(place)) => underway.started(place),
                    Ok(Word::Reached(place, reached)) => underway.reached(place, reached),
                    Ok(Word::Ended(place, Err(RunError::Broken(what)))) => {
                        self.stop.store(true, Ordering::Relaxed);
                        if broken.as_ref().is_none_or(|(first, _)| place < *first) {
                            broken = Some((place, what));
                        }
                    }
                    Ok(Word::Ended(place, result)) => {
                        underway.ended(place, result.is_ok());
                        match result {
                            Ok(done) => tell(News::Ended { place, done: Box::new(done), cached: false }),
                            Err(RunError::Raised(what)) => tell(News::Raised { place, what }),
                            Err(_) => {}
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if told.elapsed() >= TICK {
                    // The estimate looks at every run, so it is not updated for each one.
                    tell(underway.news());
                    told = clock();
                }
            }
        });
        match broken {
            Some((place, what)) => Err(Broken::new(&specs[place], what)),
            None => Ok(underway.start.elapsed()),
        }
    }
}

impl Threads<'_> {
    fn work(&self, batch: Batch<'_>, queue: &Queue<'_>, words: &mpsc::Sender<Word>) {
        while !self.stop.load(Ordering::Relaxed)
            && let Some((place, cores)) = queue.take()
        {
            self.carry_one_out(batch, place, cores, words);
            queue.give_back(cores);
        }
    }

    fn carry_one_out(&self, batch: Batch<'_>, place: usize, cores: NonZeroUsize, words: &mpsc::Sender<Word>) {
        // The receiver outlives the workers, so sending does not fail.
        let say = |word: Word| drop(words.send(word));
        let cache = self.cache.filter(|_| batch.watch.is_none());
        let spec = &batch.specs[place];
        match cache.map_or(Found::Nothing, |cache| cache.get(spec)) {
            Found::Run(done) => return say(Word::Cached(place, done)),
            Found::Damaged(path) => {
                say(Word::Notice(format!("discarded a damaged cache entry: {}", path.display())));
            }
            Found::Nothing => {}
        }
        say(Word::Started(place));
        let before = user_time(cores);
        let (mut told, mut wait) = (clock(), LOOK);
        let mut tell = |reached: &dyn Fn() -> Reached| {
            let now = told.elapsed();
            if now >= wait {
                say(Word::Reached(place, reached()));
                // With millions of connections, to look takes long.
                wait = LOOK.max((told.elapsed() - now) * LEAST_BETWEEN);
                told = clock();
            }
        };
        let result = match batch.watch {
            None => self.runner.run_on(spec, cores, self.stop, &mut tell),
            Some(watch) => self.runner.watch(spec, watch.clone(), self.stop),
        };
        let cpu = user_time(cores).saturating_sub(before);
        let result = result.map(|tables| Done { tables, cpu });
        if let (Ok(done), Some(cache)) = (&result, cache)
            && let Err(error) = cache.put(spec, done)
        {
            say(Word::Notice(format!("cannot cache runs in {}: {error}", cache.folder().display())));
        }
        say(Word::Ended(place, result));
    }
}

/// Assigns runs and cores.
struct Queue<'a> {
    order: &'a [usize],
    cores: usize,
    /// Assigned runs and cores.
    taken: Mutex<(usize, usize)>,
}

impl Queue<'_> {
    /// The next run and its cores; several cores if fewer runs than cores are left.
    fn take(&self) -> Option<(usize, NonZeroUsize)> {
        let (runs, cores) = &mut *self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let place = *self.order.get(*runs)?;
        let free = self.cores.saturating_sub(*cores);
        let given = NonZeroUsize::new(free / (self.order.len() - *runs)).unwrap_or(NonZeroUsize::MIN);
        (*runs, *cores) = (*runs + 1, *cores + given.get());
        Some((place, given))
    }

    /// Returns a run's cores.
    fn give_back(&self, cores: NonZeroUsize) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).1 -= cores.get();
    }
}

/// Order of execution: the first seed of every point, then the second, so that a stop leaves results everywhere and costs are known
/// early; the largest fan-ins first, as they usually take longest.
fn schedule(specs: &[RunSpec]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..specs.len()).collect();
    order.sort_by_key(|&i| (specs[i].seed, std::cmp::Reverse(specs[i].fan_in), i));
    order
}

/// User CPU time of the calling thread, or of the process for a run on several cores.
fn user_time(cores: NonZeroUsize) -> Duration {
    if cores == NonZeroUsize::MIN { thread_user_time() } else { user_time_of(UsageWho::RUSAGE_SELF) }
}

/// User CPU time of the calling thread.
pub(crate) fn thread_user_time() -> Duration {
    user_time_of(UsageWho::RUSAGE_THREAD)
}

fn user_time_of(who: UsageWho) -> Duration {
    getrusage(who).map_or(Duration::ZERO, |u| Duration::from_micros(u.user_time().num_microseconds().unsigned_abs()))
}

/// The wall clock, which no result depends on.
#[expect(clippy::disallowed_methods, reason = "progress and cost need a clock")]
pub fn clock() -> Instant {
    Instant::now()
}

/// Progress of a batch.
struct Underway<'a> {
    specs: &'a [RunSpec],
    jobs: usize,
    start: Instant,
    waiting: Vec<bool>,
    /// Starts of runs.
    running: BTreeMap<usize, Instant>,
    /// How far each was when it was asked last, and how long it had taken.
    reached: BTreeMap<usize, (Reached, Duration)>,
    costs: Costs,
}

impl<'a> Underway<'a> {
    fn new(specs: &'a [RunSpec], jobs: usize) -> Underway<'a> {
        let waiting = vec![true; specs.len()];
        let (running, reached, costs) = (BTreeMap::new(), BTreeMap::new(), Costs::default());
        Underway { specs, jobs, start: clock(), waiting, running, reached, costs }
    }

    fn found(&mut self, place: usize) {
        self.waiting[place] = false;
    }

    fn started(&mut self, place: usize) {
        self.waiting[place] = false;
        self.running.insert(place, clock());
    }

    fn reached(&mut self, place: usize, reached: Reached) {
        if let Some(since) = self.running.get(&place) {
            self.reached.insert(place, (reached, since.elapsed()));
        }
    }

    fn ended(&mut self, place: usize, finished: bool) {
        self.reached.remove(&place);
        let since = self.running.remove(&place);
        if let (Some(since), true) = (since, finished) {
            self.costs.learn(&self.specs[place], since.elapsed());
        }
    }

    /// Expected duration of a run: by the part of it that is done, by finished runs, or by the longest one under way.
    fn expect(&self, place: usize) -> Option<Duration> {
        let foreseen =
            |(reached, took): &(Reached, Duration)| (reached.share >= LEAST_SHARE).then(|| took.div_f64(reached.share));
        let own = self.reached.get(&place).and_then(foreseen);
        let longest = || self.reached.values().filter_map(foreseen).max();
        own.or_else(|| self.costs.expect(&self.specs[place])).or_else(longest)
    }

    /// Pace of the runs under way that have been asked how far they are.
    fn pace(&self) -> Option<Pace> {
        let oldest =
            self.running.iter().filter(|(place, _)| self.reached.contains_key(place)).min_by_key(|(_, since)| **since);
        let (oldest, _) = self.reached.get(oldest?.0)?;
        let rates = self.reached.values().map(|(reached, took)| reached.data_packets as f64 / took.as_secs_f64());
        Some(Pace { simulated: oldest.simulated, packets_per_s: rates.sum::<f64>() as u64 })
    }

    fn news(&self) -> News {
        News::Underway { elapsed: self.start.elapsed(), left: self.left(), pace: self.pace() }
    }

    /// Remaining wall time; `None` before anything is known of a run.
    fn left(&self) -> Option<Duration> {
        let waiting = (0..self.specs.len()).filter(|&i| self.waiting[i]).map(|i| (i, Duration::ZERO));
        let running = self.running.iter().map(|(&i, since)| (i, since.elapsed()));
        let left: Option<Vec<Duration>> =
            waiting.chain(running).map(|(i, spent)| self.expect(i).map(|whole| whole.saturating_sub(spent))).collect();
        left.map(|left| spread(left.into_iter(), self.jobs as u32))
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::Time;

    use super::*;

    #[test]
    fn the_first_run_tells_how_long_all_take() {
        let text =
            "schemes = [\"newreno\"]\n[workload]\nfragment = \"64 KiB\"\n[sweep]\nfan_in = [4]\n[run]\nseeds = 3\n";
        let variants = fanin_spec::Scenario::parse("x.toml", text).and_then(|scenario| scenario.variants()).unwrap();
        let specs: Vec<RunSpec> = (1..=3).filter_map(|seed| variants[0].run(4, seed)).collect();
        let mut underway = Underway::new(&specs, 1);
        underway.started(0);
        let reached = |share| Reached { share, simulated: Time::from_micros(700), data_packets: 5_000 };
        assert_eq!(underway.pace(), None);
        underway.reached(0, reached(0.001));
        assert_eq!(underway.left(), None);
        underway.reached(0, reached(0.25));
        let (_, took) = underway.reached[&0];
        let pace = Pace { simulated: Time::from_micros(700), packets_per_s: (5_000.0 / took.as_secs_f64()) as u64 };
        assert_eq!(underway.pace(), Some(pace));
        let whole = took * 4;
        // This one and two more.
        assert!(underway.left().is_some_and(|left| left >= whole * 2 && left <= whole * 3));
    }

    #[test]
    fn assigns_several_cores_to_the_last_runs_only() {
        let given = |cores: usize, runs: usize| {
            let order: Vec<usize> = (0..runs).collect();
            let queue = Queue { order: &order, cores, taken: Mutex::default() };
            std::iter::from_fn(|| queue.take()).map(|(_, cores)| cores.get()).collect::<Vec<_>>()
        };
        assert_eq!(given(4, 1), [4]);
        assert_eq!(given(4, 3), [1, 1, 2]);
        assert_eq!(given(2, 3), [1, 1, 1], "two of them are still running");
        let order = [0, 1, 2];
        let queue = Queue { order: &order, cores: 2, taken: Mutex::default() };
        let (one, other) = (queue.take(), queue.take());
        one.into_iter().chain(other).for_each(|(_, cores)| queue.give_back(cores));
        assert_eq!(queue.take().map(|(place, cores)| (place, cores.get())), Some((2, 2)));
    }
}
