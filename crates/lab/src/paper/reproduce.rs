//! Runs a paper's scenarios, draws its figures' curves, judges its claims.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanin_model::{Bottleneck, Growth};
use fanin_spec::{Contender, RunSpec, Watch};
use fanin_units::Time;

use super::curve::{Curve, Point};
use super::file::{Claim, Figure, ModelCurve, ModelForm, Paper, PaperProblem, Source};
use super::judge::Judgement;
use super::measure::{Measure, Over};
use super::sensitivity::Sensitivity;
use crate::executor::clock;
use crate::{Broken, Lab, Progress, Watching, execute};

/// How much of a paper's settings is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The paper's own.
    Full,
    /// Fewer seeds and shorter runs, as its claims file has them.
    Quick,
}

/// How a paper is reproduced.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Full or quick.
    pub mode: Mode,
    /// In place of the scenarios' number of seeds.
    pub seeds: Option<u32>,
    /// In place of the scenarios' first seed.
    pub first_seed: Option<u64>,
    /// Keys of scenarios that are set, as `--set` does.
    pub set: Vec<Setting>,
}

/// A key of some or of all scenarios, set to a value.
#[derive(Clone, Debug)]
pub struct Setting {
    /// `path.to.key=VALUE`.
    pub assignment: String,
    /// The scenarios' files; all where there is none.
    pub scenarios: Vec<String>,
}

impl Setting {
    /// A key of all scenarios.
    pub fn everywhere(assignment: &str) -> Setting {
        Setting { assignment: assignment.into(), scenarios: Vec::new() }
    }

    /// Whether it sets a key of this scenario.
    pub fn is_of(&self, scenario: &str) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|name| name == scenario)
    }
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// How they were reproduced.
    pub conditions: Conditions,
    /// The papers, in the order that was asked for.
    pub papers: Vec<DrawnPaper>,
    /// Runs that came from the cache.
    pub cached_runs: usize,
    /// Wall time of it all.
    pub wall: Duration,
    /// User CPU time of all runs, those of the cache as they were measured then.
    pub cpu: Duration,
    /// What the user may want to know of the cache.
    pub notices: Vec<String>,
}

/// A paper with its figures drawn.
#[derive(Clone, Debug)]
pub struct DrawnPaper {
    /// `m21`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its figures.
    pub figures: Vec<DrawnFigure>,
}

/// A figure with its curves and judged claims.
#[derive(Clone, Debug)]
pub struct DrawnFigure {
    /// `M-6`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Whether the y axis is logarithmic.
    pub log: bool,
    /// One chart a measure that is drawn.
    pub charts: Vec<Chart>,
    /// Its claims with their verdicts.
    pub claims: Vec<JudgedClaim>,
}

/// One chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What is drawn.
    pub measure: Measure,
    /// The words of the axes.
    pub x: &'static str,
    /// The words of the axes.
    pub y: &'static str,
    /// The curves, in the legend's order.
    pub curves: Vec<Curve>,
    /// The curves that it is drawn over; none where it shows values as they are.
    pub over: Vec<String>,
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub struct JudgedClaim {
    /// The claim.
    pub claim: Claim,
    /// The outcome.
    pub judgement: Judgement,
    /// Whether the verdict keeps over the plausible ranges of what the paper leaves open; `None` where nobody looked.
    pub robust: Option<bool>,
}

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

/// Where a figure's values are found: its scenario, a scheme's label, a measure, a fan-in.
type Place = (String, String, Measure, u32);

/// What the runs of a paper gave.
#[derive(Default)]
struct Measured {
    /// One value a seed.
    values: BTreeMap<Place, Vec<f64>>,
    /// One series a seed.
    series: BTreeMap<Place, Vec<Vec<(f64, f64)>>>,
    cached: usize,
    cpu: Duration,
    notices: Vec<String>,
}

/// What figures want of one scenario: measures by scheme and fan-in.
type Wanted = BTreeMap<String, BTreeMap<u32, BTreeSet<Measure>>>;

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
        work.push((Sensitivity::read(&paper.folder)?, plan(paper, wanted, conditions)?));
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
            measured.run(lab, batch, &mut tally)?;
        }
        let figures = paper.figures.iter().filter(|f| wanted(f)).map(|f| draw(f, &measured, sensitivity)).collect();
        out.papers.push(DrawnPaper { name: paper.name.clone(), title: paper.title.clone(), figures });
        out.cached_runs += measured.cached;
        out.cpu += measured.cpu;
        out.notices.extend(measured.notices);
    }
    out.wall = start.elapsed();
    Ok(out)
}

/// One scheme's runs of one scenario.
struct Batch {
    scenario: String,
    specs: Vec<RunSpec>,
    /// By fan-in.
    measures: BTreeMap<u32, BTreeSet<Measure>>,
    watched: bool,
}

fn plan(paper: &Paper, wanted: &dyn Fn(&Figure) -> bool, conditions: &Conditions) -> Result<Vec<Batch>, PaperProblem> {
    let mut scenarios: BTreeMap<&str, Wanted> = BTreeMap::new();
    for figure in paper.figures.iter().filter(|f| wanted(f)) {
        let Source::Runs { scenario, schemes, fan_in } = &figure.source else { continue };
        let of_scenario = scenarios.entry(scenario).or_default();
        let measures: BTreeSet<Measure> =
            figure.draws.iter().copied().chain(figure.claims.iter().map(|c| c.measure)).collect();
        for scheme in schemes {
            for &n in fan_in {
                of_scenario.entry(scheme.clone()).or_default().entry(n).or_default().extend(&measures);
            }
        }
    }
    let mut batches = Vec::new();
    for (scenario, wanted) in scenarios {
        let quick = conditions.mode == Mode::Quick;
        let set: Vec<String> =
            conditions.set.iter().filter(|s| s.is_of(scenario)).map(|s| s.assignment.clone()).collect();
        for contender in paper.contenders(scenario, quick, &set)? {
            let Some(measures) = wanted.get(&contender.label) else { continue };
            for watched in [false, true] {
                let measures: BTreeMap<u32, BTreeSet<Measure>> = measures
                    .iter()
                    .map(|(&n, all)| {
                        (n, all.iter().copied().filter(|m| m.watches() == watched).collect::<BTreeSet<_>>())
                    })
                    .filter(|(_, some)| !some.is_empty())
                    .collect();
                let specs = specs(paper, scenario, &contender, measures.keys(), conditions)?;
                if !specs.is_empty() {
                    batches.push(Batch { scenario: scenario.into(), specs, measures, watched });
                }
            }
        }
    }
    Ok(batches)
}

fn specs<'a>(
    paper: &Paper,
    scenario: &str,
    contender: &Contender,
    fan_ins: impl Iterator<Item = &'a u32>,
    conditions: &Conditions,
) -> Result<Vec<RunSpec>, PaperProblem> {
    let run = &contender.settings.run;
    let seeds = conditions.seeds.unwrap_or(match conditions.mode {
        Mode::Full => run.seeds,
        Mode::Quick => paper.quick_seeds,
    });
    let first = conditions.first_seed.unwrap_or(run.first_seed);
    let of = |fan_in: u32| (first..first + u64::from(seeds)).map(move |seed| (fan_in, seed));
    let run = |(fan_in, seed)| {
        let swept = contender.fan_ins();
        let what = || format!("{scenario} as it is set here does not sweep over {fan_in} senders: {swept:?}");
        contender.run(fan_in, seed).ok_or_else(|| PaperProblem(what()))
    };
    fan_ins.flat_map(|&n| of(n)).map(run).collect()
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

impl Measured {
    fn run(&mut self, lab: &Lab, batch: &Batch, tally: &mut Tally) -> Result<(), Unreproduced> {
        let (step, server) = FIRST_WINDOW;
        let watch = Watch { step, from: Time::ZERO, to: Time::NEVER, servers: vec![server] };
        let watching = Watching { runner: lab.runner, watch };
        // The cache knows runs by their specs, and those that were not watched have no samples.
        let lab = if batch.watched { Lab { runner: &watching, cache: None, ..*lab } } else { *lab };
        let outcome = execute(&lab, &batch.specs, &mut |progress| tally.tell(progress))?;
        tally.done += batch.specs.len();
        tally.elapsed += outcome.wall;
        self.cached += outcome.cached;
        self.notices.extend(outcome.notices);
        for (spec, done) in batch.specs.iter().zip(outcome.runs) {
            let done = done.ok_or(Unreproduced::Stopped)?;
            self.cpu += done.cpu;
            for &measure in batch.measures.get(&spec.fan_in).into_iter().flatten() {
                let place = (batch.scenario.clone(), spec.label.clone(), measure, spec.fan_in);
                match measure.over() {
                    Over::FanIn => {
                        let value = measure.of_run(spec, &done.tables);
                        self.values.entry(place).or_default().extend(value);
                    }
                    _ => self.series.entry(place).or_default().push(measure.series(spec, &done.tables)),
                }
            }
        }
        Ok(())
    }

    /// A curve of a figure's scenario.
    fn curve(&self, scenario: &str, scheme: &str, fan_ins: &[u32], measure: Measure) -> Curve {
        let place = |n: u32| (scenario.to_string(), scheme.to_string(), measure, n);
        let points = match (measure.over(), fan_ins.first()) {
            (Over::FanIn, _) => {
                fan_ins.iter().filter_map(|&n| Point::new(n.into(), self.values.get(&place(n))?.clone())).collect()
            }
            (Over::Rounds, Some(&n)) => by_x(self.series.get(&place(n)).map_or(&[], Vec::as_slice)),
            (_, Some(&n)) => {
                // Of one run: times of different runs do not match.
                let first = self.series.get(&place(n)).and_then(|all| all.first());
                first.into_iter().flatten().filter_map(|&(x, y)| Point::new(x, vec![y])).collect()
            }
            (_, None) => Vec::new(),
        };
        Curve { name: scheme.into(), points }
    }
}

/// The values of all series at each x.
fn by_x(series: &[Vec<(f64, f64)>]) -> Vec<Point> {
    let Some(longest) = series.iter().max_by_key(|s| s.len()) else { return Vec::new() };
    let at = |x: f64| series.iter().filter_map(|s| s.iter().find(|p| p.0 == x)).map(|p| p.1).collect();
    longest.iter().filter_map(|&(x, _)| Point::new(x, at(x))).collect()
}

fn draw(figure: &Figure, measured: &Measured, sensitivity: &Sensitivity) -> DrawnFigure {
    let curves = |measure: Measure| -> Vec<Curve> {
        match &figure.source {
            Source::Runs { scenario, schemes, fan_in } => {
                schemes.iter().map(|scheme| measured.curve(scenario, scheme, fan_in, measure)).collect()
            }
            Source::Model { curves, flows } => curves.iter().map(|c| model_curve(c, flows)).collect(),
        }
    };
    let chart = |&measure: &Measure| Chart {
        measure,
        x: measure.over_axis(),
        y: measure.axis(),
        curves: curves(measure),
        over: figure.over.get(&measure).cloned().unwrap_or_default(),
    };
    let judged = |claim: &Claim| JudgedClaim {
        claim: claim.clone(),
        judgement: claim.test.judge(&curves(claim.measure)),
        robust: sensitivity.robust(&claim.id),
    };
    DrawnFigure {
        id: figure.id.clone(),
        title: figure.title.clone(),
        log: figure.log,
        charts: figure.draws.iter().map(chart).collect(),
        claims: figure.claims.iter().map(judged).collect(),
    }
}

fn model_curve(curve: &ModelCurve, flows: &[u32]) -> Curve {
    let bottleneck = Bottleneck { rate: curve.rate, buffer: curve.buffer, rtt: curve.rtt, packet: curve.packet };
    let probability = |n: f64| match curve.form {
        ModelForm::Doubles => fanin_model::incast_when_full(n, Growth::Doubles, &bottleneck),
        ModelForm::ByOne => fanin_model::incast_when_full(n, Growth::ByOne, &bottleneck),
        ModelForm::Printed => fanin_model::incast_as_printed(n, &bottleneck),
        ModelForm::Window => fanin_model::incast_at(n, curve.window.unwrap_or(1.0), bottleneck.buffer_packets()),
    };
    let points = flows.iter().filter_map(|&n| Point::new(n.into(), vec![probability(n.into())])).collect();
    Curve { name: curve.name.clone(), points }
}
