//! Lab: the executor of runs, the cache of finished ones, and the stop flag.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use etcetera::{BaseStrategy, choose_base_strategy};
use fanin_execute::{Cache, Elsewhere, Forecast, Threads, Transport, forecast, free_memory};
use fanin_lab::{Executor, Progress, Runner};
use fanin_sim::{Team, one_core};
use fanin_spec::{Base, Need, RunError, RunSpec, RunTables, Settings, Variant, Watch};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::Error;

/// The simulator.
pub(crate) struct Simulator;

impl Runner for Simulator {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        under_its_law(spec, || fanin_sim::run(spec, stop))
    }

    fn run_on(&self, spec: &RunSpec, cores: NonZeroUsize, stop: &AtomicBool) -> Result<RunTables, RunError> {
        match one_core(spec) {
            None if cores > NonZeroUsize::MIN => on_cores(spec, cores, stop),
            _ => self.run(spec, stop),
        }
    }

    fn watch(&self, spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        under_its_law(spec, || fanin_sim::watch(spec, watch, stop))
    }

    fn need(&self, settings: &Settings) -> Need {
        fanin_sim::need(settings)
    }
}

/// Runs a spec on several cores if that pays; on one if no thread can be started.
fn on_cores(spec: &RunSpec, cores: NonZeroUsize, stop: &AtomicBool) -> Result<RunTables, RunError> {
    match ThreadPoolBuilder::new().num_threads(cores.get()).build() {
        Ok(pool) => pool.install(|| fanin_sim::run_in_parts(spec, cores, &SideBySide, stop)),
        Err(_) => fanin_sim::run(spec, stop),
    }
}

/// The threads of the current pool.
struct SideBySide;

impl Team for SideBySide {
    fn each<P: Send>(&self, parts: &mut [P], serve: impl Fn(&mut P) + Send + Sync) {
        parts.par_iter_mut().with_max_len(1).for_each(serve);
    }
}

/// Runs a spec; an algorithm of the caller's wraps the run.
pub(crate) fn under_its_law<T: Send>(
    spec: &RunSpec,
    run: impl FnOnce() -> Result<T, RunError> + Send,
) -> Result<T, RunError> {
    let Base::Foreign(law) = spec.scheme.base else { return run() };
    let (mut run, mut came) = (Some(run), None);
    law.source().during(&mut || came = run.take().map(|run| run())).map_err(RunError::Raised)?;
    came.unwrap_or(Err(RunError::Stopped))
}

/// News while a lab works.
#[derive(Clone, Debug)]
pub enum Update {
    /// Expected cost of runs, before the first starts; comes twice if a comparison repeats runs with jitter.
    Forecast(Forecast),
    /// Progress, several times a second.
    Progress(Progress),
    /// Information for the user.
    Notice(String),
    /// A reason to doubt a result.
    Warning(String),
}

/// Carries out runs, by default on all cores of this machine and with the user's cache of finished runs. A run's result depends on neither.
pub struct Lab {
    jobs: NonZeroUsize,
    cache: Option<Cache>,
    executor: Option<Box<dyn Executor>>,
    /// The transport that takes runs to workers, and the workers' cache folder.
    transport: Option<(Box<dyn Transport>, Option<PathBuf>)>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Default for Lab {
    fn default() -> Lab {
        let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Lab { jobs, cache: user_cache(), executor: None, transport: None, stop: Arc::default() }
    }
}

impl Lab {
    /// A lab with `jobs` threads.
    #[must_use]
    pub fn jobs(self, jobs: NonZeroUsize) -> Lab {
        Lab { jobs, ..self }
    }

    /// A lab that neither reads nor writes a cache.
    #[must_use]
    pub fn without_cache(self) -> Lab {
        Lab { cache: None, ..self }
    }

    /// A lab that caches finished runs in a folder.
    #[must_use]
    pub fn cache_in(self, folder: impl Into<PathBuf>) -> Lab {
        Lab { cache: Some(Cache::new(folder, fanin_sim::ENGINE)), ..self }
    }

    /// A lab whose runs another executor carries out, instead of its threads and its cache.
    #[must_use]
    pub fn executor(self, executor: impl Executor + 'static) -> Lab {
        Lab { executor: Some(Box::new(executor)), ..self }
    }

    /// A lab whose runs a transport takes to workers, each of which calls [`work`]. Workers may cache finished runs in their own folder.
    /// This lab's own cache takes precedence.
    #[must_use]
    pub fn with_transport(self, transport: impl Transport + 'static, cache_there: Option<PathBuf>) -> Lab {
        Lab { transport: Some((Box::new(transport), cache_there)), ..self }
    }

    /// A lab that stops once this flag is set, and returns the results up to then.
    #[must_use]
    pub fn stopped_by(self, stop: Arc<AtomicBool>) -> Lab {
        Lab { stop, ..self }
    }

    /// The maximum of concurrent runs.
    pub fn at_once(&self) -> NonZeroUsize {
        self.jobs
    }

    /// Calls `work` with the lab's executor.
    pub(crate) fn with_executor<T>(&self, work: impl FnOnce(&dyn Executor) -> T) -> T {
        let cache = self.cache.as_ref();
        match (&self.executor, &self.transport) {
            (Some(executor), _) => work(executor.as_ref()),
            (None, Some((transport, there))) => {
                let engine: (&dyn Runner, &str) = (&Simulator, fanin_sim::ENGINE);
                work(&Elsewhere::new(transport.as_ref(), engine, (cache, there.clone()), &self.stop))
            }
            (None, None) => work(&Threads { runner: &Simulator, cache, jobs: self.jobs, stop: &self.stop }),
        }
    }

    /// Estimates the cost of variants' runs.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn forecast(&self, variants: &[Variant]) -> Result<Forecast, Error> {
        forecast(&Simulator, self.jobs, variants, free_memory()).map_err(Error::Memory)
    }
}

/// Worker: executes the runs of a batch from a [`Transport`] on the calling thread, and returns their results.
pub fn work(batch: &[u8], stop: &AtomicBool) -> Vec<u8> {
    fanin_execute::work(&Simulator, fanin_sim::ENGINE, batch, stop)
}

/// The engine's name, equal on all workers: another engine's tables may differ.
pub fn engine() -> &'static str {
    fanin_sim::ENGINE
}

/// The user's cache of finished runs; `None` if the system has no cache folder.
pub fn user_cache() -> Option<Cache> {
    let folder = choose_base_strategy().ok()?.cache_dir();
    Some(Cache::new(folder.join("fanin"), fanin_sim::ENGINE))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;
    use crate::law::{Ack, Cause, Congestion, Control, Foreign, Source, Traits, Window, register};
    use crate::{CompareOptions, Comparison, Scenario};

    /// NewReno as an external algorithm; with `fails` it fails at a loss.
    #[derive(Clone, Copy, Debug)]
    struct Outside {
        fails: bool,
    }

    impl Control for Outside {
        fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
            window.cwnd = window.cwnd.saturating_add(ack.acked.min(mss));
        }

        fn congestion_avoidance(&mut self, _: &Ack, mss: u32, window: &mut Window) {
            window.cwnd = window.cwnd.saturating_add((mss * mss / window.cwnd).max(1));
        }

        fn cut(&mut self, _: Cause, at: &Congestion, mss: u32, _: &Window) -> u32 {
            if self.fails && at.flight > 20_000 {
                resume_unwind(Box::new("too much in flight"));
            }
            (at.flight / 2).max(2 * mss)
        }
    }

    impl Foreign for Outside {
        fn fresh(&self) -> Box<dyn Foreign> {
            Box::new(*self)
        }
    }

    impl Source for Outside {
        fn start(&self) -> Box<dyn Foreign> {
            self.fresh()
        }

        fn during(&self, run: &mut (dyn FnMut() + Send)) -> Result<(), String> {
            catch_unwind(AssertUnwindSafe(run)).map_err(|what| what.downcast_ref::<&str>().unwrap().to_string())
        }
    }

    fn compared(lab: &Lab, scheme: &str) -> Comparison {
        let text = format!(
            "schemes = [{{ label = \"it\", scheme = \"{scheme}\" }}]\n[workload]\nfragment = \"64 KiB\"\nduration = \"100 ms\"\n\
             [tcp]\nrto_min = \"10 ms\"\n[sweep]\nfan_in = [2, 32]\n[run]\nseeds = 2\n"
        );
        let resolved = Scenario::parse("laws.toml", text).unwrap().resolve().unwrap();
        lab.compare(&resolved, CompareOptions::default(), &mut |_| {}).unwrap()
    }

    #[test]
    fn external_algorithms_work_in_any_scheme_uncached() {
        register("outside", Traits::default(), Box::new(Outside { fails: false })).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::default().cache_in(folder.path());
        for (own, house) in
            [("outside", "newreno"), ("outside+gss", "newreno+gss"), ("red+ecn+outside", "newreno+red+ecn")]
        {
            let (first, again, house) = (compared(&lab, own), compared(&lab, own), compared(&lab, house));
            assert!(first.runs().map(|run| run.1).eq(house.runs().map(|run| run.1)), "{own}");
            assert_eq!(again.outcome().cached, 0);
        }
        assert_eq!(compared(&lab, "newreno").outcome().cached, 4);
    }

    #[test]
    fn failing_algorithm_ends_only_its_run() {
        register("failing", Traits::default(), Box::new(Outside { fails: true })).unwrap();
        let comparison = compared(&Lab::default(), "failing");
        let raised: Vec<String> = comparison.outcome().raised.iter().map(ToString::to_string).collect();
        assert_eq!(comparison.finished(), [4 - raised.len(), 4]);
        assert!((1..4).contains(&raised.len()), "{raised:?}");
        assert!(raised[0].starts_with("it at fan_in ") && raised[0].ends_with(": too much in flight"), "{raised:?}");
    }

    #[test]
    fn registers_only_names_that_are_not_built_in() {
        let brought = |name| register(name, Traits::default(), Box::new(Outside { fails: false }));
        for (name, why) in [
            ("dctcp", "built-in"),
            ("reno", "built-in"),
            ("ecn", "built-in"),
            ("sicc", "built-in"),
            ("A b", "not a valid"),
        ] {
            assert!(brought(name).unwrap_err().contains(why), "{name}");
        }
        brought("bbr").unwrap();
        assert_eq!(compared(&Lab::default(), "bbr+m21").finished(), [4, 4]);
    }
}
