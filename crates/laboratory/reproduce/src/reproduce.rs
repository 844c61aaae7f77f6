//! Runs of a paper's scenarios for its figures.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanin_lab::{Batch, Broken, Done, Session};
use fanin_papers::{
    Along, Conditions, DrawnPaper, Figure, Measure, Measured, Mode, Paper, PaperProblem, Reproduced, Source,
};
use fanin_spec::{RunSpec, Variant, Watch};
use fanin_units::Time;

use crate::apart::carry_out;
use crate::read::{sensitivity, variants};
use fanin_execute::clock;

/// Why a reproduction failed.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// Invalid files of the paper.
    #[error(transparent)]
    Paper(#[from] PaperProblem),
    /// An error of the runner.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

/// Reproduces papers, or the figures that `wanted` names. A quick reproduction leaves out figures that need whole runs.
///
/// # Errors
/// [`ReproduceError`].
pub fn reproduce(
    session: &mut Session<'_>,
    papers: &[Paper],
    wanted: &dyn Fn(&Figure) -> bool,
    conditions: &Conditions,
) -> Result<Reproduced, ReproduceError> {
    let (start, cached) = (clock(), session.cached);
    let wanted: &dyn Fn(&Figure) -> bool =
        &|figure| wanted(figure) && !(conditions.mode == Mode::Quick && figure.whole_runs);
    let mut out = Reproduced {
        conditions: conditions.clone(),
        papers: Vec::new(),
        cached_runs: 0,
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        notices: Vec::new(),
    };
    let mut jobs = Vec::new();
    let mut sensitivities = Vec::new();
    for (place, paper) in papers.iter().enumerate() {
        sensitivities.push(sensitivity(&paper.folder)?);
        jobs.extend(plan(place, paper, wanted, conditions)?);
    }
    let precise = conditions.mode == Mode::Full && conditions.seeds.is_none();
    let precision = |job: &Job| papers[job.paper].precision.filter(|_| precise);
    let mut measured = vec![Measured::default(); papers.len()];
    run_all(session, jobs, &precision, &mut measured, &mut out)?;
    for ((paper, mut measured), sensitivity) in papers.iter().zip(measured).zip(sensitivities) {
        for figure in paper.figures.iter().filter(|f| wanted(f)) {
            if let Source::Apart(apart) = &figure.source {
                carry_out(apart, conditions.mode, &mut measured);
            }
        }
        let figures = paper.figures.iter().filter(|f| wanted(f)).map(|f| measured.draw(f, &sensitivity)).collect();
        let (name, title) = (paper.name.clone(), paper.title.clone());
        out.papers.push(DrawnPaper { name, title, figures, sensitivity });
    }
    out.wall = start.elapsed();
    out.cached_runs = session.cached - cached;
    out.notices.clone_from(&session.notices);
    Ok(out)
}

/// A run, and the measures that figures need from it.
struct Job {
    /// Index of its paper.
    paper: usize,
    scenario: String,
    spec: RunSpec,
    /// Index among the seeds of its point.
    nth: usize,
    /// Position on the figures' axis.
    x: f64,
    measures: BTreeSet<Measure>,
    watched: bool,
}

/// The jobs of a paper; seeds of a point in order.
fn plan(
    place: usize,
    paper: &Paper,
    wanted: &dyn Fn(&Figure) -> bool,
    conditions: &Conditions,
) -> Result<Vec<Job>, PaperProblem> {
    // The measure that decides whether a point is precise enough.
    let known_by = paper.precision.map(|_| Measure::QueryMs);
    // By scenario: the axis, and the measures by scheme and swept value (as bits).
    let mut scenarios: BTreeMap<&str, (&Along, Wanted)> = BTreeMap::new();
    for figure in paper.figures.iter().filter(|f| wanted(f)) {
        let Source::Runs { scenario, schemes, along, xs } = &figure.source else { continue };
        let (_, of_scenario) = scenarios.entry(scenario).or_insert_with(|| (along, Wanted::new()));
        let measures: BTreeSet<Measure> =
            figure.draws.iter().copied().chain(figure.claims.iter().map(|c| c.measure)).chain(known_by).collect();
        for scheme in schemes {
            for x in xs {
                of_scenario.entry(scheme.clone()).or_default().entry(x.to_bits()).or_default().extend(&measures);
            }
        }
    }
    let mut jobs = Vec::new();
    for (scenario, (along, wanted)) in scenarios {
        let quick = conditions.mode == Mode::Quick;
        let set: Vec<String> =
            conditions.set.iter().filter(|s| s.is_of(scenario)).map(|s| s.assignment.clone()).collect();
        let quick = if quick { paper.quick_set_of(scenario) } else { Vec::new() };
        for variant in variants(&paper.folder, scenario, &quick, &set)?.unwrap_or_default() {
            let Some(measures) = wanted.get(&variant.label) else { continue };
            for (&x, all) in measures {
                let x = f64::from_bits(x);
                for watched in [false, true] {
                    let measures: BTreeSet<Measure> = all.iter().copied().filter(|m| m.watches() == watched).collect();
                    if measures.is_empty() {
                        continue;
                    }
                    let specs = specs(paper, scenario, along, &variant, x, conditions)?;
                    let job = |(nth, spec)| {
                        let (scenario, measures) = (scenario.into(), measures.clone());
                        Job { paper: place, scenario, spec, nth, x, measures, watched }
                    };
                    jobs.extend(specs.into_iter().enumerate().map(job));
                }
            }
        }
    }
    Ok(jobs)
}

/// Measures that figures need from a scenario, by scheme and swept value (as bits).
type Wanted = BTreeMap<String, BTreeMap<u64, BTreeSet<Measure>>>;

/// The runs of a scheme at a point.
fn specs(
    paper: &Paper,
    scenario: &str,
    along: &Along,
    variant: &Variant,
    x: f64,
    conditions: &Conditions,
) -> Result<Vec<RunSpec>, PaperProblem> {
    let run = &variant.settings.run;
    let seeds = conditions.seeds.unwrap_or(match conditions.mode {
        Mode::Full => run.seeds,
        Mode::Quick => paper.quick_seeds,
    });
    let first = conditions.first_seed.unwrap_or(run.first_seed);
    let swept = along.xs(variant);
    let place = swept.iter().position(|&other| other == x);
    let run = |seed| {
        let swept_over = || Along::listed(&swept);
        let what =
            || format!("with these settings, {scenario} does not sweep over {x} {}: {}", along.axis(), swept_over());
        place.and_then(|place| variant.at(place, seed)).ok_or_else(|| PaperProblem(what()))
    };
    (first..first + u64::from(seeds)).map(run).collect()
}

/// The first server's window, at the resolution that figures need.
const FIRST_WINDOW: (Time, u32) = (Time::from_micros(100), 0);

/// Seeds added per step.
const STEP: usize = 5;

/// Runs the jobs of all papers together to keep all cores busy. If a paper has a precision, a point's runs continue until its mean
/// query time is that precise, or all seeds have run.
fn run_all(
    session: &mut Session<'_>,
    jobs: Vec<Job>,
    precision: &dyn Fn(&Job) -> Option<f64>,
    measured: &mut [Measured],
    out: &mut Reproduced,
) -> Result<(), ReproduceError> {
    session.expect(jobs.len());
    for job in &jobs {
        if let Some(precision) = precision(job) {
            measured[job.paper].plan(&job.scenario, &job.spec.label, job.x, precision);
        }
    }
    let (mut left, mut reach) = (jobs, 0);
    while !left.is_empty() {
        reach += STEP;
        let (now, later): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|job| job.nth < reach || precision(job).is_none());
        for watched in [false, true] {
            run(session, &now, watched, measured, out)?;
        }
        let is_known = |job: &Job| {
            let width = measured[job.paper].width(&job.scenario, &job.spec.label, job.x);
            width.zip(precision(job)).is_some_and(|(width, precision)| width <= precision)
        };
        let (spared, needed): (Vec<_>, Vec<_>) = later.into_iter().partition(is_known);
        for job in &spared {
            measured[job.paper].spare(&job.scenario, &job.spec.label, job.x);
        }
        session.spare(spared.len());
        left = needed;
    }
    Ok(())
}

/// Runs either the watched jobs or the others, and stores only the measures that figures need.
fn run(
    session: &mut Session<'_>,
    jobs: &[Job],
    watched: bool,
    measured: &mut [Measured],
    out: &mut Reproduced,
) -> Result<(), ReproduceError> {
    let jobs: Vec<&Job> = jobs.iter().filter(|job| job.watched == watched).collect();
    if jobs.is_empty() {
        return Ok(());
    }
    let (step, server) = FIRST_WINDOW;
    let watch = Watch { step, from: Time::ZERO, to: Time::NEVER, servers: vec![server] };
    let specs: Vec<RunSpec> = jobs.iter().map(|job| job.spec.clone()).collect();
    let mut gave: Vec<Option<Measured>> = vec![None; jobs.len()];
    let mut take = |index: usize, done: Done| {
        let job = jobs[index];
        let mut one = Measured::default();
        one.take(&job.scenario, job.x, &job.measures, &job.spec, &done.tables);
        gave[index] = Some(one);
        out.cpu += done.cpu;
    };
    session.run(Batch { specs: &specs, watch: watched.then_some(&watch) }, &mut take)?;
    for (job, gave) in jobs.into_iter().zip(gave) {
        measured[job.paper].join(gave.ok_or(ReproduceError::Stopped)?);
    }
    Ok(())
}
