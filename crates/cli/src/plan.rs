//! `fanin plan`: where objects should live, from logs of requests.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fanin_execute::requests::Reading;
use fanin_execute::{Advice, Effect, Unadvised, advise, demo, execute};
use fanin_lab::Broken;
use fanin_placement::Reason;
use fanin_spec::{Contender, Optional, Popularity, Replica, RunTables, Scheme, ServerOrder, Settings};
use fanin_units::Time;
use serde_json::{Value, json};

use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY, bytes, large, three, time};
use crate::load::{Wishes, load, warn};
use crate::run::one_point;
use crate::simulate::{Means, in_lab};
use crate::starter::CLUSTER_TO_PLAN_FOR;
use crate::terminal::{fold, say, width};

/// Reads the logs, plans, and says what the plan would do.
pub fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.demo {
        return demonstrate(folder);
    }
    let (false, Some(cluster)) = (arguments.logs.is_empty(), &arguments.cluster) else {
        let what = "a log and a cluster are needed: fanin plan log.csv --cluster cluster.toml; `fanin plan --demo DIR` writes both";
        return Err(Failure::Input(what.into()));
    };
    let wishes = Wishes { schemes: Some(vec!["picc"]), keys: Vec::new(), sweeps: Vec::new() };
    let loaded = load(cluster, &arguments.set, arguments.out.as_deref(), &wishes)?;
    one_point(&loaded)?;
    let contender = &loaded.contenders[0];
    let reading = Reading { gap: arguments.gap, skip_bad: arguments.skip_bad };
    let logs = Logs(&arguments.logs);
    let advice = advise(logs.0, reading, &contender.settings).map_err(|why| refused(&logs, cluster, &why))?;
    let latencies = simulated(contender, &advice)?;
    warn(&loaded.warnings);
    let object = object(&advice, &latencies);
    if let Some(out) = loaded.out {
        out.fill_plan(&advice, &object).map_err(Failure::unwritten)?;
    }
    match arguments.json {
        true => say(&format!("{object}\n")),
        false => say(&fold(&told(&logs, &advice, &latencies))),
    }
}

/// Logs by their names.
struct Logs<'a>(&'a [PathBuf]);

impl fmt::Display for Logs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [one] => write!(f, "{}", one.display()),
            [first, others @ ..] => write!(f, "{} and {} more", first.display(), others.len()),
            [] => Ok(()),
        }
    }
}

fn refused(logs: &Logs<'_>, cluster: &str, why: &Unadvised) -> Failure {
    Failure::Input(match why {
        Unadvised::Log(unread) => unread.to_string(),
        Unadvised::Short(_) => format!("{logs}: {why}"),
        Unadvised::Cluster(_) | Unadvised::Plan(_) => format!("{cluster}: {why}"),
    })
}

/// Writes a log and a cluster to begin with.
fn demonstrate(folder: &Path) -> Result<(), Failure> {
    let unwritten = |error| Failure::Input(format!("--demo {}: it cannot be written: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(unwritten)?;
    let [log, cluster] = ["log.csv", "cluster.toml"].map(|name| folder.join(name));
    if let Some(there) = [&log, &cluster].into_iter().find(|path| path.exists()) {
        return Err(Failure::Input(format!("{} is there already; give another folder", there.display())));
    }
    let mut file = BufWriter::new(File::create(&log).map_err(unwritten)?);
    demo(&mut file).and_then(|()| file.flush()).map_err(unwritten)?;
    fs::write(&cluster, CLUSTER_TO_PLAN_FOR).map_err(unwritten)?;
    let (log, cluster) = (log.display(), cluster.display());
    say(&fold(&format!("{log} and {cluster}: fanin plan {log} --cluster {cluster}\n")))
}

/// How long requests took in a run, ms, and what was dropped.
struct Latencies {
    mean: f64,
    p99: f64,
    drops: u64,
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

/// Runs the log's second half on the cluster as it was and as it would be.
fn simulated(contender: &Contender, advice: &Advice) -> Result<[Latencies; 2], Failure> {
    let usual = Scheme { gathering: None, ..contender.scheme };
    let specs = [false, true].into_iter().map(|gathered| {
        let settings = listed(contender.settings.clone(), advice, gathered);
        let contender = Contender::new("plan", usual, settings).map_err(Failure::Input)?;
        Ok(contender.at(0, 1).unwrap_or_else(|| unreachable!("it has one point")))
    });
    let specs = specs.collect::<Result<Vec<_>, Failure>>()?;
    let jobs = NonZeroUsize::new(2).unwrap_or(NonZeroUsize::MIN);
    let outcome = in_lab::<_, Broken>(Means { jobs, cached: false }, |lab, tell| execute(lab, &specs, tell))?;
    let runs: Vec<Latencies> = outcome.runs.iter().flatten().map(|done| Latencies::of(&done.tables)).collect();
    <[Latencies; 2]>::try_from(runs).map_err(|_| Failure::Stopped("stopped; nothing was written".into()))
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

fn object(advice: &Advice, latencies: &[Latencies; 2]) -> Value {
    let servers =
        |effect: &Effect| json!({"mean": effect.mean(), "p50": effect.percentile(50), "p99": effect.percentile(99)});
    let latency = |of: &Latencies| json!({"mean_ms": of.mean, "p99_ms": of.p99, "drops": of.drops});
    let moves = |reason| advice.plan.moves.iter().filter(|of| of.reason == reason).count();
    let [before, popular, after] = &advice.effects;
    json!({
        "log": {
            "queries": advice.tally.queries, "requests": advice.tally.requests, "keys": advice.catalogue.len(),
            "misses": advice.tally.misses, "bad_lines": advice.tally.bad, "dropped_lines": advice.tally.dropped,
        },
        "planned_from_queries": advice.halves[0],
        "held_against_queries": advice.halves[1],
        "moves": {
            "popular": moves(Reason::Popular), "correlated": moves(Reason::Correlated), "bytes": advice.moved_bytes,
        },
        "gathering_servers": advice.plan.gathering.len(),
        "servers_a_query": {"before": servers(before), "popular_alone": servers(popular), "after": servers(after)},
        "latency": {
            "simulated_queries": advice.requests.len(),
            "before": latency(&latencies[0]), "after": latency(&latencies[1]),
        },
        "concludes": Conclusion::of(latencies).word(),
    })
}

/// What a plan does to queries that it has not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conclusion {
    Better,
    Worse,
    NoDifference,
}

impl Conclusion {
    /// Times that differ by less are alike.
    const ALIKE: f64 = 0.05;

    /// By mean and 99th percentile: better where neither is longer and one is shorter, worse the other way round.
    fn of([before, after]: &[Latencies; 2]) -> Conclusion {
        let change = |of: fn(&Latencies) -> f64| (of(after) - of(before)) / of(before).max(f64::MIN_POSITIVE);
        let changes = [change(|of| of.mean), change(|of| of.p99)];
        match (changes.iter().any(|of| *of < -Self::ALIKE), changes.iter().any(|of| *of > Self::ALIKE)) {
            (true, false) => Conclusion::Better,
            (false, true) => Conclusion::Worse,
            // A shorter mean with a longer tail is no reason to move anything.
            _ => Conclusion::NoDifference,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Conclusion::Better => "better",
            Conclusion::Worse => "worse",
            Conclusion::NoDifference => "no difference",
        }
    }

    /// What follows from it, with the reason.
    fn says(self, servers: [f64; 2], [before, after]: &[Latencies; 2]) -> String {
        let times = |of: &Latencies| format!("{} on average and {} in 99 %", time(of.mean), time(of.p99));
        let asked = format!("A query asks {} servers on average, {} before", three(servers[1]), three(servers[0]));
        let dropped = match (before.drops, after.drops) {
            (a, b) if a == b => String::new(),
            (a, b) => format!(", and {b} packets are dropped, {a} before"),
        };
        let took = format!("it takes {}, {} before", times(after), times(before));
        let follows = match self {
            Conclusion::Better => "Make the plan.",
            Conclusion::Worse => {
                "Leave the objects where they are: what queries save by asking fewer servers they lose waiting at those."
            }
            Conclusion::NoDifference => "Leave the objects where they are: moving them gains nothing that is sure.",
        };
        format!("{asked}{dropped}; {took}. {follows}")
    }
}

fn told(logs: &Logs<'_>, advice: &Advice, latencies: &[Latencies; 2]) -> String {
    let (tally, plan) = (&advice.tally, &advice.plan);
    let count = |n: u64| large(n as f64);
    let mut text = format!(
        "{BOLD}{logs}{BOLD:#}: {} queries for {} keys, {} keys each on average\n",
        count(tally.queries),
        count(advice.catalogue.len() as u64),
        three(tally.requests as f64 / tally.queries as f64),
    );
    for (n, what) in [
        (tally.bad, "lines were not understood and left out"),
        (tally.dropped, "lines the watcher says it dropped: what was asked in them is missing"),
        (tally.misses, "requests were for keys that were not there"),
    ] {
        if n > 0 {
            text += &format!("{GREY}{} {what}{GREY:#}\n", count(n));
        }
    }
    let moves = |reason| count(plan.moves.iter().filter(|of| of.reason == reason).count() as u64);
    text += &format!(
        "\nThe plan, from the first {} queries: {} replicas of popular objects and {} of what is asked for together move, {} in all, \
         to {} servers.\n\n",
        count(advice.halves[0]),
        moves(Reason::Popular),
        moves(Reason::Correlated),
        bytes(advice.moved_bytes as f64),
        count(plan.gathering.len() as u64),
    );
    let [before, popular, after] = &advice.effects;
    text += &format!(
        "{BOLD}Servers that a query asks{BOLD:#}, of the other {}, which the plan has not seen\n",
        count(advice.halves[1])
    );
    text += &histogram(before, after);
    for (name, effect) in [("before", before), ("popular alone", popular), ("after", after)] {
        text += &format!(
            "  {name:<14}{:>6} on average, {} in half of them, {} at most in 99 %\n",
            three(effect.mean()),
            effect.percentile(50),
            effect.percentile(99)
        );
    }
    text += &format!(
        "\n{BOLD}Time of a query{BOLD:#}, simulated on this cluster ({} queries)\n",
        count(advice.requests.len() as u64)
    );
    for (name, of) in ["before", "after"].iter().zip(latencies) {
        text += &format!(
            "  {name:<14}{:>8} on average, {:>8} at most in 99 %, {} packets dropped\n",
            time(of.mean),
            time(of.p99),
            count(of.drops)
        );
    }
    let conclusion = Conclusion::of(latencies);
    let says = conclusion.says([before.mean(), after.mean()], latencies);
    text + &format!("\n{BOLD}{}{BOLD:#}: {says}\n", conclusion.word())
}

/// The share of queries by servers, before and after, in a dozen rows.
fn histogram(before: &Effect, after: &Effect) -> String {
    const ROWS: usize = 12;
    let most = before.queries.len().max(after.queries.len());
    let step = most.div_ceil(ROWS).max(1);
    let share = |effect: &Effect, from: usize| {
        let within: u64 = effect.queries.iter().skip(from).take(step).sum();
        within as f64 / effect.queries.iter().sum::<u64>().max(1) as f64
    };
    let room = (width().saturating_sub(40) / 2).max(8);
    let bar = |share: f64| "#".repeat((share * room as f64).ceil() as usize);
    let mut text = format!("{GREY}  {:<10}{:<room$}  after{GREY:#}\n", "servers", "before");
    for from in (0..most).step_by(step) {
        let label = if step == 1 { from.to_string() } else { format!("{from} to {}", from + step - 1) };
        let [one, other] = [before, after].map(|effect| share(effect, from));
        text += format!("  {label:<10}{:<room$}  {}", bar(one), bar(other)).trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_recommended_only_where_it_is_better() {
        let of = |mean, p99| Latencies { mean, p99, drops: 0 };
        let concludes = |mean, p99| Conclusion::of(&[of(1.0, 2.0), of(mean, p99)]);
        assert_eq!([concludes(0.9, 2.0), concludes(1.0, 1.5)], [Conclusion::Better; 2]);
        assert_eq!([concludes(4.2, 2.0), concludes(1.0, 2.2)], [Conclusion::Worse; 2]);
        assert_eq!([concludes(1.04, 1.95), concludes(0.5, 3.0)], [Conclusion::NoDifference; 2]);
        let says = concludes(4.2, 9.0).says([9.0, 3.0], &[of(1.0, 2.0), of(4.2, 9.0)]);
        assert!(
            says.contains("Leave the objects where they are")
                && says.starts_with("A query asks 3.00 servers on average, 9.00 before"),
            "{says}"
        );
    }
}
