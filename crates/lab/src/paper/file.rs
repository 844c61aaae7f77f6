//! `claims.toml`: the figures of a paper and what it claims of them. Strict: whatever cannot be judged is refused, with
//! file and line, before anything is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fanin_spec::{Contender, Scenario};
use serde::Deserialize;
use toml::Spanned;

use super::judge::{Range, Test};
use super::measure::{Measure, Over};

/// What is wrong with a paper's folder: always the place and what would be right.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PaperProblem(pub String);

/// A paper, read and checked.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The folder's own name: `m21`.
    pub name: String,
    /// The paper's title.
    pub title: String,
    /// Where its files are.
    pub folder: PathBuf,
    /// Seeds of a quick reproduction.
    pub quick_seeds: u32,
    /// Keys of the scenarios that a quick reproduction sets.
    pub quick_set: Vec<String>,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The id of the papers' index: `M-6`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What its curves come from.
    pub source: Source,
    /// What is drawn, a chart each.
    pub draws: Vec<Measure>,
    /// Whether the charts' y axis is logarithmic.
    pub log: bool,
    /// What the paper says of it.
    pub claims: Vec<Claim>,
}

/// Where a figure's curves come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Runs of a scenario.
    Runs {
        /// The file, in the paper's folder.
        scenario: String,
        /// Its schemes, in the legend's order.
        schemes: Vec<String>,
        /// The fan-ins of its sweep; one, where the figure is of rounds or times.
        fan_in: Vec<u32>,
    },
    /// Closed forms at these numbers of flows.
    Model {
        /// The forms.
        curves: Vec<ModelCurve>,
        /// The numbers of flows.
        flows: Vec<u32>,
    },
}

/// A curve that is worked out, not run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCurve {
    /// What the legend calls it.
    pub name: String,
    /// The rate of the bottleneck.
    pub rate: String,
    /// Which form: `doubles`, `by_one`, `printed`, or `window` with a window.
    pub form: ModelForm,
    /// The window, packets, where the form is `window`.
    pub window: Option<f64>,
}

/// The forms of the incast probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelForm {
    /// Equations 4 to 6, mended; every window doubles.
    Doubles,
    /// Equations 4 to 6, mended; every window grows by one packet.
    ByOne,
    /// Equation 6 as printed.
    Printed,
    /// Equations 1 to 3, mended, at a given window.
    Window,
}

/// What the paper says, and how it is judged.
#[derive(Clone, Debug)]
pub struct Claim {
    /// `M-6.2`.
    pub id: String,
    /// In plain words.
    pub says: String,
    /// Where the paper says it.
    pub place: String,
    /// What is read off the runs for it.
    pub measure: Measure,
    /// The class with what it needs.
    pub test: Test,
    /// Why it fails, where it does: what was found by looking.
    pub why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPaper {
    title: String,
    quick: RawQuick,
    #[serde(default)]
    figure: Vec<RawFigure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuick {
    seeds: u32,
    #[serde(default)]
    set: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFigure {
    id: Spanned<String>,
    title: String,
    draws: Vec<Measure>,
    scenario: Option<Spanned<String>>,
    schemes: Option<Vec<String>>,
    fan_in: Option<Vec<u32>>,
    #[serde(default)]
    model: Vec<ModelCurve>,
    flows: Option<Vec<u32>>,
    #[serde(default)]
    log: bool,
    #[serde(default)]
    claim: Vec<Spanned<RawClaim>>,
}

/// Every key that a claim of some class may have.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClaim {
    id: String,
    says: String,
    r#where: String,
    class: String,
    measure: Option<Measure>,
    why: Option<String>,
    pub curve: Option<Curves>,
    pub above: Option<Curves>,
    pub below: Option<Curves>,
    pub over: Option<Curves>,
    pub at: Option<Xs>,
    pub from: Option<f64>,
    pub to: Option<f64>,
    pub whole: Option<bool>,
    pub onset: Option<f64>,
    pub past: Option<f64>,
    pub grid: Option<Vec<f64>>,
    pub value: Option<f64>,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    pub shape: Option<String>,
}

/// One name or several.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Curves {
    One(String),
    Several(Vec<String>),
}

impl Curves {
    pub fn names(&self) -> Vec<String> {
        match self {
            Curves::One(name) => vec![name.clone()],
            Curves::Several(names) => names.clone(),
        }
    }
}

/// One x or several.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Xs {
    One(f64),
    Several(Vec<f64>),
}

impl Xs {
    pub fn list(&self) -> Vec<f64> {
        match self {
            Xs::One(x) => vec![*x],
            Xs::Several(xs) => xs.clone(),
        }
    }
}

/// Where a claims file is being read.
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
    /// The papers of a folder, by name.
    pub fn names(papers: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(papers) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().join("claims.toml").is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Reads a paper and checks it, its scenarios too.
    ///
    /// # Errors
    /// The first thing that is wrong, with file and line.
    pub fn read(papers: &Path, name: &str) -> Result<Paper, PaperProblem> {
        let folder = papers.join(name);
        let path = folder.join("claims.toml");
        let text = fs::read_to_string(&path).map_err(|error| PaperProblem(format!("{}: {error}", path.display())))?;
        let reader = Reader { path, text: &text };
        let raw: RawPaper = toml::from_str(&text)
            .map_err(|error| reader.problem(error.span().map_or(0, |span| span.start), error.message()))?;
        let mut ids = BTreeSet::new();
        let mut figures = Vec::new();
        for figure in raw.figure {
            let at = figure.id.span().start;
            if !ids.insert(figure.id.get_ref().clone()) {
                return Err(reader.problem(at, format!("figure `{}` stands there twice", figure.id.get_ref())));
            }
            figures.push(read_figure(&reader, &folder, figure, &mut ids)?);
        }
        let title = raw.title;
        Ok(Paper { name: name.into(), title, folder, quick_seeds: raw.quick.seeds, quick_set: raw.quick.set, figures })
    }

    /// The contenders of one of its scenarios, under the quick settings where `quick` is asked for, and under `set`.
    ///
    /// # Errors
    /// A scenario that does not resolve.
    pub fn contenders(&self, scenario: &str, quick: bool, set: &[String]) -> Result<Vec<Contender>, PaperProblem> {
        contenders(&self.folder, scenario, if quick { &self.quick_set } else { &[] }, set)
    }
}

fn contenders(folder: &Path, scenario: &str, quick: &[String], set: &[String]) -> Result<Vec<Contender>, PaperProblem> {
    let path = folder.join(scenario);
    let shown = path.display().to_string();
    let text = fs::read_to_string(&path).map_err(|error| PaperProblem(format!("{shown}: {error}")))?;
    let problem = |problem: fanin_spec::Problem| PaperProblem(problem.to_string());
    let mut scenario = Scenario::parse(&shown, &text).map_err(problem)?;
    for assignment in quick {
        scenario.assign(&format!("claims.toml, quick: {assignment}"), assignment).map_err(problem)?;
    }
    for assignment in set {
        scenario.assign(&format!("--set {assignment}"), assignment).map_err(problem)?;
    }
    scenario.contenders().map_err(problem)
}

fn read_figure(
    reader: &Reader,
    folder: &Path,
    raw: RawFigure,
    ids: &mut BTreeSet<String>,
) -> Result<Figure, PaperProblem> {
    let at = raw.id.span().start;
    let id = raw.id.into_inner();
    let Some(first) = raw.draws.first().copied() else {
        return Err(reader.problem(at, format!("figure `{id}` draws nothing: give draws = [\"goodput_mbps\"]")));
    };
    let source = match (raw.scenario, raw.model.is_empty()) {
        (Some(scenario), true) => runs(reader, folder, scenario, raw.schemes, raw.fan_in, first)?,
        (None, false) => {
            let Some(flows) = raw.flows else {
                return Err(reader.problem(at, format!("figure `{id}` has a model and no flows = [...]")));
            };
            for curve in &raw.model {
                if curve.rate.parse::<fanin_units::Rate>().is_err() {
                    let what = format!("`{}` is not a rate, such as \"10 Gbit/s\"", curve.rate);
                    return Err(reader.problem(at, what));
                }
                if (curve.form == ModelForm::Window) != curve.window.is_some() {
                    let what =
                        format!("curve `{}`: a window goes with form = \"window\" and with no other", curve.name);
                    return Err(reader.problem(at, what));
                }
            }
            Source::Model { curves: raw.model, flows }
        }
        _ => return Err(reader.problem(at, format!("figure `{id}` needs either a scenario or a [[figure.model]]"))),
    };
    let names = match &source {
        Source::Runs { schemes, .. } => schemes.clone(),
        Source::Model { curves, .. } => curves.iter().map(|c| c.name.clone()).collect(),
    };
    let mut claims = Vec::new();
    for raw in raw.claim {
        let at = raw.span().start;
        let raw = raw.into_inner();
        if !raw.id.starts_with(&format!("{id}.")) {
            return Err(reader.problem(at, format!("claim `{}` of figure `{id}`: its id would be {id}.1", raw.id)));
        }
        if !ids.insert(raw.id.clone()) {
            return Err(reader.problem(at, format!("claim `{}` stands there twice", raw.id)));
        }
        let test =
            Test::read(&raw, &names).map_err(|what| reader.problem(at, format!("claim `{}`: {what}", raw.id)))?;
        let measure = raw.measure.unwrap_or(first);
        claims.push(Claim { measure, id: raw.id, says: raw.says, place: raw.r#where, test, why: raw.why });
    }
    if claims.is_empty() {
        return Err(reader.problem(at, format!("figure `{id}` has no claim: every figure is judged")));
    }
    Ok(Figure { id, title: raw.title, source, draws: raw.draws, log: raw.log, claims })
}

fn runs(
    reader: &Reader,
    folder: &Path,
    scenario: Spanned<String>,
    schemes: Option<Vec<String>>,
    fan_in: Option<Vec<u32>>,
    draws: Measure,
) -> Result<Source, PaperProblem> {
    let at = scenario.span().start;
    let scenario = scenario.into_inner();
    let contenders = contenders(folder, &scenario, &[], &[])?;
    let labels: Vec<String> = contenders.iter().map(|c| c.label.clone()).collect();
    let schemes = schemes.unwrap_or_else(|| labels.clone());
    if let Some(unknown) = schemes.iter().find(|scheme| !labels.contains(scheme)) {
        return Err(reader.problem(at, format!("{scenario} has no scheme `{unknown}`; it has {}", labels.join(", "))));
    }
    let swept = contenders.first().map(|c| c.settings.sweep.fan_in.clone()).unwrap_or_default();
    let fan_in = fan_in.unwrap_or_else(|| swept.clone());
    if let Some(unknown) = fan_in.iter().find(|n| !swept.contains(n)) {
        return Err(reader.problem(at, format!("{scenario} does not sweep over {unknown} senders: {swept:?}")));
    }
    if matches!(draws.over(), Over::Rounds | Over::Time) && fan_in.len() != 1 {
        return Err(reader.problem(at, "a figure over rounds or over time is of one fan-in: give fan_in = [8]"));
    }
    Ok(Source::Runs { scenario, schemes, fan_in })
}

impl RawClaim {
    pub(super) fn class(&self) -> &str {
        &self.class
    }

    /// The x values that the claim is of.
    pub(super) fn range(&self) -> Result<Range, String> {
        match (&self.at, self.from, self.to) {
            (Some(at), None, None) => Ok(Range::At(at.list())),
            (None, from, to) => Ok(Range::Within(from.unwrap_or(f64::NEG_INFINITY), to.unwrap_or(f64::INFINITY))),
            _ => Err("`at` stands alone, or `from` and `to` do".into()),
        }
    }
}
