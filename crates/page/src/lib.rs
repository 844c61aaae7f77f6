//! Comparison in a browser's web worker: the laboratory with a single-threaded executor, without clock and files. Its output equals the
//! program's.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_equals_threaded_library() {
        // Hosts without jitter: points are run again with jitter, and a warning reports the difference.
        let text = "schemes = [\"newreno\"]\n[host]\npacket_jitter = \"none\"\n[link]\nrate = \"1 Gbit/s\"\ndelay = \"25 us\"\n\
                    [switch]\nbuffer = \"64 KiB\"\n[workload]\nfragment = \"256 KiB\"\nduration = \"200 ms\"\n\
                    [sweep]\nfan_in = [2, 8]\n[run]\nseeds = 2\n";
        let lab = fanin::Lab::default().without_cache();
        let scenario = fanin::Scenario::parse("page.toml", text).and_then(|scenario| scenario.resolve()).unwrap();
        let library = lab.compare(&scenario, fanin::CompareOptions::default(), &mut |_| {}).unwrap();
        assert_eq!(library.warnings().len(), 1);
        let without_cost = |json: &str| {
            let mut object: serde_json::Value = serde_json::from_str(json).unwrap();
            object.as_object_mut().unwrap().remove("engine");
            object
        };
        assert_eq!(without_cost(&compare("page.toml", text).unwrap()), without_cost(&library.to_json()));
    }

    #[test]
    fn error_has_line() {
        let Err(Error::Scenario(problem)) = compare("page.toml", "schemes = [\"dctcp\"]\n[link]\nrat = 1\n") else {
            panic!("it has an unknown key");
        };
        assert!(problem.to_string().starts_with("page.toml:3: "), "{problem}");
    }
}
