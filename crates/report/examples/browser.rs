//! Comparison in a browser's web worker: the laboratory with a single-threaded executor, without clock and files. Its output equals the
//! program's (a test of the command line compares them).

use core::fmt;
use core::sync::atomic::AtomicBool;
use core::time::Duration;

use fanin_lab::{Batch, Broken, CompareOptions, Done, Executor, News};
use fanin_spec::{Problem, Scenario};
use fanin_tables::RunError;

/// Executes runs one after another on the calling thread.
struct Inline;

impl Executor for Inline {
    fn carry_out(&self, batch: Batch<'_>, tell: &mut dyn FnMut(News)) -> Result<Duration, Broken> {
        let going = AtomicBool::new(false);
        for (place, spec) in batch.specs.iter().enumerate() {
            let ran = match batch.watch {
                None => fanin_sim::run(spec, &going),
                Some(watch) => fanin_sim::watch(spec, watch.clone(), &going),
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

/// Reason why there is no result.
#[derive(Debug)]
pub enum Error {
    /// The scenario is invalid.
    Scenario(Problem),
    /// A fault of the simulator.
    Broken(Broken),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Scenario(problem) => problem.fmt(f),
            Error::Broken(broken) => broken.fmt(f),
        }
    }
}

/// Compares the schemes of a scenario: the JSON of `fanin compare --json`. The scenario must not name files.
///
/// # Errors
/// The problem in the scenario, with its line.
pub fn compare(name: &str, text: &str) -> Result<String, Error> {
    let scenario = Scenario::parse(name, text).map_err(Error::Scenario)?;
    let variants = scenario.variants().map_err(Error::Scenario)?;
    let warnings: Vec<String> = scenario.warnings(&variants).iter().map(ToString::to_string).collect();
    let compared = fanin_lab::compare(&Inline, name, (&variants, &warnings), CompareOptions::default(), &mut |_| {});
    Ok(serde_json::to_string(&compared.map_err(Error::Broken)?.summary).unwrap_or_default())
}
