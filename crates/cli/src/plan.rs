//! `fanin plan`: where objects should live, from logs of requests.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use fanin::{Conclusion, Effect, Error, Latencies, Plan, Reading, Reason, Unadvised, demo};

use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY, bytes, large, three, time};
use crate::load::{Asked, Loaded, load};
use crate::starter::CLUSTER_TO_PLAN_FOR;
use crate::terminal::{fold, say, width};
use crate::work::{Means, in_lab, warn};

/// Reads the logs, plans, and says what the plan would do.
pub fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.demo {
        return demonstrate(folder);
    }
    let (false, Some(cluster)) = (arguments.logs.is_empty(), &arguments.cluster) else {
        let what = "a log and a cluster are needed: fanin plan log.csv --cluster cluster.toml; `fanin plan --demo DIR` writes both";
        return Err(Failure::Input(what.into()));
    };
    let asked = Asked { schemes: Some(vec!["picc"]), keys: Vec::new(), sweeps: Vec::new() };
    let Loaded { scenario, out } = load(cluster, &arguments.set, arguments.out.as_deref(), &asked)?;
    let reading = Reading { gap: arguments.gap, skip_bad: arguments.skip_bad };
    let logs = Logs(&arguments.logs);
    let means = Means { jobs: NonZeroUsize::new(2), cached: false };
    let plan = in_lab(means, |lab, hear| {
        // Who asked has its words for what is wrong with a log or a cluster.
        match lab.plan(logs.0, reading, &scenario, hear) {
            Err(Error::Unadvised(why)) => Ok(Err(refused(&logs, cluster, &why))),
            other => other.map(Ok),
        }
    })??;
    warn(scenario.warnings());
    if let Some(out) = out {
        plan.write(out)?;
    }
    match arguments.json {
        true => say(&format!("{}\n", plan.to_json())),
        false => say(&fold(&told(&logs, &plan))),
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

/// What follows from it, with the reason.
fn follows(conclusion: Conclusion, servers: [f64; 2], [before, after]: &[Latencies; 2]) -> String {
    let times = |of: &Latencies| format!("{} on average and {} in 99 %", time(of.mean), time(of.p99));
    let asked = format!("A query asks {} servers on average, {} before", three(servers[1]), three(servers[0]));
    let dropped = match (before.drops, after.drops) {
        (a, b) if a == b => String::new(),
        (a, b) => format!(", and {b} packets are dropped, {a} before"),
    };
    let took = format!("it takes {}, {} before", times(after), times(before));
    let follows = match conclusion {
        Conclusion::Better => "Make the plan.",
        Conclusion::Worse => {
            "Leave the objects where they are: what queries save by asking fewer servers they lose waiting at those."
        }
        Conclusion::NoDifference => "Leave the objects where they are: moving them gains nothing that is sure.",
    };
    format!("{asked}{dropped}; {took}. {follows}")
}

fn told(logs: &Logs<'_>, planned: &Plan) -> String {
    let (advice, latencies) = (&planned.advice, &planned.latencies);
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
    let moves = |reason| count(planned.moves(reason) as u64);
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
    let conclusion = planned.conclusion();
    let says = follows(conclusion, [before.mean(), after.mean()], latencies);
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
    fn a_plan_that_is_worse_is_not_recommended() {
        let of = |mean, p99| Latencies { mean, p99, drops: 0 };
        let says = follows(Conclusion::Worse, [9.0, 3.0], &[of(1.0, 2.0), of(4.2, 9.0)]);
        assert!(
            says.contains("Leave the objects where they are")
                && says.starts_with("A query asks 3.00 servers on average, 9.00 before"),
            "{says}"
        );
    }
}
