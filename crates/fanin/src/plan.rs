//! Where objects should live, from logs of requests: planned, then run on the cluster as it was and as it would be.

use std::path::PathBuf;
use std::sync::Arc;

use fanin_execute::requests::Reading;
use fanin_execute::{Advice, Effect, Out, advise};
use fanin_lab::{Batch, execute};
use fanin_placement::Reason;
use fanin_spec::{Contender, Optional, Popularity, Replica, RunTables, Scheme, ServerOrder, Settings};
use fanin_units::Time;
use serde_json::{Value, json};

use crate::{Error, Lab, Resolved, Update};

/// A plan, and what it does to queries that it has not seen.
pub struct Plan {
    /// What comes of the log.
    pub advice: Advice,
    /// How long requests take in the simulator: as objects lie, and after the plan.
    pub latencies: [Latencies; 2],
}

/// How long requests took in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// On average, ms.
    pub mean: f64,
    /// The 99th percentile, ms.
    pub p99: f64,
    /// Packets dropped.
    pub drops: u64,
}

impl Lab {
    /// Plans for a cluster from logs of requests, one a server, each read twice; runs the log's second half before and after.
    ///
    /// # Errors
    /// [`Error::Unadvised`], [`Error::Asked`] where the cluster sweeps over a key, [`Error::Broken`], [`Error::Stopped`].
    pub fn plan(
        &self,
        logs: &[PathBuf],
        reading: Reading,
        cluster: &Resolved,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Plan, Error> {
        cluster.one_run()?;
        let contender = &cluster.contenders()[0];
        let advice = advise(logs, reading, &contender.settings)?;
        let latencies = self.latencies(contender, &advice, hear)?;
        Ok(Plan { advice, latencies })
    }

    /// Runs the log's second half on the cluster as it was and as it would be.
    fn latencies(
        &self,
        contender: &Contender,
        advice: &Advice,
        hear: &mut dyn FnMut(Update),
    ) -> Result<[Latencies; 2], Error> {
        let usual = Scheme { gathering: None, ..contender.scheme };
        let specs = [false, true].into_iter().filter_map(|gathered| {
            let settings = listed(contender.settings.clone(), advice, gathered);
            Contender::new("plan", usual, settings).map(|contender| contender.at(0, 1)).transpose()
        });
        let specs = specs.collect::<Result<Vec<_>, String>>().map_err(Error::Asked)?;
        let batch = Batch { specs: &specs, watch: None };
        let mut progress = |progress| hear(Update::Progress(progress));
        let outcome = self.with_executor(|executor| execute(executor, batch, &mut progress))?;
        let runs: Vec<Latencies> = outcome.runs.iter().flatten().map(|done| Latencies::of(&done.tables)).collect();
        <[Latencies; 2]>::try_from(runs).map_err(|_| Error::Stopped)
    }
}

/// A scenario's settings with a log's requests in place of drawn ones.
fn listed(mut settings: Settings, advice: &Advice, gathered: bool) -> Settings {
    let requests = &advice.requests;
    let last = requests.get(requests.len().saturating_sub(1)).map_or(Time::ZERO, |(begins, _)| begins);
    settings.workload.queries = requests.len() as u32;
    settings.workload.duration = Time::from_secs(100_000);
    // They are all that there is.
    settings.workload.warm_up.0 = None;
    let k = &mut settings.key_value;
    (k.objects, k.per_request, k.popularity) = (requests.sizes.len() as u32, 1, Popularity::Uniform);
    k.within = Optional(Some(last.max(Time::from_micros(1))));
    if gathered {
        k.replica = Replica::Together;
        k.server = if k.server == ServerOrder::Fifo { ServerOrder::Reordered } else { k.server };
    }
    settings.inputs.requests = Some(Arc::clone(requests));
    settings.inputs.plan = gathered.then(|| Arc::clone(&advice.routed));
    settings
}

impl Latencies {
    fn of(tables: &RunTables) -> Latencies {
        let mut all: Vec<u64> = tables.requests.iter().filter_map(|row| row.latency_ps).collect();
        all.sort_unstable();
        let ms = |ps: u64| ps as f64 / 1e9;
        let p99 = all.get((all.len() * 99).div_ceil(100).saturating_sub(1));
        let mean = all.iter().map(|&ps| ms(ps)).sum::<f64>() / all.len().max(1) as f64;
        Latencies { mean, p99: p99.map_or(0.0, |&ps| ms(ps)), drops: tables.totals.drops }
    }
}

/// What a plan does to queries that it has not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// They take less time.
    Better,
    /// They take more.
    Worse,
    /// Neither is sure.
    NoDifference,
}

impl Conclusion {
    /// Times that differ by less are alike.
    const ALIKE: f64 = 0.05;

    /// By mean and 99th percentile: better where neither is longer and one is shorter, worse the other way round.
    pub fn of([before, after]: &[Latencies; 2]) -> Conclusion {
        let change = |of: fn(&Latencies) -> f64| (of(after) - of(before)) / of(before).max(f64::MIN_POSITIVE);
        let changes = [change(|of| of.mean), change(|of| of.p99)];
        match (changes.iter().any(|of| *of < -Self::ALIKE), changes.iter().any(|of| *of > Self::ALIKE)) {
            (true, false) => Conclusion::Better,
            (false, true) => Conclusion::Worse,
            // A shorter mean with a longer tail is no reason to move anything.
            _ => Conclusion::NoDifference,
        }
    }

    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Conclusion::Better => "better",
            Conclusion::Worse => "worse",
            Conclusion::NoDifference => "no difference",
        }
    }
}

impl Plan {
    /// What is to be made of it.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::of(&self.latencies)
    }

    /// Objects that move, for a reason.
    pub fn moves(&self, reason: Reason) -> usize {
        self.advice.plan.moves.iter().filter(|of| of.reason == reason).count()
    }

    /// One object: what `fanin plan --json` prints.
    pub fn to_json(&self) -> Value {
        let advice = &self.advice;
        let servers = |effect: &Effect| json!({"mean": effect.mean(), "p50": effect.percentile(50), "p99": effect.percentile(99)});
        let latency = |of: &Latencies| json!({"mean_ms": of.mean, "p99_ms": of.p99, "drops": of.drops});
        let [before, popular, after] = &advice.effects;
        json!({
            "log": {
                "queries": advice.tally.queries, "requests": advice.tally.requests, "keys": advice.catalogue.len(),
                "misses": advice.tally.misses, "bad_lines": advice.tally.bad, "dropped_lines": advice.tally.dropped,
            },
            "planned_from_queries": advice.halves[0],
            "held_against_queries": advice.halves[1],
            "moves": {
                "popular": self.moves(Reason::Popular), "correlated": self.moves(Reason::Correlated),
                "bytes": advice.moved_bytes,
            },
            "gathering_servers": advice.plan.gathering.len(),
            "servers_a_query": {"before": servers(before), "popular_alone": servers(popular), "after": servers(after)},
            "latency": {
                "simulated_queries": advice.requests.len(),
                "before": latency(&self.latencies[0]), "after": latency(&self.latencies[1]),
            },
            "concludes": self.conclusion().word(),
        })
    }

    /// Writes its moves, what queries ask, a picture of that, and `plan.json`.
    ///
    /// # Errors
    /// [`Error::Folder`].
    pub fn write(&self, out: Out) -> Result<(), Error> {
        Ok(out.fill_plan(&self.advice, &self.to_json())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_better_only_where_neither_mean_nor_tail_is_longer() {
        let of = |mean, p99| Latencies { mean, p99, drops: 0 };
        let concludes = |mean, p99| Conclusion::of(&[of(1.0, 2.0), of(mean, p99)]);
        assert_eq!([concludes(0.9, 2.0), concludes(1.0, 1.5)], [Conclusion::Better; 2]);
        assert_eq!([concludes(4.2, 2.0), concludes(1.0, 2.2)], [Conclusion::Worse; 2]);
        assert_eq!([concludes(1.04, 1.95), concludes(0.5, 3.0)], [Conclusion::NoDifference; 2]);
    }
}
