//! Verdicts, points of claims, and their wording.

use serde::{Deserialize, Serialize};

use crate::curve::{Curve, Point};
use fanin_lab::stats::Interval;

/// The outcome. The worse of two is the larger: a claim about several points gets the worst of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// These seeds cannot decide it.
    Undecided,
    /// It does not hold.
    Fail,
}

impl Verdict {
    /// Its word in scorecards.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Undecided => "undecided",
            Verdict::Fail => "fail",
        }
    }

    /// Its verb in a sentence: "it passes".
    pub fn says(self) -> &'static str {
        match self {
            Verdict::Pass => "passes",
            Verdict::Undecided => "is undecided",
            Verdict::Fail => "fails",
        }
    }

    pub(super) fn of(holds: bool) -> Verdict {
        if holds { Verdict::Pass } else { Verdict::Fail }
    }
}

/// The x values that a claim covers.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Only these.
    At(Vec<f64>),
    /// All from the first to the second.
    Within(f64, f64),
}

impl Range {
    /// The points of a curve in this range; `None` if a listed one is missing, or there is none.
    pub(super) fn points<'a>(&self, curve: &'a Curve) -> Option<Vec<&'a Point>> {
        let points: Vec<&Point> = match self {
            Range::At(xs) => xs.iter().map(|&x| curve.at(x)).collect::<Option<_>>()?,
            Range::Within(from, to) => curve.within(*from, *to).collect(),
        };
        (!points.is_empty()).then_some(points)
    }
}

/// A verdict with the measured result.
pub(super) type Seen = (Verdict, String);

/// The result at a point without a measurement, which always fails.
pub(super) const NOTHING: &str = "nothing was measured there";

pub(super) fn nothing() -> Seen {
    (Verdict::Fail, NOTHING.into())
}

/// Four digits, for words.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5 => format!("{value:.0}"),
        v if v >= 99.95 => format!("{value:.1}"),
        v if v >= 9.995 => format!("{value:.2}"),
        0.0 => "0".into(),
        v if v < 5e-4 => format!("{value:.1e}"),
        _ => format!("{value:.3}"),
    }
}

/// A mean with half of its interval; where that would reach below nothing, which no time, rate or count does, the interval itself. A
/// share gained may be negative.
pub(super) fn with_half(y: &Interval, unit: &str) -> String {
    // A word follows both numbers once, `x` follows each.
    let each = if unit.starts_with(' ') { "" } else { unit };
    match y.lo < 0.0 && y.mean >= 0.0 && unit != " %" {
        true => format!("{}{each} (0 to {}){unit}", figure(y.mean), figure(y.hi)),
        false => format!("{}{each} ± {}{unit}", figure(y.mean), figure((y.hi - y.lo) / 2.0)),
    }
}
