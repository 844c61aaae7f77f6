//! Parsing and validation of claims: the keys of each class.

use serde::Deserialize;

use super::judge::{Bound, MUCH, Range, Shape, Takes, Test, Verdict};
use super::measure::Measure;

/// Settings that remove a claim's cause, and the verdict expected then.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Without {
    /// In `--set` notation: `tcp.rto_min=1 ms`.
    pub set: Vec<String>,
    /// The claim's verdict under these settings.
    pub verdict: Verdict,
}

/// A claim as it is written.
#[derive(Clone, Deserialize)]
pub(super) struct RawClaim {
    pub id: String,
    pub says: String,
    pub r#where: String,
    pub measure: Option<Measure>,
    pub why: Option<String>,
    pub without: Option<Without>,
    pub note: Option<String>,
    pub repeats: Option<String>,
    pub own: Option<bool>,
    at: Option<OneOrMore<f64>>,
    from: Option<f64>,
    to: Option<f64>,
    /// Its class and that class's keys.
    #[serde(flatten)]
    class: toml::Table,
}

/// A single value, or a list.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

impl<T> From<OneOrMore<T>> for Vec<T> {
    fn from(given: OneOrMore<T>) -> Vec<T> {
        match given {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(more) => more,
        }
    }
}

/// One curve or several.
#[derive(Deserialize)]
#[serde(from = "OneOrMore<String>")]
struct Names(Vec<String>);

impl From<OneOrMore<String>> for Names {
    fn from(given: OneOrMore<String>) -> Names {
        Names(given.into())
    }
}

/// The classes, and the keys of each in addition to `at`, `from` and `to`.
#[derive(Deserialize)]
#[serde(tag = "class", rename_all = "lowercase", deny_unknown_fields)]
enum Class {
    Order {
        above: Names,
        below: Names,
        #[serde(default)]
        or_equal: bool,
        #[serde(default)]
        whole: bool,
    },
    Much {
        above: Names,
        below: Names,
        at_least: Option<f64>,
    },
    Steeper {
        above: Names,
        below: Names,
    },
    Onset {
        curve: Names,
        /// The paper's collapse point, a step of its grid.
        onset: f64,
        past: Option<f64>,
        grid: Vec<f64>,
    },
    Holds {
        curve: Names,
        line: Option<f64>,
        /// The share that a curve has to sustain; half by default.
        percent: Option<f64>,
    },
    Level {
        curve: Names,
        value: Option<f64>,
        at_least: Option<f64>,
        at_most: Option<f64>,
    },
    Factor {
        curve: Names,
        over: Names,
        takes: Option<Takes>,
        value: Option<f64>,
        at_least: Option<f64>,
    },
    Share {
        curve: Names,
        over: Option<String>,
        value: f64,
    },
    Shape {
        curve: Names,
        shape: Shape,
    },
    None {
        curve: Names,
    },
}

impl Test {
    /// Reads a claim's class and its keys; `names` are the figure's curves, `xs` its x values if they are known before any run.
    pub(super) fn read(raw: &RawClaim, names: &[String], xs: Option<&[f64]>) -> Result<Test, String> {
        let curves = |Names(curves): Names| -> Result<Vec<String>, String> {
            if curves.is_empty() {
                return Err("a list of curves is empty".into());
            }
            match curves.iter().find(|name| !names.contains(name)) {
                Some(name) => Err(format!("no curve `{name}`; the figure has {}", names.join(", "))),
                None => Ok(curves),
            }
        };
        let range = raw.range(xs)?;
        let class = raw.class.clone().try_into::<Class>().map_err(|error| error.message().to_owned())?;
        Ok(match class {
            Class::Order { above, below, or_equal, whole } => {
                Test::Order { above: curves(above)?, below: curves(below)?, range, or_equal, whole }
            }
            Class::Much { above, below, at_least } => {
                Test::Much { above: curves(above)?, below: curves(below)?, times: at_least.unwrap_or(MUCH), range }
            }
            Class::Steeper { above, below } => Test::Steeper { above: curves(above)?, below: curves(below)?, range },
            Class::Onset { curve, onset, past, grid } => {
                is_step(onset, &grid)?;
                Test::Onset { curves: curves(curve)?, at: onset, past, grid, range }
            }
            Class::Holds { curve, line, percent } => {
                Test::Holds { curves: curves(curve)?, line, percent: share(percent)?, range }
            }
            Class::Level { curve, value, at_least, at_most } => {
                Test::Level { curves: curves(curve)?, bound: bound(value, at_least, at_most)?, range }
            }
            Class::Factor { curve, over, takes, value, at_least } => {
                let (curves, over) = (curves(curve)?, curves(over)?);
                if over.len() != 1 && over.len() != curves.len() {
                    return Err("`over` takes one curve, or one for each of `curve`".into());
                }
                let (times, at_least) = match (value, at_least) {
                    (Some(times), None) => (times, false),
                    (None, Some(times)) => (times, true),
                    _ => return Err("class \"factor\" needs one of `value`, `at_least`".into()),
                };
                Test::Factor { curves, over, takes: takes.unwrap_or(Takes::Each), times, at_least, range }
            }
            Class::Share { curve, over, value } => {
                let over = over.map(|over| curves(Names(vec![over]))).transpose()?.and_then(|mut one| one.pop());
                Test::Share { curves: curves(curve)?, over, percent: value, range }
            }
            Class::Shape { curve, shape } => Test::Shape { curves: curves(curve)?, shape, range },
            Class::None { curve } => Test::None { curves: curves(curve)?, range },
        })
    }
}

/// Checks that the paper's collapse point is a step of its grid, whose steps rise.
fn is_step(onset: f64, grid: &[f64]) -> Result<(), String> {
    if !grid.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(format!("the steps of `grid` must rise: {grid:?}"));
    }
    if grid.contains(&onset) { Ok(()) } else { Err(format!("`onset` is not a step of the grid {grid:?}")) }
}

/// The share that a curve has to sustain; half by default.
fn share(percent: Option<f64>) -> Result<f64, String> {
    let percent = percent.unwrap_or(50.0);
    match percent > 0.0 && percent <= 100.0 {
        true => Ok(percent),
        false => Err(format!("percent = {percent}: use a percentage above 0 and up to 100")),
    }
}

fn bound(value: Option<f64>, at_least: Option<f64>, at_most: Option<f64>) -> Result<Bound, String> {
    match (value, at_least, at_most) {
        (Some(value), None, None) => Ok(Bound::Near(value)),
        (None, Some(value), None) => Ok(Bound::AtLeast(value)),
        (None, None, Some(value)) => Ok(Bound::AtMost(value)),
        _ => Err("class \"level\" needs one of `value`, `at_least`, `at_most`".into()),
    }
}

impl RawClaim {
    /// The x values that the claim covers.
    fn range(&self, xs: Option<&[f64]>) -> Result<Range, String> {
        match (&self.at, self.from, self.to) {
            (Some(at), None, None) => {
                let at: Vec<f64> = at.clone().into();
                if at.is_empty() {
                    return Err("`at` lists no points".into());
                }
                match at.iter().find(|x| xs.is_some_and(|xs| !xs.contains(x))) {
                    Some(x) => Err(format!("nothing is measured at {x}; the figure has {:?}", xs.unwrap_or_default())),
                    None => Ok(Range::At(at)),
                }
            }
            (None, from, to) => {
                let (from, to) = (from.unwrap_or(f64::NEG_INFINITY), to.unwrap_or(f64::INFINITY));
                match xs {
                    Some(xs) if !xs.iter().any(|x| (from..=to).contains(x)) => {
                        Err(format!("nothing is measured from `from` to `to`; the figure has {xs:?}"))
                    }
                    _ => Ok(Range::Within(from, to)),
                }
            }
            _ => Err("use either `at`, or `from` and `to`".into()),
        }
    }
}
