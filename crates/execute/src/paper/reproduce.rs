//! Runs a paper's scenarios for its figures.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanin_lab::paper::{
    Along, Conditions, DrawnPaper, Figure, Measure, Measured, Mode, Paper, PaperProblem, Reproduced, Source,
};
use fanin_lab::{Broken, Watching};
use fanin_spec::{Contender, RunSpec, Watch};
use fanin_units::Time;

use super::apart::carry_out;
use super::read::{contenders, sensitivity};
use crate::executor::clock;
use crate::{Lab, Progress, execute};

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Unreproduced {
    /// The paper's files.
    #[error(transparent)]
    Paper(#[from] PaperProblem),
    /// A fault of the runner.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
}

/// What figures want of one scenario: measures by scheme and the bits of what is swept.
type Wanted = BTreeMap<String, BTreeMap<u64, BTreeSet<Measure>>>;

/// Reproduces papers, or those of their figures that `wanted` names.
///
/// # Errors
/// [`Unreproduced`].
pub fn reproduce(
    lab: &Lab,
    papers: &[Paper],
    wanted: &dyn Fn(&Figure) -> bool,
    conditions: &Conditions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Reproduced, Unreproduced> {
    let start = clock();
    let mut out = Reproduced {
        conditions: conditions.clone(),
        papers: Vec::new(),
        cached_runs: 0,
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        notices: Vec::new(),
    };
    let mut work = Vec::new();
    for paper in papers {
        work.push((sensitivity(&paper.folder)?, plan(paper, wanted, conditions)?));
    }
    let mut tally = Tally {
        done: 0,
        total: work.iter().flat_map(|(_, batches)| batches).map(|b| b.specs.len()).sum(),
        elapsed: Duration::ZERO,
        tell: progress,
    };
    for (paper, (sensitivity, batches)) in papers.iter().zip(&work) {
        let mut measured = Measured::default();
        for batch in batches {
            match paper.precision.filter(|_| conditions.mode == Mode::Full && conditions.seeds.is_none()) {
                Some(precision) => run_until(lab, batch, precision, &mut tally, &mut measured, &mut out)?,
                None => run(lab, batch, &batch.specs, &mut tally, &mut measured, &mut out)?,
            }
        }
        for figure in paper.figures.iter().filter(|f| wanted(f)) {
            if let Source::Apart(apart) = &figure.source {
                carry_out(apart, &mut measured);
            }
        }
        let figures = paper.figures.iter().filter(|f| wanted(f)).map(|f| measured.draw(f, sensitivity)).collect();
        let (name, title, sensitivity) = (paper.name.clone(), paper.title.clone(), sensitivity.clone());
        out.papers.push(DrawnPaper { name, title, figures, sensitivity });
    }
    out.wall = start.elapsed();
    Ok(out)
}

/// One scheme's runs of one scenario.
struct Batch {
    scenario: String,
    specs: Vec<RunSpec>,
    along: Along,
    /// By the bits of what is swept.
    measures: BTreeMap<u64, BTreeSet<Measure>>,
    watched: bool,
}

fn plan(paper: &Paper, wanted: &dyn Fn(&Figure) -> bool, conditions: &Conditions) -> Result<Vec<Batch>, PaperProblem> {
    // By which a point is known precisely enough.
    let known_by = paper.precision.map(|_| Measure::QueryMs);
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
    let mut batches = Vec::new();
    for (scenario, (along, wanted)) in scenarios {
        let quick = conditions.mode == Mode::Quick;
        let set: Vec<String> =
            conditions.set.iter().filter(|s| s.is_of(scenario)).map(|s| s.assignment.clone()).collect();
        let quick = if quick { paper.quick_set_of(scenario) } else { Vec::new() };
        for contender in contenders(&paper.folder, scenario, &quick, &set)?.unwrap_or_default() {
            let Some(measures) = wanted.get(&contender.label) else { continue };
            for watched in [false, true] {
                let measures: BTreeMap<u64, BTreeSet<Measure>> = measures
                    .iter()
                    .map(|(&x, all)| {
                        (x, all.iter().copied().filter(|m| m.watches() == watched).collect::<BTreeSet<_>>())
                    })
                    .filter(|(_, some)| !some.is_empty())
                    .collect();
                let xs = measures.keys().map(|&x| f64::from_bits(x));
                let specs = specs(paper, (scenario, along), &contender, xs, conditions)?;
                if !specs.is_empty() {
                    let (scenario, along) = (scenario.into(), along.clone());
                    batches.push(Batch { scenario, specs, along, measures, watched });
                }
            }
        }
    }
    Ok(batches)
}

fn specs(
    paper: &Paper,
    (scenario, along): (&str, &Along),
    contender: &Contender,
    xs: impl Iterator<Item = f64>,
    conditions: &Conditions,
) -> Result<Vec<RunSpec>, PaperProblem> {
    let run = &contender.settings.run;
    let seeds = conditions.seeds.unwrap_or(match conditions.mode {
        Mode::Full => run.seeds,
        Mode::Quick => paper.quick_seeds,
    });
    let first = conditions.first_seed.unwrap_or(run.first_seed);
    let swept = along.xs(contender);
    let of = |x: f64| (first..first + u64::from(seeds)).map(move |seed| (x, seed));
    let run = |(x, seed)| {
        let swept_over = || Along::listed(&swept);
        let what =
            || format!("{scenario} as it is set here does not sweep over {x} {}: {}", along.axis(), swept_over());
        let place = swept.iter().position(|&other| other == x);
        place.and_then(|place| contender.at(place, seed)).ok_or_else(|| PaperProblem(what()))
    };
    xs.flat_map(of).map(run).collect()
}

/// The first server's window, as closely as figures need it.
const FIRST_WINDOW: (Time, u32) = (Time::from_micros(100), 0);

/// Progress over all batches.
struct Tally<'a> {
    done: usize,
    total: usize,
    elapsed: Duration,
    tell: &'a mut dyn FnMut(Progress),
}

impl Tally<'_> {
    fn tell(&mut self, batch: Progress) {
        let (done, elapsed) = (self.done + batch.done, self.elapsed + batch.elapsed);
        let left = (done > 0).then(|| elapsed.mul_f64((self.total - done) as f64 / done as f64));
        (self.tell)(Progress { done, total: self.total, elapsed, left });
    }
}

/// So many seeds are added at a time.
const STEP: usize = 5;

/// Runs of a batch until each point's mean query time is known as precisely, or all of its seeds were run.
fn run_until(
    lab: &Lab,
    batch: &Batch,
    precision: f64,
    tally: &mut Tally,
    measured: &mut Measured,
    out: &mut Reproduced,
) -> Result<(), Unreproduced> {
    let x_of = |spec: &RunSpec| batch.along.x(&spec.point, spec.fan_in);
    let mut left = batch.specs.clone();
    for (spec, x) in left.iter().filter_map(|spec| Some((spec, x_of(spec)?))) {
        measured.plan(&batch.scenario, &spec.label, x, precision);
    }
    while !left.is_empty() {
        let mut points: BTreeMap<u64, usize> = BTreeMap::new();
        let (now, later): (Vec<_>, Vec<_>) = left.into_iter().partition(|spec| {
            let count = points.entry(x_of(spec).unwrap_or_default().to_bits()).or_default();
            *count += 1;
            *count <= STEP
        });
        run(lab, batch, &now, tally, measured, out)?;
        let is_known = |spec: &RunSpec| {
            let width = x_of(spec).and_then(|x| measured.width(&batch.scenario, &spec.label, x));
            width.is_some_and(|width| width <= precision)
        };
        let (spared, needed): (Vec<_>, Vec<_>) = later.into_iter().partition(is_known);
        for (spec, x) in spared.iter().filter_map(|spec| Some((spec, x_of(spec)?))) {
            measured.spare(&batch.scenario, &spec.label, x);
        }
        tally.total -= spared.len();
        left = needed;
    }
    Ok(())
}

fn run(
    lab: &Lab,
    batch: &Batch,
    specs: &[RunSpec],
    tally: &mut Tally,
    measured: &mut Measured,
    out: &mut Reproduced,
) -> Result<(), Unreproduced> {
    let (step, server) = FIRST_WINDOW;
    let watch = Watch { step, from: Time::ZERO, to: Time::NEVER, servers: vec![server] };
    let watching = Watching { runner: lab.runner, watch };
    // The cache knows runs by their specs, and those that were not watched have no samples.
    let lab = if batch.watched { Lab { runner: &watching, cache: None, ..*lab } } else { *lab };
    let outcome = execute(&lab, specs, &mut |progress| tally.tell(progress))?;
    tally.done += specs.len();
    tally.elapsed += outcome.wall;
    out.cached_runs += outcome.cached;
    out.notices.extend(outcome.notices);
    for (spec, done) in specs.iter().zip(outcome.runs) {
        let done = done.ok_or(Unreproduced::Stopped)?;
        out.cpu += done.cpu;
        let Some(x) = batch.along.x(&spec.point, spec.fan_in) else { continue };
        let wanted = batch.measures.get(&x.to_bits()).into_iter().flatten();
        measured.take((&batch.scenario, x), wanted, spec, &done.tables);
    }
    Ok(())
}
