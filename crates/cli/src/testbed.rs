//! `fanin testbed`: a scenario on real TCP beside its prediction.

use std::env;
use std::io::Write;
use std::path::PathBuf;

use fanin::advice::Advice;
use fanin::prove::ProvedChange;
use fanin::testbed::{Kind, Proof, ProofRow, Side, Testbed, kernel_folder, prepare, serve};
use fanin::{Advised, Axis, Counter, Error, Lab, Scenario, Update};

use crate::arguments::{TestbedArguments, TestbedMachine};
use crate::compare::asked;
use crate::failure::Failure;
use crate::figures::{GREY, clean, columns, count, three, wrap};
use crate::load::{Loaded, load, read};
use crate::terminal::{say, width};
use crate::work::{self, Means, in_lab, warn};

/// Runs of a point that are measured unless `--seeds` says otherwise: one at each phase.
const RUNS: u32 = 5;
/// Arguments with which a machine starts this program as its first process.
const FIRST_PROCESS: &[&str] = &["testbed", "--run-in"];
/// Columns of the table, each with a measured and a predicted value.
const HEAD: [&str; 14] = [
    "scheme",
    "point",
    "Mbit/s",
    "range",
    "predicted",
    "ratio",
    "p50 ms",
    "predicted",
    "p99 ms",
    "predicted",
    "RTOs/predicted",
    "drops/predicted",
    "idle ms/predicted",
    "CPU",
];

/// Measures and prints.
pub fn testbed(arguments: &TestbedArguments) -> Result<(), Failure> {
    if let Some(folder) = arguments.run_in.first() {
        return serve(folder).map_err(|trouble| Failure::Environment(trouble.to_string()));
    }
    if arguments.prepare {
        let kind = arguments.machine.kind().unwrap_or(Kind::Instant);
        return Ok(prepare(kind, &folder(kind)?).map_err(Error::from)?);
    }
    let Some(file) = &arguments.scenario else {
        return Err(Failure::Input("a testbed needs a scenario file".into()));
    };
    let mut testbed = on(arguments.machine)?;
    if arguments.memcached {
        testbed = testbed.with_memcached(own_program()?);
    }
    let common = &arguments.common;
    let asked_for = asked(&arguments.sweep)?;
    let mut measured = asked(&arguments.sweep)?;
    if arguments.sweep.seeds.is_none() {
        measured.keys.push((format!("--seeds {RUNS}"), "run.seeds", RUNS.to_string()));
    }
    let Loaded { scenario: predicted, out } = load(read(file)?, &common.set, common.out.as_deref(), &asked_for)?;
    let measured = load(read(file)?, &common.set, None, &measured)?.scenario;
    warn(predicted.warnings());
    let means = Means { jobs: None, cached: !common.no_cache };
    let proof = in_lab(means, |lab, hear| lab.testbed(testbed.clone(), &predicted, &measured, hear))?;
    if let Some(out) = out {
        let files = [("testbed.json".to_string(), proof.to_json() + "\n")];
        proof.comparison().write_with(out, &work::arguments(), &files, String::new())?;
    }
    match common.json {
        true => say(&(proof.to_json() + "\n"))?,
        false => say(&text(&proof))?,
    }
    // A failure to print the time is not an error.
    let _ = writeln!(anstream::stderr(), "{GREY}{:.1} s wall{GREY:#}", proof.wall().as_secs_f64());
    work::all_finished(proof.comparison())
}

/// A testbed on a machine.
fn on(machine: TestbedMachine) -> Result<Testbed, Failure> {
    match machine.kind() {
        None => Ok(Testbed::here()),
        Some(kind) => Ok(Testbed::booted(kind, folder(kind)?, own_program()?, FIRST_PROCESS).map_err(Error::from)?),
    }
}

impl TestbedMachine {
    /// `None` for this machine.
    fn kind(self) -> Option<Kind> {
        match self {
            TestbedMachine::Here => None,
            TestbedMachine::Instant => Some(Kind::Instant),
            TestbedMachine::Counted => Some(Kind::Counted),
        }
    }
}

/// The testbed of `fanin advise --prove`.
pub struct Prover(Testbed);

impl Prover {
    /// On a machine.
    pub fn on(machine: TestbedMachine) -> Result<Prover, Failure> {
        on(machine).map(Prover)
    }

    /// Whether it can measure a cluster, before the search for remedies.
    pub fn check(&self, lab: &Lab, cluster: &Scenario, hear: &mut dyn FnMut(Update)) -> Result<(), Error> {
        lab.can_prove(&self.0, cluster, hear)
    }

    /// Measures a cluster and its first remedies.
    pub fn prove(
        &self,
        lab: &Lab,
        cluster: &Scenario,
        advice: &Advice,
        hear: &mut dyn FnMut(Update),
    ) -> Result<Proved, Error> {
        lab.prove(&self.0, cluster, advice, RUNS, hear).map(Proved)
    }
}

/// Changes of a cluster that were measured.
pub struct Proved(Vec<ProvedChange>);

impl Proved {
    /// The output of `--json`.
    pub fn json(&self, advised: &Advised) -> String {
        advised.to_json_with(&self.0)
    }

    /// A line for each change.
    pub fn text(&self) -> String {
        let mut text = String::from("\nMeasured on a testbed; predicted in parentheses\n");
        for (place, change) in self.0.iter().enumerate() {
            let name = if place == 0 { "today".to_string() } else { format!("{place}. {}", clean(&change.says)) };
            let line = match (&change.proof, change.row()) {
                (Err(why), _) => format!("{name}: not measurable: {}", clean(why)),
                (Ok(_), None) => format!("{name}: not measured"),
                (Ok(_), Some(row)) => measured(&name, &row),
            };
            text += &(wrap(&line, width(), "  ") + "\n");
        }
        text
    }
}

fn measured(name: &str, row: &ProofRow<'_>) -> String {
    let (now, then) = (row.measured.row, row.predicted.row);
    let p99 = now.qct_ms.p99.zip(then.qct_ms.p99);
    let p99 = p99.map_or(String::new(), |(now, then)| format!(", p99 {} ({}) ms", three(now), three(then)));
    let busy = row
        .rate_that_fits()
        .map_or("", |_| "; a processor was too busy, so this shows the machine rather than the network");
    format!("{name}: {} ({}) Mbit/s{p99}{busy}", three(now.goodput_mbps.mean), three(then.goodput_mbps.mean))
}

fn own_program() -> Result<PathBuf, Failure> {
    env::current_exe().map_err(|error| Failure::Environment(format!("this program: {error}")))
}

/// Folder of a machine's kernel.
fn folder(kind: Kind) -> Result<PathBuf, Failure> {
    let missing = || Failure::Environment("this system has no default cache folder: set XDG_CACHE_HOME".into());
    kernel_folder(kind).ok_or_else(missing)
}

fn text(proof: &Proof) -> String {
    let (width, axis) = (width(), Axis::of(proof.comparison().scenario().variants()));
    let rows = proof.rows();
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, &axis)).collect();
    let mut parts = vec![columns(&HEAD, &cells, 2, width)];
    parts.extend(limits(&rows, &axis).map(|text| wrap(&text, width, "  ") + "\n"));
    let verdicts = proof.findings().into_iter().map(|finding| {
        let word = if finding.agrees() { "agrees" } else { "differs" };
        let (scheme, measured, predicted) = (finding.scheme, &finding.measured.head, &finding.predicted.head);
        wrap(&format!("{} {word}: measured, it {measured}; predicted, it {predicted}", clean(scheme)), width, "  ")
            + "\n"
    });
    parts.push(verdicts.collect());
    let impossible = proof.impossible().iter();
    parts.push(
        impossible
            .map(|one| {
                wrap(&format!("{}: not measurable: {}", clean(&one.scheme), clean(&one.why)), width, "  ") + "\n"
            })
            .collect(),
    );
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn cells(row: &ProofRow<'_>, axis: &Axis) -> Vec<String> {
    let (measured, predicted) = (&row.measured, &row.predicted);
    let time = |value: Option<f64>| value.map_or_else(|| "-".into(), three);
    let counts = |pick: fn(&Side<'_>) -> f64| format!("{}/{}", count(pick(measured)), count(pick(predicted)));
    let [low, high] = measured.range_mbps();
    vec![
        clean(row.scheme()),
        clean(&axis.tick(predicted.row)),
        three(measured.row.goodput_mbps.mean),
        format!("{}-{}", three(low), three(high)),
        three(predicted.row.goodput_mbps.mean),
        three(row.goodput_ratio()),
        time(measured.row.qct_ms.p50),
        time(predicted.row.qct_ms.p50),
        time(measured.row.qct_ms.p99),
        time(predicted.row.qct_ms.p99),
        counts(|side| side.row.timeouts),
        counts(|side| side.row.drops),
        format!("{}/{}", idle(measured), idle(predicted)),
        format!("{:.0} %", row.busy * 100.0),
    ]
}

/// Idle time a round, with its main cause.
fn idle(side: &Side<'_>) -> String {
    let row = side.row;
    match row.stalls_by_cause.longest_first().first() {
        _ if row.unmeasured.contains(&Counter::Stalls) => "-".into(),
        Some((cause, _)) => format!("{} {}", three(row.a_round(row.stalled_ms)), cause.word()),
        None => three(row.a_round(row.stalled_ms)),
    }
}

/// A note on points that the machine limits.
fn limits(rows: &[ProofRow<'_>], axis: &Axis) -> Option<String> {
    let fits = |row: &ProofRow<'_>| {
        let share = row.rate_that_fits()?;
        let (scheme, point) = (clean(row.scheme()), clean(&axis.tick(row.predicted.row)));
        Some((share, format!("{scheme} at {point} ({:.0} %)", row.busy * 100.0)))
    };
    let limited: Vec<(f64, String)> = rows.iter().filter_map(fits).collect();
    let share = limited.iter().map(|(share, _)| *share).reduce(f64::min)?;
    let points: Vec<String> = limited.into_iter().map(|(_, point)| point).collect();
    Some(format!(
        "A processor was too busy, so these points show the machine rather than the network: {}. Links at {:.0} % of their rates would fit.",
        points.join(", "),
        share * 100.0
    ))
}
