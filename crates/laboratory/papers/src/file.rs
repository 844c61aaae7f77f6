//! Reader of `claims.toml`: the figures of a paper and its claims. It rejects anything that cannot be judged, with file and
//! line, before any run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use fanin_spec::Variant;
use fanin_units::{Bytes, QueueSize, Rate, Time};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::along::Along;
use super::apart::Apart;
use super::claim::{RawClaim, ReadFrom, Without};
use super::judge::Test;
use super::measure::{Measure, Over};
use super::setting::Setting;

/// An error in a paper's folder: the place, the problem and the fix.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PaperProblem(pub String);

/// The file of a paper's figures and claims.
pub const CLAIMS: &str = "claims.toml";

/// Returns the variants of a scenario in the paper's folder, under some assignments; `None` if there is no such scenario.
pub type Scenarios<'a> = dyn Fn(&str, &[String]) -> Result<Option<Vec<Variant>>, PaperProblem> + 'a;

/// A parsed and validated paper.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The name of its folder: `m21`.
    pub name: String,
    /// The paper's title.
    pub title: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Target half-width of the CI of a point's mean query time, as a share of the mean; a full reproduction adds runs until it is reached.
    pub precision: Option<f64>,
    /// Seeds of a quick reproduction.
    pub quick_seeds: u32,
    /// Keys that a quick reproduction sets, in all or in single scenarios.
    pub quick_set: Vec<Setting>,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its id in the index of papers: `M-6`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The source of its curves.
    pub source: Source,
    /// The measures to draw, one chart each.
    pub draws: Vec<Measure>,
    /// Whether the charts' y axis is logarithmic.
    pub log: bool,
    /// Curves whose ratios are drawn: each curve over the last of these that precedes it in the legend.
    pub over: BTreeMap<Measure, Vec<String>>,
    /// Whether shorter runs would show something else: quick reproductions and sensitivities leave it out.
    pub whole_runs: bool,
    /// The paper's claims about it.
    pub claims: Vec<Claim>,
}

/// The source of a figure's curves.
#[derive(Clone, Debug)]
pub enum Source {
    /// Runs of a scenario.
    Runs {
        /// The file, in the paper's folder.
        scenario: String,
        /// Its schemes, in legend order.
        schemes: Vec<String>,
        /// The swept key.
        along: Along,
        /// Its values; a single one if the figure is over rounds or time.
        xs: Vec<f64>,
    },
    /// A measurement without a run.
    Apart(Apart),
    /// Closed forms at these numbers of flows.
    Model {
        /// The forms.
        curves: Vec<ModelCurve>,
        /// The numbers of flows.
        flows: Vec<u32>,
    },
}

/// A curve of a closed form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCurve {
    /// Its name in the legend.
    pub name: String,
    /// The bottleneck rate.
    #[serde(deserialize_with = "quantity")]
    pub rate: Rate,
    /// The queue's capacity.
    #[serde(deserialize_with = "quantity")]
    pub buffer: QueueSize,
    /// The round-trip time without queueing.
    #[serde(deserialize_with = "quantity")]
    pub rtt: Time,
    /// The size of a full packet on the wire.
    #[serde(deserialize_with = "quantity")]
    pub packet: Bytes,
    /// The form: `doubles`, `by_one`, `printed`, or `window` with a window.
    pub form: ModelForm,
    /// The window, packets, for the form `window`.
    pub window: Option<f64>,
}

/// Parses text with a unit, such as "10 Gbit/s".
fn quantity<'de, D: Deserializer<'de>, Q: FromStr<Err: Display>>(from: D) -> Result<Q, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|why| serde::de::Error::custom(format!("\"{text}\" is not a valid value here: {why}")))
}

/// The forms of the incast probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelForm {
    /// Equations 4 to 6, corrected; every window doubles.
    Doubles,
    /// Equations 4 to 6, corrected; every window grows by one packet.
    ByOne,
    /// Equation 6 as printed.
    Printed,
    /// Equations 1 to 3, corrected, at a given window.
    Window,
}

/// A claim of the paper, and how to judge it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// `M-6.2`.
    pub id: String,
    /// In plain words.
    pub says: String,
    /// Its place in the paper.
    pub place: String,
    /// The measure that it is judged by.
    pub measure: Measure,
    /// The class with its parameters.
    pub test: Test,
    /// The investigated cause, if it fails or is undecided.
    pub why: Option<String>,
    /// The expected verdict without that cause.
    pub without: Option<Without>,
    /// A remark that applies to any verdict.
    pub note: Option<String>,
    /// The claim whose measurement it repeats: it is shown, but not counted again.
    pub repeats: Option<String>,
    /// Whether it is the project's own claim, absent from the paper: it is shown, but not counted.
    pub own: bool,
    /// Where it was read: only claims that were read in the paper count.
    pub read_from: ReadFrom,
}

impl Claim {
    /// Whether it counts among the paper's claims.
    pub fn counts(&self) -> bool {
        self.repeats.is_none() && !self.own && self.read_from == ReadFrom::Paper
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPaper {
    title: String,
    precision: Option<Spanned<f64>>,
    quick: RawQuick,
    #[serde(default)]
    figure: Vec<RawFigure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuick {
    seeds: Spanned<u32>,
    set: Option<Spanned<Vec<String>>>,
    /// For single scenarios, by file.
    #[serde(default)]
    scenario: BTreeMap<String, Spanned<Vec<String>>>,
}

impl RawQuick {
    fn settings(&self) -> Vec<Setting> {
        let all = self.set.iter().map(|set| (Vec::new(), set));
        let single = self.scenario.iter().map(|(scenario, set)| (vec![scenario.clone()], set));
        let settings = |(scenarios, set): (Vec<String>, &Spanned<Vec<String>>)| -> Vec<Setting> {
            let setting =
                |assignment: &String| Setting { assignment: assignment.clone(), scenarios: scenarios.clone() };
            set.get_ref().iter().map(setting).collect()
        };
        all.chain(single).flat_map(settings).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFigure {
    id: Spanned<String>,
    title: String,
    draws: Vec<Measure>,
    scenario: Option<Spanned<String>>,
    schemes: Option<Vec<String>>,
    fan_in: Option<Vec<f64>>,
    points: Option<Vec<f64>>,
    model: Option<Vec<ModelCurve>>,
    flows: Option<Vec<u32>>,
    targets: Option<Vec<u32>>,
    rates: Option<Vec<u32>>,
    sizes: Option<Vec<u32>>,
    #[serde(default)]
    log: bool,
    #[serde(default)]
    whole_runs: bool,
    #[serde(default)]
    over: BTreeMap<Measure, Vec<String>>,
    #[serde(default)]
    claim: Vec<Spanned<RawClaim>>,
}

/// The context of a claims file being read.
struct Reader<'a> {
    path: PathBuf,
    text: &'a str,
}

impl Reader<'_> {
    fn problem(&self, at: usize, what: impl std::fmt::Display) -> PaperProblem {
        let line = self.text[..at.min(self.text.len())].matches('\n').count() + 1;
        PaperProblem(format!("{}:{line}: {what}", self.path.display()))
    }
}

impl Paper {
    /// The paper reduced to the curves that its claims need, without charts.
    pub fn for_its_claims(&self) -> Paper {
        let mut paper = self.clone();
        for figure in &mut paper.figures {
            figure.draws.clear();
            if let Source::Runs { schemes, .. } = &mut figure.source {
                schemes.retain(|name| figure.claims.iter().any(|claim| claim.test.curves().any(|curve| curve == name)));
            }
        }
        paper
    }

    /// Parses and validates the `claims.toml` of a folder and the scenarios beside it.
    ///
    /// # Errors
    /// The first error, with file and line.
    pub fn parse(folder: &Path, text: &str, scenarios: &Scenarios) -> Result<Paper, PaperProblem> {
        let reader = Reader { path: folder.join(CLAIMS), text };
        let raw: RawPaper = toml::from_str(text)
            .map_err(|error| reader.problem(error.span().map_or(0, |span| span.start), error.message()))?;
        let quick = raw.quick;
        if *quick.seeds.get_ref() == 0 {
            return Err(reader.problem(quick.seeds.span().start, "no seeds: use a number from 1"));
        }
        if let Some(precision) = raw.precision.as_ref().filter(|p| !(*p.get_ref() > 0.0 && *p.get_ref() < 1.0)) {
            let what = format!("precision = {}: use a share such as 0.01", precision.get_ref());
            return Err(reader.problem(precision.span().start, what));
        }
        let mut ids = BTreeSet::new();
        let mut figures: Vec<Figure> = Vec::new();
        for figure in raw.figure {
            let at = figure.id.span().start;
            if !ids.insert(figure.id.get_ref().clone()) {
                return Err(reader.problem(at, format!("duplicate figure `{}`", figure.id.get_ref())));
            }
            figures.push(read_figure(&reader, scenarios, figure, &mut ids)?);
        }
        if figures.is_empty() {
            return Err(reader.problem(0, "no [[figure]]: add at least one"));
        }
        let paper = Paper {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            title: raw.title,
            folder: folder.into(),
            precision: raw.precision.map(Spanned::into_inner),
            quick_set: quick.settings(),
            quick_seeds: *quick.seeds.get_ref(),
            figures,
        };
        for claim in paper.claims() {
            let counted = |id: &String| paper.claims().any(|other| other.id == *id && other.counts());
            if let Some(gone) = claim.repeats.as_ref().filter(|id| !counted(id)) {
                let at = text.find(&format!("repeats = \"{gone}\"")).unwrap_or(0);
                let what = format!("claim `{}` repeats `{gone}`, which is not a counted claim", claim.id);
                return Err(reader.problem(at, what));
            }
        }
        let own = paper.scenarios();
        if let Some((gone, set)) = quick.scenario.iter().find(|(name, _)| !own.contains(name.as_str())) {
            let own = own.into_iter().collect::<Vec<_>>().join(", ");
            let what = format!("quick: no figure uses the scenario `{gone}`; use one of {own}");
            return Err(reader.problem(set.span().start, what));
        }
        for scenario in own {
            scenarios(scenario, &paper.quick_set_of(scenario)).map_err(|problem| {
                let set = quick.scenario.get(scenario).or(quick.set.as_ref());
                reader.problem(set.map_or(0, |set| set.span().start), format!("quick: {problem}"))
            })?;
        }
        Ok(paper)
    }

    /// The keys that a quick reproduction sets in a scenario.
    pub fn quick_set_of(&self, scenario: &str) -> Vec<String> {
        self.quick_set.iter().filter(|setting| setting.is_of(scenario)).map(|s| s.assignment.clone()).collect()
    }

    /// The settings that remove causes, each with the paper reduced to the claims that have the cause.
    pub fn without_causes(&self) -> Vec<(Vec<String>, Paper)> {
        let sets: BTreeSet<&Vec<String>> =
            self.claims().filter_map(|claim| Some(&claim.without.as_ref()?.set)).collect();
        let of = |set: &Vec<String>| {
            let mut paper = self.clone();
            for figure in &mut paper.figures {
                figure.claims.retain(|claim| claim.without.as_ref().is_some_and(|without| without.set == *set));
            }
            paper.figures.retain(|figure| !figure.claims.is_empty());
            (set.clone(), paper.for_its_claims())
        };
        sets.into_iter().map(of).collect()
    }

    /// The claims of all figures.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.figures.iter().flat_map(|figure| &figure.claims)
    }

    /// The scenarios of its figures, without duplicates.
    pub fn scenarios(&self) -> BTreeSet<&str> {
        let sources = self.figures.iter().map(|figure| &figure.source);
        let scenarios = sources.filter_map(|source| match source {
            Source::Runs { scenario, .. } => Some(scenario.as_str()),
            Source::Apart(_) | Source::Model { .. } => None,
        });
        scenarios.collect()
    }
}

fn read_figure(
    reader: &Reader,
    scenarios: &Scenarios,
    raw: RawFigure,
    ids: &mut BTreeSet<String>,
) -> Result<Figure, PaperProblem> {
    let at = raw.id.span().start;
    let id = raw.id.into_inner();
    let Some(first) = raw.draws.first().copied() else {
        return Err(reader.problem(at, format!("figure `{id}` draws nothing: add draws = [\"goodput_mbps\"]")));
    };
    let apart = match (raw.targets, raw.rates, raw.sizes) {
        (Some(targets), None, None) if rise(&targets) => Some(Apart::Swarms(targets)),
        (None, Some(rates), None) if rise(&rates) => Some(Apart::Planning(rates)),
        (None, None, Some(sizes)) if !sizes.is_empty() => Some(Apart::Queue(sizes)),
        _ => None,
    };
    let source = match (raw.scenario, raw.model) {
        (None, None) if raw.schemes.is_none() && raw.flows.is_none() && apart.is_some() => {
            Source::Apart(apart.unwrap_or_else(|| unreachable!("it is there")))
        }
        (Some(scenario), None) if raw.flows.is_none() => {
            runs(reader, scenarios, scenario, raw.schemes, raw.fan_in, raw.points)?
        }

        (None, Some(curves)) if raw.schemes.is_none() && raw.fan_in.is_none() && raw.points.is_none() => {
            model(curves, raw.flows).map_err(|what| reader.problem(at, format!("figure `{id}` {what}")))?
        }
        _ => {
            let what = "needs either a scenario, with its schemes and fan_in, or [[figure.model]], with flows";
            return Err(reader.problem(at, format!("figure `{id}` {what}")));
        }
    };
    for measure in &raw.draws {
        source.gives(*measure).map_err(|what| reader.problem(at, format!("figure `{id}` draws {what}")))?;
    }
    for (measure, names) in &raw.over {
        source
            .has_under(*measure, &raw.draws, names)
            .map_err(|what| reader.problem(at, format!("figure `{id}` {what}")))?;
    }
    let mut claims = Vec::new();
    for raw in raw.claim {
        let at = raw.span().start;
        let raw = raw.into_inner();
        if raw.id.strip_prefix(&format!("{id}.")).is_none_or(str::is_empty) {
            return Err(reader.problem(at, format!("claim `{}` of figure `{id}`: its id would be {id}.1", raw.id)));
        }
        if !ids.insert(raw.id.clone()) {
            return Err(reader.problem(at, format!("duplicate claim `{}`", raw.id)));
        }
        let problem = |what: String| reader.problem(at, format!("claim `{}`: {what}", raw.id));
        let measure = raw.measure.unwrap_or(first);
        source.gives(measure).map_err(|what| problem(format!("uses {what}")))?;
        let xs = matches!(measure.over(), Over::FanIn | Over::Flows).then(|| source.xs());
        let test = Test::read(&raw, &source.curves(), xs.as_deref()).map_err(problem)?;
        let RawClaim { id, says, r#where: place, why, without, note, repeats, own, read_from, .. } = raw;
        let own = own.unwrap_or(false);
        claims.push(Claim { measure, id, says, place, test, why, without, note, repeats, own, read_from });
    }
    if claims.is_empty() {
        return Err(reader.problem(at, format!("figure `{id}` has no claim: add at least one")));
    }
    let RawFigure { title, draws, log, over, whole_runs, .. } = raw;
    Ok(Figure { id, title, source, draws, log, over, whole_runs, claims })
}

impl Source {
    /// The names of its curves.
    fn curves(&self) -> Vec<String> {
        match self {
            Source::Runs { schemes, .. } => schemes.clone(),
            Source::Apart(apart) => apart.curves().iter().map(|&name| name.into()).collect(),
            Source::Model { curves, .. } => curves.iter().map(|c| c.name.clone()).collect(),
        }
    }

    /// The numbers of senders or flows, or the values of another swept key.
    fn xs(&self) -> Vec<f64> {
        match self {
            Source::Runs { xs, .. } => xs.clone(),
            Source::Apart(apart) => apart.xs(),
            Source::Model { flows: xs, .. } => xs.iter().map(|&x| x.into()).collect(),
        }
    }

    /// Whether a chart of it can be drawn over these curves: one must come first in the legend.
    fn has_under(&self, measure: Measure, draws: &[Measure], names: &[String]) -> Result<(), String> {
        if !draws.contains(&measure) || measure.over() != Over::FanIn {
            return Err("has `over` for a measure that it does not draw, or that is not over senders".into());
        }
        let curves = self.curves();
        if let Some(unknown) = names.iter().find(|name| !curves.contains(name)) {
            return Err(format!("is drawn over `{unknown}`, which is not one of its curves: {}", curves.join(", ")));
        }
        match curves.first() {
            Some(first) if names.contains(first) => Ok(()),
            _ => Err("has `over` without the first curve of its legend".into()),
        }
    }

    /// Whether it has a measure.
    fn gives(&self, measure: Measure) -> Result<(), String> {
        match (self, measure.over()) {
            (Source::Apart(apart), _) if measure == apart.measure() => Ok(()),
            (Source::Apart(apart), _) => {
                Err(format!("a measure that it does not have: use {}", apart.measure().word()))
            }
            (_, _) if measure == Measure::TreeMs => Err("the time to form swarms: add targets = [1000]".into()),
            (_, _) if measure == Measure::ComputingMs => Err("the computing time of a plan: add rates = [1000]".into()),
            (_, _) if measure == Measure::QueueMean => Err("a queue of objects: add sizes = [400, 2]".into()),
            (Source::Model { .. }, Over::Flows) | (Source::Runs { .. }, Over::FanIn) => Ok(()),
            (Source::Runs { xs, .. }, Over::Rounds | Over::Time | Over::Shares | Over::Hosts) if xs.len() == 1 => {
                Ok(())
            }
            (Source::Runs { .. }, Over::Rounds | Over::Time | Over::Shares | Over::Hosts) => {
                Err("a measure over rounds or time, which needs a single fan-in: set fan_in = [8]".into())
            }
            (Source::Runs { .. }, Over::Flows) => Err("a closed form: add [[figure.model]]".into()),
            (Source::Model { .. }, _) => Err("a measure of runs: add a scenario".into()),
        }
    }
}

/// Whether the list is non-empty and rises.
fn rise<T: PartialOrd>(xs: &[T]) -> bool {
    !xs.is_empty() && xs.windows(2).all(|pair| pair[0] < pair[1])
}

fn model(curves: Vec<ModelCurve>, flows: Option<Vec<u32>>) -> Result<Source, String> {
    let Some(flows) = flows.filter(|flows| rise(flows)) else {
        return Err("has a model: give flows = [10, 20], rising".into());
    };
    for (i, curve) in curves.iter().enumerate() {
        if curve.packet.0 == 0 {
            return Err("has a curve of packets of 0 B: a full packet has some 1500 B".into());
        }
        if (curve.form == ModelForm::Window) != curve.window.is_some() {
            return Err(format!(
                "has curve `{}`: `window` is required with form = \"window\", and applies only to it",
                curve.name
            ));
        }
        if curves[..i].iter().any(|other| other.name == curve.name) {
            return Err(format!("has curve `{}` twice", curve.name));
        }
    }
    Ok(Source::Model { curves, flows })
}

fn runs(
    reader: &Reader,
    scenarios: &Scenarios,
    scenario: Spanned<String>,
    schemes: Option<Vec<String>>,
    fan_in: Option<Vec<f64>>,
    points: Option<Vec<f64>>,
) -> Result<Source, PaperProblem> {
    let at = scenario.span().start;
    let scenario = scenario.into_inner();
    let Some(variants) = scenarios(&scenario, &[])? else {
        return Err(reader.problem(at, format!("no scenario `{scenario}` in its folder")));
    };
    let labels: Vec<String> = variants.iter().map(|c| c.label.clone()).collect();
    let schemes = schemes.unwrap_or_else(|| labels.clone());
    if schemes.is_empty() {
        return Err(reader.problem(at, "schemes = []: list some, or remove the line to use all"));
    }
    if let Some(unknown) = schemes.iter().find(|scheme| !labels.contains(scheme)) {
        return Err(reader.problem(at, format!("{scenario} has no scheme `{unknown}`; it has {}", labels.join(", "))));
    }
    if let Some((_, twice)) = schemes.iter().enumerate().find(|(i, scheme)| schemes[..*i].contains(scheme)) {
        return Err(reader.problem(at, format!("duplicate scheme `{twice}`")));
    }
    let Some(variant) = variants.first() else { return Err(reader.problem(at, "the scenario has no schemes")) };
    let along = Along::of(variant).map_err(|what| reader.problem(at, format!("{scenario} {what}")))?;
    let (key, wanted) = match (fan_in, points, along.is_fan_in()) {
        (fan_in, None, true) => ("fan_in", fan_in),
        (None, points, false) => ("points", points),
        (_, Some(_), true) => {
            return Err(reader.problem(at, "`points` is for another swept key: use fan_in"));
        }
        (Some(_), _, false) => {
            let what = format!("fan_in = [..]: {scenario} sweeps `{}`; use points", along.key);
            return Err(reader.problem(at, what));
        }
    };
    let swept = along.xs(variant);
    let xs = wanted.unwrap_or_else(|| {
        let mut all = swept.clone();
        all.sort_by(f64::total_cmp);
        all
    });
    if let Some(unknown) = xs.iter().find(|x| !swept.contains(x)) {
        let what = if along.is_fan_in() { format!("{unknown} senders") } else { format!("{} {unknown}", along.key) };
        return Err(reader.problem(at, format!("{scenario} does not sweep over {what}: {}", Along::listed(&swept))));
    }
    if !rise(&xs) {
        let what = format!("{key} = {}: use rising numbers of {}", Along::listed(&xs), along.axis());
        return Err(reader.problem(at, what));
    }
    Ok(Source::Runs { scenario, schemes, along, xs })
}
