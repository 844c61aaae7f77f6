//! `fanin plan`: placement of objects, from logs of requests.

mod stats;

use std::fmt;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fanin::{CurrentPlacement, Effect, Error, Gathering, Plan, PlanOptions, PlanningError, Reading, Time, demo};

use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREY, bytes, clean, large, three, time};
use crate::load::{Asked, Loaded, load, read};
use crate::planner::Watch;
use crate::proxy::planner::Folder;
use crate::proxy::rule;
use crate::starter::cluster_of_demo;
use crate::stop;
use crate::terminal::{fold, say, width};
use crate::work::{Means, in_lab, warn};

/// Period of a planner: T in PICC, section IV.
const PERIOD: Time = Time::from_secs(300);

/// Reads the logs, plans, and prints the plan's effect.
pub fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    if let Some(folder) = &arguments.demo {
        return demonstrate(folder);
    }
    let (false, Some(cluster)) = (arguments.logs.is_empty(), &arguments.cluster) else {
        let what = "a log and a cluster are required: fanin plan log.csv --cluster cluster.toml; `fanin new cluster` prints a cluster, and \
                    `fanin plan --demo DIR` writes both";
        return Err(Failure::Input(what.into()));
    };
    if arguments.watch.is_none() {
        stop::end_at_once()?;
    }
    let method = arguments.method.unwrap_or(Gathering::Groups);
    let word = method.row().word;
    let default = if arguments.method.is_some() { "" } else { " (the default)" };
    let schemes = Some((format!("--method {word}{default}"), vec![word]));
    // Requests come from the logs, not from the cluster's file.
    let mut keys = vec![("fanin plan".into(), "workload.kind", "key_value".into())];
    if !arguments.stats.is_empty() {
        let measured = stats::capacities(&arguments.stats)?;
        keys.push(("--stats".into(), "key_value.servers", format!("{measured:?}")));
    }
    let asked = Asked { schemes, keys, sweeps: Vec::new() };
    let Loaded { scenario, out } = load(read(cluster)?, &arguments.set, arguments.out.as_deref(), &asked)?;
    let reading = Reading { gap: arguments.gap, skip_bad: arguments.skip_bad };
    let every = Duration::from_nanos(arguments.every.unwrap_or(PERIOD).0 / 1_000);
    // Before the configuration is read, which may name the folder.
    let folder = arguments.watch.as_deref().map(|folder| Folder::take_over(folder, every, &scenario)).transpose()?;
    let current_placement = match (&arguments.front, &arguments.current, &arguments.previous) {
        (Some(file), _, _) => CurrentPlacement::By(rule(file)?),
        (None, Some(file), _) => CurrentPlacement::File(file.clone()),
        (None, None, Some(folder)) => CurrentPlacement::Planned(folder.clone()),
        (None, None, None) => CurrentPlacement::Hashed,
    };
    let mut wish =
        PlanOptions { method, current_placement, budget: arguments.move_budget, every: arguments.every, memory: None };
    if let Some((path, folder)) = arguments.watch.as_deref().zip(folder) {
        warn(scenario.warnings());
        wish.every = None;
        let (logs, json) = (&arguments.logs[..], arguments.json);
        return folder.watch(Watch { folder: path, logs, every, reading, wish, cluster: &scenario, json });
    }
    let logs = Logs(&arguments.logs);
    let means = Means { jobs: NonZeroUsize::new(2), cached: false };
    let plan = in_lab(means, |lab, hear| {
        // Errors in a log or cluster name the user's files.
        match lab.plan(logs.0, reading, &wish, &scenario, hear) {
            Err(Error::PlanningError(why)) => Ok(Err(refused(&logs, cluster, &why))),
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

/// Names of logs, for messages.
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

fn refused(logs: &Logs<'_>, cluster: &str, why: &PlanningError) -> Failure {
    Failure::Input(match why {
        PlanningError::Log(unread) => unread.to_string(),
        PlanningError::CurrentPlacement { .. } | PlanningError::Spool(_) => why.to_string(),
        PlanningError::Short(_) | PlanningError::Places(_) => format!("{logs}: {why}"),
        PlanningError::Cluster(_) | PlanningError::Plan(_) => format!("{cluster}: {why}"),
    })
}

/// Writes an example log and cluster.
fn demonstrate(folder: &Path) -> Result<(), Failure> {
    let unwritten = |error| Failure::Input(format!("--demo {}: cannot write: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(unwritten)?;
    let [log, cluster] = ["log.csv", "cluster.toml"].map(|name| folder.join(name));
    if let Some(there) = [&log, &cluster].into_iter().find(|path| path.exists()) {
        return Err(Failure::Input(format!("{} already exists; use another folder", there.display())));
    }
    let mut file = BufWriter::new(File::create_new(&log).map_err(unwritten)?);
    demo(&mut file).and_then(|()| file.flush()).map_err(unwritten)?;
    File::create_new(&cluster).and_then(|mut file| file.write_all(cluster_of_demo().as_bytes())).map_err(unwritten)?;
    let [log, cluster] = [log, cluster].map(|path| clean(&path.display().to_string()));
    say(&format!("{log} and {cluster}:\nfanin plan {log} --cluster {cluster}\n"))
}

fn told(logs: &Logs<'_>, planned: &Plan) -> String {
    let advice = &planned.advice;
    let (tally, plan) = (&advice.tally, &advice.plan);
    let count = |n: u64| large(n as f64);
    let mut text = format!(
        "{BOLD}{}{BOLD:#}: {} queries for {} keys, {} keys each on average\n",
        clean(&logs.to_string()),
        count(tally.queries),
        count(advice.catalogue.len() as u64),
        three(tally.requests as f64 / tally.queries as f64),
    );
    for (n, what) in [
        (tally.bad, "malformed lines skipped"),
        (tally.dropped, "lines dropped by memcached's watcher; their requests are missing"),
        (tally.misses, "misses: requests for keys that were not stored"),
    ] {
        if n > 0 {
            text += &format!("{GREY}{} {what}{GREY:#}\n", count(n));
        }
    }
    text += &format!(
        "\nThe plan, from the first {} queries: {} replicas move, {} in all, to {} servers.\n\n",
        count(advice.halves[0]),
        count(plan.moves.len() as u64),
        bytes(advice.moved_bytes as f64),
        count(plan.gathering.len() as u64),
    );
    let [before, after] = &advice.effects;
    text += &format!(
        "{BOLD}Servers per query{BOLD:#}, over the other {} queries, which the plan has not seen\n",
        count(advice.halves[1])
    );
    text += &histogram(before, after);
    let ways = [("before", Some(before)), ("popular only", advice.popular.as_ref()), ("after", Some(after))];
    for (name, effect) in ways.into_iter().filter_map(|(name, effect)| Some((name, effect?))) {
        text += &format!(
            "  {name:<14}mean {:>6}, p50 {}, p99 {}; load of the busiest server {:.1}× the mean\n",
            three(effect.mean()),
            effect.percentile(50),
            effect.percentile(99),
            effect.busiest()
        );
    }
    text += &format!(
        "\n{BOLD}Time of a query{BOLD:#}, simulated on this cluster ({} queries)\n",
        count(advice.requests[0].len() as u64)
    );
    for (name, of) in ["before", "after"].iter().zip(&planned.latencies) {
        text += &format!(
            "  {name:<14}mean {:>8}, p50 {:>8}, p99 {:>8}, {} packets dropped\n",
            time(of.mean),
            time(of.p50),
            time(of.p99),
            count(of.drops)
        );
    }
    text += &periods(planned);
    text + &concluded(planned)
}

/// Benefit of planning again after each period.
fn periods(planned: &Plan) -> String {
    let periods = &planned.advice.periods;
    let Some(first) = periods.first() else { return String::new() };
    let mean =
        |way: usize| periods[1..].iter().map(|of| of.servers[way]).sum::<f64>() / (periods.len() - 1).max(1) as f64;
    let mut text =
        format!("\n{BOLD}Planned again after every period{BOLD:#} and evaluated on the next: servers per query\n");
    text += &format!(
        "  {:>10} {:>12} {:>14} {:>14} {:>10}\n",
        "start", "unplanned", "planned once", "planned again", "moved"
    );
    for of in std::iter::once(first).chain(&periods[1..]) {
        let [unplanned, once, again] = of.servers.map(three);
        let begins = time(of.begins.0 as f64 / 1e9);
        text +=
            &format!("  {begins:>10} {unplanned:>12} {once:>14} {again:>14} {:>10}\n", bytes(of.moved_bytes as f64));
    }
    if periods.len() > 1 {
        let [unplanned, once, again] = [0, 1, 2].map(|way| three(mean(way)));
        text += &format!("  {:>10} {unplanned:>12} {once:>14} {again:>14}\n", "after it");
    }
    text
}

/// Duration of the move, time until it pays for itself, and the reasons.
fn concluded(planned: &Plan) -> String {
    let seconds = |s: f64| time(s * 1e3);
    let mut text = String::from("\n");
    if !planned.advice.plan.moves.is_empty() {
        text += &format!("Moving takes {} at 10 % of a server's link rate", seconds(planned.moving_s()));
        text += &match planned.pays_after_s() {
            Some(after) => format!("; it pays for itself after {}", seconds(after)),
            None => "; it never pays for itself".into(),
        };
        text += &match planned.lasts_s() {
            Some(lasts) => {
                format!(". Its benefit declines: at the log's rate of change, none is left after {}.\n", seconds(lasts))
            }
            None => ". Its benefit did not decline in the second half of the log.\n".into(),
        };
    }
    let why = planned.why();
    let (verdict, why) = why.split_once(": ").unwrap_or((&why, ""));
    text + &format!("{BOLD}{verdict}{BOLD:#}: {why}\n")
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
