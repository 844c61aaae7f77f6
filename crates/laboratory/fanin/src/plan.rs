//! Placement plans from request logs: planned, then simulated on the cluster before and after.

use std::path::PathBuf;
use std::sync::Arc;

use fanin_execute::Out;
use fanin_lab::{Batch, execute};
use fanin_placement::{Kind, Reason};
use fanin_plan::requests::Reading;
use fanin_plan::{Effect, PlacementPlan, PlanOptions, make_plan};
use fanin_spec::{Optional, Popularity, Replica, Scheme, ServerOrder, Settings, Variant};
use fanin_tables::RunTables;
use fanin_units::{Rate, Time};
use serde_json::{Value, json};

use crate::{Error, Lab, Resolved, Update};

/// A plan, and its effect on queries that it was not made from.
pub struct Plan {
    /// The plan and the log's statistics.
    pub advice: PlacementPlan,
    /// Simulated request latencies, before the plan and after it.
    pub latencies: [Latencies; 2],
    /// The placement algorithm.
    pub method: Kind,
    /// Upper bound of requests per server, as a multiple of the mean.
    pub bound: f64,
    link: Rate,
}

/// Request latencies of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// On average, ms.
    pub mean: f64,
    /// The median, ms.
    pub p50: f64,
    /// The 99th percentile, ms.
    pub p99: f64,
    /// Packets dropped.
    pub drops: u64,
}

/// Description of a plan that names no key, for front ends that are about to get one.
///
/// # Errors
/// [`Error::PlanningError`], or [`Error::Asked`] if the cluster sweeps a key.
pub fn describe_empty_plan(cluster: &Resolved) -> Result<Value, Error> {
    cluster.one_run()?;
    Ok(json!({"schema": 1, "cluster": fanin_plan::identity_of(&cluster.variants()[0].settings)?}))
}

impl Lab {
    /// Plans for a cluster from request logs, one per server; simulates the log's second half before and after.
    ///
    /// # Errors
    /// [`Error::PlanningError`], [`Error::Asked`] if the cluster sweeps a key, [`Error::Broken`], [`Error::Stopped`].
    pub fn plan(
        &self,
        logs: &[PathBuf],
        reading: Reading,
        wish: &PlanOptions,
        cluster: &Resolved,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Plan, Error> {
        cluster.one_run()?;
        let variant = &cluster.variants()[0];
        let settings = &variant.settings;
        let advice = make_plan(logs, reading, settings, wish)?;
        let latencies = self.latencies(variant, wish.method, &advice, hear)?;
        let bound = f64::from(settings.placements.groups.busiest) / 100.0;
        Ok(Plan { advice, latencies, method: wish.method, bound, link: settings.link.rate })
    }

    /// Simulates the log's second half before and after the plan.
    fn latencies(
        &self,
        variant: &Variant,
        method: Kind,
        advice: &PlacementPlan,
        hear: &mut dyn FnMut(Update),
    ) -> Result<[Latencies; 2], Error> {
        let usual = Scheme { gathering: None, ..variant.scheme };
        let specs = [0, 1].into_iter().filter_map(|after| {
            let reorders = after == 1 && method != Kind::Groups;
            let settings = listed(variant.settings.clone(), advice, after, reorders);
            Variant::new("plan", usual, settings).map(|variant| variant.at(0, 1)).transpose()
        });
        let specs = specs.collect::<Result<Vec<_>, _>>().map_err(|invalid| Error::Asked(invalid.into()))?;
        let batch = Batch { specs: &specs, watch: None };
        let mut progress = |progress| hear(Update::Progress(progress));
        let outcome = self.with_executor(|executor| execute(executor, batch, &mut progress))?;
        let runs: Vec<Latencies> = outcome.runs.iter().flatten().map(|done| Latencies::of(&done.tables)).collect();
        <[Latencies; 2]>::try_from(runs).map_err(|_| Error::Stopped)
    }
}

/// A scenario's settings with a log's requests instead of generated ones, before or after a plan; both use the same replica rule.
fn listed(mut settings: Settings, advice: &PlacementPlan, after: usize, reorders: bool) -> Settings {
    let requests = &advice.requests[after];
    let last = requests.get(requests.len().saturating_sub(1)).map_or(Time::ZERO, |(begins, _)| begins);
    settings.workload.queries = requests.len() as u32;
    settings.workload.duration = Time::from_secs(100_000);
    // The log has no further requests to warm up with.
    settings.workload.warm_up.0 = None;
    let k = &mut settings.key_value;
    (k.objects, k.per_request, k.popularity) = (requests.sizes.len() as u32, 1, Popularity::Uniform);
    k.within = Optional(Some(last.max(Time::from_micros(1))));
    k.replica = Replica::Cover;
    if reorders && k.server == ServerOrder::Fifo {
        k.server = ServerOrder::Reordered;
    }
    settings.inputs.requests = Some(Arc::clone(requests));
    settings
}

impl Latencies {
    fn of(tables: &RunTables) -> Latencies {
        let mut all: Vec<u64> = tables.requests.iter().filter_map(|row| row.latency_ps).collect();
        all.sort_unstable();
        let ms = |ps: u64| ps as f64 / 1e9;
        let percentile = |percent: usize| {
            let at = all.get((all.len() * percent).div_ceil(100).saturating_sub(1));
            at.map_or(0.0, |&ps| ms(ps))
        };
        let mean = all.iter().map(|&ps| ms(ps)).sum::<f64>() / all.len().max(1) as f64;
        Latencies { mean, p50: percentile(50), p99: percentile(99), drops: tables.totals.drops }
    }
}

/// A plan's effect on queries that it was not made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// They take less time.
    Better,
    /// They take more.
    Worse,
    /// The difference is not significant.
    NoDifference,
}

impl Conclusion {
    /// Relative differences below this count as none.
    const ALIKE: f64 = 0.05;

    /// Compares mean, p50 and p99: better if none is longer and one is shorter, worse in the opposite case.
    pub fn of([before, after]: &[Latencies; 2]) -> Conclusion {
        let change = |of: fn(&Latencies) -> f64| (of(after) - of(before)) / of(before).max(f64::MIN_POSITIVE);
        let changes = [change(|of| of.mean), change(|of| of.p50), change(|of| of.p99)];
        match (changes.iter().any(|of| *of < -Self::ALIKE), changes.iter().any(|of| *of > Self::ALIKE)) {
            (true, false) => Conclusion::Better,
            (false, true) => Conclusion::Worse,
            // A shorter mean with a longer tail does not justify a move.
            _ => Conclusion::NoDifference,
        }
    }

    /// In one or two words.
    pub fn word(self) -> &'static str {
        match self {
            Conclusion::Better => "better",
            Conclusion::Worse => "worse",
            Conclusion::NoDifference => "no difference",
        }
    }
}

/// The share of a server's link that the move may use.
const MOVING: f64 = 0.1;

impl Plan {
    /// Whether latencies are shorter.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion::of(&self.latencies)
    }

    /// Whether to carry out the plan: latencies are shorter, queries use fewer servers, and no server exceeds its bound or its current
    /// load.
    pub fn recommended(&self) -> bool {
        self.refusal().is_none()
    }

    /// Why not to carry out the plan, if so.
    fn refusal(&self) -> Option<String> {
        let [before, after] = &self.advice.effects;
        if self.advice.plan.moves.is_empty() {
            return Some("nothing to move: related keys are already co-located, or none are related".into());
        }
        if after.mean() >= before.mean() {
            return Some("queries would use no fewer servers".into());
        }
        if self.conclusion() == Conclusion::Worse {
            return Some("queries would use fewer servers, but wait longer for them".into());
        }
        if self.conclusion() == Conclusion::NoDifference {
            return Some("queries would not get faster, or only some would".into());
        }
        // A few per cent are noise.
        if after.busiest() > before.busiest().max(self.bound) * 1.05 {
            let (busiest, bound) = (after.busiest(), self.bound);
            return Some(format!(
                "the busiest server would get {busiest:.1}× the mean number of requests; the bound is {bound:.1}×"
            ));
        }
        None
    }

    /// The recommendation and its reason.
    pub fn why(&self) -> String {
        let [before, after] = &self.latencies;
        match self.refusal() {
            Some(refusal) => format!("do not: {refusal}"),
            None if after.drops < before.drops => format!(
                "do it: fewer servers respond at once; {} packets are dropped instead of {}, so queries wait for fewer timeouts",
                after.drops, before.drops
            ),
            None => "do it: fewer servers respond to a query, and it takes less time".into(),
        }
    }

    /// Duration of the move at a tenth of a link's rate, for the server with the most bytes to send or receive.
    pub fn moving_s(&self) -> f64 {
        self.advice.most_moved_bytes as f64 * 8.0 / (self.link.0 as f64 * MOVING)
    }

    /// Time until queries have saved as many requests as the moves cost, which is two each; `None` if they save none.
    pub fn pays_after_s(&self) -> Option<f64> {
        let [before, after] = &self.advice.effects;
        let a_second = self.advice.halves[1] as f64 / (self.advice.span.0 as f64 / 1e12).max(1e-9);
        let saves = (before.mean() - after.mean()) * a_second;
        (saves > 0.0).then(|| 2.0 * self.advice.plan.moves.len() as f64 / saves)
    }

    /// Time until the savings vanish, if they decline as fast as in the log's second half.
    pub fn lasts_s(&self) -> Option<f64> {
        let [early, late] = self.advice.saves;
        let halves = self.advice.span.0 as f64 / 2e12;
        // A smaller decline is noise.
        (early > 0.0 && late < early * 0.95).then(|| halves * (0.5 + early / (early - late)))
    }

    /// Number of objects that move for a reason.
    pub fn moves(&self, reason: Reason) -> usize {
        self.advice.plan.moves.iter().filter(|of| of.reason == reason).count()
    }

    /// One JSON object: the output of `fanin plan --json`.
    pub fn to_json(&self) -> Value {
        let advice = &self.advice;
        let servers = |effect: &Effect| json!({"mean": effect.mean(), "p50": effect.percentile(50), "p99": effect.percentile(99)});
        let query =
            |of: &Latencies| json!({"mean": of.mean, "p50": of.p50, "p99": of.p99, "dropped_packets": of.drops});
        let ([before, after], [slow, fast]) = (&advice.effects, &self.latencies);
        let period = |of: &fanin_plan::Period| {
            let [first, once, again] = of.servers;
            json!({
                "begins_s": of.begins.0 as f64 / 1e12, "moved_bytes": of.moved_bytes,
                "servers_unplanned": first, "servers_planned_once": once, "servers_planned_again": again,
            })
        };
        json!({
            "schema": 1,
            "method": self.method.row().word,
            "servers_before": before.mean(), "servers_after": after.mean(),
            "busiest_before": before.busiest(), "busiest_after": after.busiest(),
            "query_ms_before": query(slow), "query_ms_after": query(fast),
            "bytes_moved": advice.moved_bytes, "moving_s": self.moving_s(),
            "pays_after_s": self.pays_after_s(), "lasts_s": self.lasts_s(),
            "recommended": self.recommended(), "why": self.why(),
            "cluster": advice.cluster,
            "servers": advice.servers(),
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
            "servers_a_query": {
                "before": servers(before), "popular_alone": advice.popular.as_ref().map(servers), "after": servers(after),
            },
            "periods": advice.periods.iter().map(period).collect::<Vec<_>>(),
            "simulated_queries": advice.requests[0].len(),
            "concludes": self.conclusion().word(),
        })
    }

    /// Writes the moves, the queries' statistics with a picture, and `plan.json`.
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
    fn plan_is_better_if_neither_mean_nor_tail_is_longer() {
        let of = |mean, p99| Latencies { mean, p50: mean, p99, drops: 0 };
        let concludes = |mean, p99| Conclusion::of(&[of(1.0, 2.0), of(mean, p99)]);
        assert_eq!([concludes(0.9, 2.0), concludes(1.0, 1.5)], [Conclusion::Better; 2]);
        assert_eq!([concludes(4.2, 2.0), concludes(1.0, 2.2)], [Conclusion::Worse; 2]);
        assert_eq!([concludes(1.04, 1.95), concludes(0.5, 3.0)], [Conclusion::NoDifference; 2]);
    }
}
