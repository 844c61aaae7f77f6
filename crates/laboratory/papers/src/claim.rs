//! Parsing and validation of claims: the keys of each class.

use serde::{Deserialize, Serialize};

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

/// Where a claim was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadFrom {
    /// In the paper's own text.
    #[default]
    Paper,
    /// In another text about the paper, such as its authors' page of results.
    Elsewhere,
    /// In no text: it is quoted from memory.
    Memory,
}

impl ReadFrom {
    /// A note for readers; `None` for the paper's own text.
    pub fn says(self) -> Option<&'static str> {
        match self {
            ReadFrom::Paper => None,
            ReadFrom::Elsewhere => Some("from another source than the paper"),
            ReadFrom::Memory => Some("quoted from memory"),
        }
    }
}

/// The keys of all classes.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClaim {
    pub id: String,
    pub says: String,
    pub r#where: String,
    class: String,
    pub measure: Option<Measure>,
    pub why: Option<String>,
    pub without: Option<Without>,
    pub note: Option<String>,
    pub repeats: Option<String>,
    pub own: Option<bool>,
    #[serde(default)]
    pub read_from: ReadFrom,
    curve: Option<OneOrMore<String>>,
    above: Option<OneOrMore<String>>,
    below: Option<OneOrMore<String>>,
    over: Option<OneOrMore<String>>,
    takes: Option<String>,
    at: Option<OneOrMore<f64>>,
    from: Option<f64>,
    to: Option<f64>,
    or_equal: Option<bool>,
    whole: Option<bool>,
    line: Option<f64>,
    percent: Option<f64>,
    onset: Option<f64>,
    past: Option<f64>,
    grid: Option<Vec<f64>>,
    value: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    shape: Option<String>,
}

/// A single value, or a list.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

impl<T: Clone> OneOrMore<T> {
    fn list(&self) -> Vec<T> {
        match self {
            OneOrMore::One(one) => vec![one.clone()],
            OneOrMore::More(more) => more.clone(),
        }
    }
}

/// The classes, and the keys of each in addition to `at`, `from` and `to`.
const CLASSES: [(&str, &[&str]); 10] = [
    ("order", &["above", "below", "or_equal", "whole"]),
    ("much", &["above", "below", "at_least"]),
    ("steeper", &["above", "below"]),
    ("onset", &["curve", "onset", "past", "grid"]),
    ("holds", &["curve", "line", "percent"]),
    ("level", &["curve", "value", "at_least", "at_most"]),
    ("factor", &["curve", "over", "takes", "value", "at_least"]),
    ("share", &["curve", "over", "value"]),
    ("shape", &["curve", "shape"]),
    ("none", &["curve"]),
];

impl Test {
    /// Reads a claim's class and its keys; `names` are the figure's curves, `xs` its x values if they are known before any run.
    pub(super) fn read(raw: &RawClaim, names: &[String], xs: Option<&[f64]>) -> Result<Test, String> {
        raw.has_no_other_keys()?;
        let class = &raw.class;
        let known = |name: &String| match names.contains(name) {
            true => Ok(()),
            false => Err(format!("no curve `{name}`; the figure has {}", names.join(", "))),
        };
        let curves = |key: &str, curves: &Option<OneOrMore<String>>| -> Result<Vec<String>, String> {
            let curves = curves.as_ref().map(OneOrMore::list).filter(|names| !names.is_empty());
            let curves = curves.ok_or(format!("class \"{class}\" needs `{key}`"))?;
            curves.iter().try_for_each(known)?;
            Ok(curves)
        };
        let curve = || curves("curve", &raw.curve);
        let range = raw.range(xs)?;
        Ok(match class.as_str() {
            "order" => Test::Order {
                above: curves("above", &raw.above)?,
                below: curves("below", &raw.below)?,
                range,
                or_equal: raw.or_equal.unwrap_or(false),
                whole: raw.whole.unwrap_or(false),
            },
            "much" => Test::Much {
                above: curves("above", &raw.above)?,
                below: curves("below", &raw.below)?,
                times: raw.at_least.unwrap_or(MUCH),
                range,
            },
            "steeper" => {
                Test::Steeper { above: curves("above", &raw.above)?, below: curves("below", &raw.below)?, range }
            }
            "onset" => {
                let (at, grid) = raw.onset()?;
                Test::Onset { curves: curve()?, at, past: raw.past, grid, range }
            }
            "holds" => Test::Holds { curves: curve()?, line: raw.line, percent: raw.percent()?, range },
            "level" => Test::Level { curves: curve()?, bound: raw.bound()?, range },
            "factor" => {
                let (times, at_least) = match (raw.value, raw.at_least) {
                    (Some(times), None) => (times, false),
                    (None, Some(times)) => (times, true),
                    _ => return Err("class \"factor\" needs one of `value`, `at_least`".into()),
                };
                let (curves, over) = (curve()?, curves("over", &raw.over)?);
                if over.len() != 1 && over.len() != curves.len() {
                    return Err("`over` takes one curve, or one for each of `curve`".into());
                }
                Test::Factor { curves, over, takes: raw.takes()?, times, at_least, range }
            }
            "share" => {
                let over = raw.over.is_some().then(|| curves("over", &raw.over)).transpose()?;
                let over = match over.as_deref() {
                    None => None,
                    Some([one]) => Some(one.clone()),
                    Some(_) => return Err("`over` takes one curve".into()),
                };
                let percent = raw.value.ok_or("class \"share\" needs `value`")?;
                Test::Share { curves: curve()?, over, percent, range }
            }
            "shape" => Test::Shape { curves: curve()?, shape: raw.shape()?, range },
            // `has_no_other_keys` has refused any other class.
            _ => Test::None { curves: curve()?, range },
        })
    }
}

impl RawClaim {
    /// Refuses keys of other classes: they would be ignored silently.
    fn has_no_other_keys(&self) -> Result<(), String> {
        let Some((class, keys)) = CLASSES.iter().find(|(class, _)| *class == self.class) else {
            let classes = CLASSES.map(|(class, _)| class).join(", ");
            return Err(format!("unknown class \"{}\"; the classes are {classes}", self.class));
        };
        let given = [
            ("curve", self.curve.is_some()),
            ("above", self.above.is_some()),
            ("below", self.below.is_some()),
            ("over", self.over.is_some()),
            ("takes", self.takes.is_some()),
            ("or_equal", self.or_equal.is_some()),
            ("whole", self.whole.is_some()),
            ("line", self.line.is_some()),
            ("percent", self.percent.is_some()),
            ("onset", self.onset.is_some()),
            ("past", self.past.is_some()),
            ("grid", self.grid.is_some()),
            ("value", self.value.is_some()),
            ("at_least", self.at_least.is_some()),
            ("at_most", self.at_most.is_some()),
            ("shape", self.shape.is_some()),
        ];
        match given.iter().find(|(key, is_given)| *is_given && !keys.contains(key)) {
            Some((key, _)) => Err(format!("class \"{class}\" has no key `{key}`; it has {}", keys.join(", "))),
            None => Ok(()),
        }
    }

    /// The paper's collapse point and its grid.
    fn onset(&self) -> Result<(f64, Vec<f64>), String> {
        let grid = self.grid.clone().ok_or("class \"onset\" needs `grid`, the paper's own steps")?;
        if !grid.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(format!("the steps of `grid` must rise: {grid:?}"));
        }
        let at = self.onset.ok_or("class \"onset\" needs `onset`; for a curve without collapse use class \"holds\"")?;
        match grid.contains(&at) {
            true => Ok((at, grid)),
            false => Err(format!("`onset` is not a step of the grid {grid:?}")),
        }
    }

    /// The share that a curve has to sustain; half by default.
    fn percent(&self) -> Result<f64, String> {
        let percent = self.percent.unwrap_or(50.0);
        match percent > 0.0 && percent <= 100.0 {
            true => Ok(percent),
            false => Err(format!("percent = {percent}: use a percentage above 0 and up to 100")),
        }
    }

    fn bound(&self) -> Result<Bound, String> {
        match (self.value, self.at_least, self.at_most) {
            (Some(value), None, None) => Ok(Bound::Near(value)),
            (None, Some(value), None) => Ok(Bound::AtLeast(value)),
            (None, None, Some(value)) => Ok(Bound::AtMost(value)),
            _ => Err("class \"level\" needs one of `value`, `at_least`, `at_most`".into()),
        }
    }

    fn shape(&self) -> Result<Shape, String> {
        Ok(match self.shape.as_deref() {
            Some("rises") => Shape::Rises,
            Some("falls") => Shape::Falls,
            Some("flat") => Shape::Flat,
            Some("linear") => Shape::Linear,
            _ => return Err("class \"shape\" needs `shape`: rises, falls, flat or linear".into()),
        })
    }

    fn takes(&self) -> Result<Takes, String> {
        match self.takes.as_deref() {
            None => Ok(Takes::Each),
            Some("mean") => Ok(Takes::Mean),
            Some("largest") => Ok(Takes::Largest),
            Some(other) => {
                Err(format!("takes = \"{other}\": use mean or largest; to judge each point, remove the line"))
            }
        }
    }

    /// The x values that the claim covers.
    fn range(&self, xs: Option<&[f64]>) -> Result<Range, String> {
        match (&self.at, self.from, self.to) {
            (Some(at), None, None) => {
                let at = at.list();
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
