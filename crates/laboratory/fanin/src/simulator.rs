//! The simulator as the lab's runner.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use fanin_lab::{Reached, Runner};
use fanin_sim::Team;
use fanin_simulate::one_core;
use fanin_spec::{Base, Need, RunSpec, Scheme, Settings, Watch};
use fanin_tables::{CollectiveRow, RunError, RunTables};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The engine's name, equal on all workers: another engine's tables may differ.
pub(crate) const ENGINE: &str = fanin_simulate::ENGINE;
/// The runner of a lab's specs.
pub(crate) const RUNNER: &dyn Runner = &Simulator;

/// The simulator.
struct Simulator;

impl Runner for Simulator {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        under_its_law(spec, || fanin_simulate::run(spec, stop))
    }

    fn run_on(
        &self,
        spec: &RunSpec,
        cores: NonZeroUsize,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&dyn Fn() -> Reached),
    ) -> Result<RunTables, RunError> {
        let mut tell = |reached: &dyn Fn() -> fanin_sim::Reached| {
            tell(&|| {
                let reached = reached();
                let share = fanin_simulate::share_done(spec, reached);
                Reached { share, simulated: reached.now, data_packets: reached.data_packets }
            });
        };
        match one_core(spec) {
            None if cores > NonZeroUsize::MIN => on_cores(spec, cores, stop, &mut tell),
            // A caller's algorithm wraps its run.
            _ if spec.scheme.foreign().is_some() => self.run(spec, stop),
            _ => fanin_simulate::run_telling(spec, stop, &mut tell),
        }
    }

    fn watch(&self, spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        under_its_law(spec, || fanin_simulate::watch(spec, watch, stop))
    }

    fn need(&self, scheme: &Scheme, settings: &Settings) -> Need {
        fanin_simulate::need(scheme, settings)
    }
}

/// The simulator, which reports each collective operation of a trace when it ends.
pub(crate) struct Follower<'a>(pub &'a (dyn Fn(&CollectiveRow) + Sync));

impl Runner for Follower<'_> {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        under_its_law(spec, || fanin_simulate::follow(spec, stop, &mut |row| (self.0)(row)))
    }
}

/// Runs a spec on several cores if that pays; on one if no thread can be started.
fn on_cores(
    spec: &RunSpec,
    cores: NonZeroUsize,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&dyn Fn() -> fanin_sim::Reached),
) -> Result<RunTables, RunError> {
    match ThreadPoolBuilder::new().num_threads(cores.get() - 1).build() {
        Ok(pool) => fanin_simulate::run_in_parts(spec, cores, &Pool(pool), stop, tell),
        Err(_) => fanin_simulate::run_telling(spec, stop, tell),
    }
}

/// Threads beside the current one.
struct Pool(ThreadPool);

impl Team for Pool {
    fn together<'a>(&self, others: Vec<Box<dyn FnOnce() + Send + 'a>>, lead: &mut dyn FnMut()) {
        self.0.in_place_scope(|scope| {
            others.into_iter().for_each(|other| scope.spawn(|_| other()));
            lead();
        });
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
