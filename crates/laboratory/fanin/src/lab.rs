//! Lab: the executor of runs, the cache of finished ones, and the stop flag.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use etcetera::{BaseStrategy, choose_base_strategy};
use fanin_execute::{Cache, Elsewhere, Forecast, Measured, Threads, Transport, forecast, free_memory};
use fanin_lab::{Executor, Measurement, Progress};
use fanin_spec::Variant;

use crate::Error;
use crate::simulator::{ENGINE, RUNNER};

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
    carrier: Carrier,
    pub(crate) stop: Arc<AtomicBool>,
}

/// The executor of a lab's specs.
enum Carrier {
    /// The simulator, on this machine's threads.
    Threads,
    /// An executor of the caller's.
    Own(Box<dyn Executor>),
    /// A transport that takes runs to workers, and the workers' cache folder.
    Workers(Box<dyn Transport>, Option<PathBuf>),
    /// A measurement on real machines.
    Measurement(Box<dyn Measurement>),
}

impl Default for Lab {
    fn default() -> Lab {
        let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Lab { jobs, cache: user_cache(), carrier: Carrier::Threads, stop: Arc::default() }
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
        Lab { cache: Some(Cache::new(folder, ENGINE)), ..self }
    }

    /// A lab whose runs another executor carries out, instead of its threads and its cache.
    #[must_use]
    pub fn executor(self, executor: impl Executor + 'static) -> Lab {
        Lab { carrier: Carrier::Own(Box::new(executor)), ..self }
    }

    /// A lab whose runs a transport takes to workers, each of which calls [`work`]. Workers may cache finished runs in their own folder.
    /// This lab's own cache takes precedence.
    #[must_use]
    pub fn with_transport(self, transport: impl Transport + 'static, cache_there: Option<PathBuf>) -> Lab {
        Lab { carrier: Carrier::Workers(Box::new(transport), cache_there), ..self }
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

    /// A lab that measures on real machines instead of simulating: without a cache, and as its measurement allows at once.
    #[must_use]
    pub fn measuring(self, measurement: impl Measurement + 'static) -> Lab {
        Lab { carrier: Carrier::Measurement(Box::new(measurement)), ..self }
    }

    /// Calls `work` with the lab's executor.
    pub(crate) fn with_executor<T>(&self, work: impl FnOnce(&dyn Executor) -> T) -> T {
        let cache = self.cache.as_ref();
        match &self.carrier {
            Carrier::Threads => work(&Threads { runner: RUNNER, cache, jobs: self.jobs, stop: &self.stop }),
            Carrier::Own(executor) => work(executor.as_ref()),
            Carrier::Workers(transport, there) => {
                work(&Elsewhere::new(transport.as_ref(), RUNNER, ENGINE, cache, there.clone(), &self.stop))
            }
            Carrier::Measurement(measurement) => {
                work(&Measured { measurement: measurement.as_ref(), stop: &self.stop })
            }
        }
    }

    /// Estimates the cost of variants' runs.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn forecast(&self, variants: &[Variant]) -> Result<Forecast, Error> {
        forecast(RUNNER, self.jobs, variants, free_memory()).map_err(Error::Memory)
    }
}

/// Worker: executes the runs of a batch from a [`Transport`] on the calling thread, and returns their results.
pub fn work(batch: &[u8], stop: &AtomicBool) -> Vec<u8> {
    fanin_execute::work(RUNNER, ENGINE, batch, stop)
}

/// The engine's name, equal on all workers: another engine's tables may differ.
pub fn engine() -> &'static str {
    ENGINE
}

/// The user's cache of finished runs; `None` if the system has no cache folder.
pub fn user_cache() -> Option<Cache> {
    let folder = choose_base_strategy().ok()?.cache_dir();
    Some(Cache::new(folder.join("fanin"), ENGINE))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::law::{Ack, Cause, Congestion, Control, Foreign, Source, Traits, Window, register};
    use crate::{CompareOptions, Comparison, Counter, Provenance, RunError, RunSpec, RunTables, Scenario, Totals};

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
            assert!(brought(name).unwrap_err().to_string().contains(why), "{name}");
        }
        brought("bbr").unwrap();
        assert_eq!(compared(&Lab::default(), "bbr+m21").finished(), [4, 4]);
    }

    /// A testbed without a network: each measurement delivers more than the one before, and nobody sees drops.
    #[derive(Default)]
    struct Testbed(AtomicU64);

    impl Measurement for Testbed {
        fn measure(&self, spec: &RunSpec, _stop: &AtomicBool) -> Result<RunTables, RunError> {
            let payload_bytes = 1_000_000 * (1 + self.0.fetch_add(1, Ordering::Relaxed));
            let totals = Totals { payload_bytes, measured_ps: spec.settings.workload.duration.0, ..Totals::default() };
            Ok(RunTables { totals, unmeasured: vec![Counter::Timeouts, Counter::Drops], ..RunTables::default() })
        }

        fn provenance(&self) -> Provenance {
            let [kernel, machine, date] = ["Linux 6.12", "2 cores", "2026-11-26T00:00:00Z"].map(String::from);
            Provenance { kernel, machine, date }
        }
    }

    #[test]
    fn measurements_are_not_cached_and_say_where_they_were_made() {
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::default().cache_in(folder.path()).measuring(Testbed::default());
        let (first, again) = (compared(&lab, "newreno"), compared(&lab, "newreno"));
        let mbps = |of: &Comparison| of.summary().rows[0].goodput_mbps.mean;
        assert!(mbps(&again) > mbps(&first), "measured anew");
        assert_eq!((first.outcome().cached, again.outcome().cached), (0, 0));
        let json: serde_json::Value = serde_json::from_str(&again.to_json()).unwrap();
        assert_eq!(json["provenance"]["kernel"], "Linux 6.12");
        assert_eq!(json["rows"][0]["unmeasured"], serde_json::json!(["timeouts", "drops"]));
        let says = &again.findings().last().unwrap().says;
        assert!(says.contains("Not measured: timeouts, drops."), "{says}");
        assert!(!says.contains("no drops") && !says.contains("no timeouts") && !says.contains(" 0 drops"), "{says}");
        let simulated: serde_json::Value =
            serde_json::from_str(&compared(&Lab::default(), "newreno").to_json()).unwrap();
        assert!(simulated.get("provenance").is_none() && simulated["rows"][0].get("unmeasured").is_none());
    }
}
