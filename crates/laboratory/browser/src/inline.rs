//! Runs on the calling thread.

use core::sync::atomic::AtomicBool;
use core::time::Duration;

use fanin_lab::{Batch, Broken, Done, Executor, News, Runner};
use fanin_spec::{Inputs, Need, Packed, RunSpec, Scheme, Settings, Watch};
use fanin_tables::{RunError, RunTables};
use serde::{Deserialize, Serialize};

/// The simulator as the lab's runner.
pub struct Simulator;

impl Runner for Simulator {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<RunTables, RunError> {
        fanin_simulate::run(spec, stop)
    }

    fn watch(&self, spec: &RunSpec, watch: Watch, stop: &AtomicBool) -> Result<RunTables, RunError> {
        fanin_simulate::watch(spec, watch, stop)
    }

    fn need(&self, scheme: &Scheme, settings: &Settings) -> Need {
        fanin_simulate::need(scheme, settings)
    }
}

/// Executes runs one after another.
pub struct Inline;

impl Executor for Inline {
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken> {
        let going = AtomicBool::new(false);
        for (place, spec) in batch.specs.iter().enumerate() {
            let ran = match batch.watch {
                None => fanin_simulate::run(spec, &going),
                Some(watch) => fanin_simulate::watch(spec, watch.clone(), &going),
            };
            match ran {
                Ok(tables) => {
                    let done = Box::new(Done { tables, cpu: Duration::ZERO });
                    tell(News::Ended { place, done, cached: false });
                }
                Err(RunError::Stopped | RunError::Raised(_)) => {}
                Err(RunError::Broken(what)) => return Err(Broken::new(spec, what)),
            }
        }
        Ok(Duration::ZERO)
    }
}

/// A run for another worker.
#[derive(Serialize, Deserialize)]
struct Job {
    settings: Packed,
    /// Tables that the settings refer to, such as sizes of flows.
    inputs: Inputs,
    seed: u64,
}

/// Encodes a run for another worker.
pub fn packed(spec: &RunSpec) -> Vec<u8> {
    let settings = Packed::of(&spec.scheme, &spec.settings);
    let job = Job { settings, inputs: spec.settings.inputs.clone(), seed: spec.seed };
    postcard::to_stdvec(&job).unwrap_or_default()
}

/// Carries out a run that [`Step::Runs`](crate::Step::Runs) asks for; returns its tables for [`Session::take`](crate::Session::take).
///
/// # Errors
/// Bytes that are no run, and a fault of the simulator.
pub fn run(job: &[u8]) -> Result<Vec<u8>, String> {
    let Job { settings, inputs, seed } = postcard::from_bytes(job).map_err(|error| format!("not a run: {error}"))?;
    let variant = settings.unpack(inputs)?;
    let spec = variant.at(0, seed).ok_or("the run has no point")?;
    let tables = fanin_simulate::run(&spec, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
    postcard::to_stdvec(&tables).map_err(|error| error.to_string())
}
