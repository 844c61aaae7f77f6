//! A comparison as a browser's worker makes it: the laboratory with an executor that has one thread, its own, and neither a clock nor
//! files. What it says is what the program says.

use core::sync::atomic::AtomicBool;
use core::time::Duration;

use fanin_lab::{Batch, Broken, Done, Executor, News, Summary, Wishes, conduct, findings, summarise};
use fanin_spec::{Problem, RunError, Scenario};

/// Runs one after another on the thread that asks.
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
                Err(RunError::Stopped) => {}
                Err(RunError::Broken(what)) => return Err(Broken::new(spec, what)),
            }
        }
        Ok(Duration::ZERO)
    }
}

/// Why there is nothing to show.
#[derive(Debug)]
pub enum Error {
    /// What the scenario says.
    Scenario(Problem),
    /// A fault of the simulator.
    Broken(Broken),
}

/// Compares what a scenario's text has: the JSON of `fanin compare --json`, as long as no file is named in it.
///
/// # Errors
/// What is wrong with the scenario, with its line.
pub fn compare(name: &str, text: &str) -> Result<String, Error> {
    let scenario = Scenario::parse(name, text).map_err(Error::Scenario)?;
    let contenders = scenario.contenders().map_err(Error::Scenario)?;
    let wishes = Wishes::default();
    let (specs, outcome) = conduct(&Inline, &contenders, wishes, &mut |_| {}).map_err(Error::Broken)?;
    let summary = summarise(name, &contenders, wishes, (&specs, &outcome));
    let warnings = scenario.warnings(&contenders).iter().map(ToString::to_string).collect();
    let summary = Summary { findings: findings(&contenders, &summary), warnings, ..summary };
    Ok(serde_json::to_string(&summary).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_the_library_says_on_threads_but_for_what_it_cost() {
        let text = "schemes = [\"newreno\", \"dctcp\"]\n[workload]\nfragment = \"32 KiB\"\nduration = \"50 ms\"\n\
                    [sweep]\nfan_in = [2, 16]\n[run]\nseeds = 2\n";
        let lab = fanin::Lab::default().without_cache();
        let scenario = fanin::Scenario::parse("page.toml", text).and_then(|scenario| scenario.resolve()).unwrap();
        let library = lab.compare(&scenario, fanin::Wishes::default(), &mut |_| {}).unwrap().to_json();
        let without_cost = |json: &str| {
            let mut object: serde_json::Value = serde_json::from_str(json).unwrap();
            object.as_object_mut().unwrap().remove("engine");
            object
        };
        assert_eq!(without_cost(&compare("page.toml", text).unwrap()), without_cost(&library));
    }

    #[test]
    fn a_page_is_told_the_line_that_is_wrong() {
        let Err(Error::Scenario(problem)) = compare("page.toml", "schemes = [\"dctcp\"]\n[link]\nrat = 1\n") else {
            panic!("it has an unknown key");
        };
        assert!(problem.to_string().starts_with("page.toml:3: "), "{problem}");
    }
}
