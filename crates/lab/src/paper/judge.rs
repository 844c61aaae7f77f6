//! The classes of claims, and when each passes. Tolerances come from the class, never from a result.

mod bounds;
mod onset;
mod order;
mod seen;
mod shape;
#[cfg(test)]
mod tests;

use super::curve::Curve;
use crate::stats::six_digits;
use bounds::Bounds;
use seen::{Seen, figure};

pub use bounds::Takes;
pub use seen::{Range, Verdict};
pub use shape::Shape;

/// A claim's class, with what it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Every curve of `above` lies above every one of `below`: means in that order and 95 % intervals apart, at every
    /// point, or at nine of ten where it is said of a whole curve; `or_equal`, where not to be below is enough.
    Order { above: Vec<String>, below: Vec<String>, range: Range, or_equal: bool, whole: bool },
    /// Where each curve collapses, or passes a value, within a step of the paper's own grid.
    Onset { curves: Vec<String>, at: f64, past: Option<f64>, grid: Vec<f64>, range: Range },
    /// No collapse: every point at least so many per cent of the curve's best up to it, or of what the line gives.
    Holds { curves: Vec<String>, line: Option<f64>, percent: f64, range: Range },
    /// A value, within 15 %; or a bound.
    Level { curves: Vec<String>, bound: Bound, range: Range },
    /// One curve is so many times another, the one beside it in `over`: within a factor of 1.5; "at least" has no upper end.
    Factor { curves: Vec<String>, over: Vec<String>, takes: Takes, times: f64, at_least: bool, range: Range },
    /// So many per cent, within 5 points; of `over`, what is gained or lost against it.
    Share { curves: Vec<String>, over: Option<String>, percent: f64, range: Range },
    /// What the curve does.
    Shape { curves: Vec<String>, shape: Shape, range: Range },
    /// Zero in every seed.
    None { curves: Vec<String>, range: Range },
}

/// What a level is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Within 15 % of it.
    Near(f64),
    /// Not under it.
    AtLeast(f64),
    /// Not over it.
    AtMost(f64),
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it holds.
    pub verdict: Verdict,
    /// What was seen, in words.
    pub measured: String,
    /// What would pass, in words.
    pub expected: String,
}

impl Test {
    /// The class' name.
    pub fn class(&self) -> &'static str {
        match self {
            Test::Order { .. } => "order",
            Test::Onset { .. } => "onset",
            Test::Holds { .. } => "holds",
            Test::Level { .. } => "level",
            Test::Factor { .. } => "factor",
            Test::Share { .. } => "share",
            Test::Shape { .. } => "shape",
            Test::None { .. } => "none",
        }
    }

    /// Judges the claim by the figure's curves.
    pub fn judge(&self, curves: &[Curve]) -> Judgement {
        let (verdict, measured) = self.see(curves);
        Judgement { verdict, measured, expected: self.expects() }
    }

    fn see(&self, curves: &[Curve]) -> Seen {
        let curve = |name: &String| {
            let found = curves.iter().find(|c| c.name == *name);
            found.cloned().unwrap_or(Curve { name: name.clone(), points: Vec::new(), exact: false })
        };
        let every = |names: &[String]| -> Vec<Curve> { names.iter().map(curve).collect() };
        let all = |names: &[String], one: &dyn Fn(&Curve) -> Seen| {
            together(names.iter().map(|name| (name, one(&curve(name)))).collect())
        };
        match self {
            Test::Order { above, below, range, or_equal, whole } => {
                order::order(&every(above), &every(below), range, *or_equal, *whole)
            }
            Test::Onset { curves, at, past, grid, range } => all(curves, &|c| onset::onset(c, *at, *past, grid, range)),
            Test::Holds { curves, line, percent, range } => all(curves, &|c| bounds::holds(c, *line, *percent, range)),
            Test::Level { curves, bound, range } => all(curves, &|c| bounds::level(c, bound.bounds(), range)),
            Test::Factor { curves, over, takes, times, at_least, range } => {
                let bounds = times_bounds(*times, *at_least);
                let pairs = curves.iter().zip(over.iter().cycle());
                let one = |(name, under)| (name, bounds::factor(&curve(name), &curve(under), *takes, bounds, range));
                together(pairs.map(one).collect())
            }
            Test::Share { curves, over, percent, range } => {
                let over = over.as_ref().map(curve);
                let bounds = Bounds { least: percent - 5.0, most: percent + 5.0 };
                all(curves, &|c| bounds::share(c, over.as_ref(), bounds, range))
            }
            Test::Shape { curves, shape, range } => all(curves, &|c| shape::shape(c, *shape, range)),
            Test::None { curves, range } => all(curves, &|c| bounds::none(c, range)),
        }
    }

    /// What would pass, in words.
    fn expects(&self) -> String {
        match self {
            Test::Order { above, below, or_equal, whole, .. } => {
                let above = format!(
                    "{} {} {}",
                    above.join(", "),
                    ["above", "not below"][usize::from(*or_equal)],
                    below.join(", ")
                );
                let points = if *whole { "9 of 10 points" } else { "every point" };
                let apart = if *or_equal { "" } else { ", intervals apart" };
                format!("{above} at {points}{apart}")
            }
            Test::Onset { at, grid, .. } => {
                let (lo, hi) = onset::neighbours(grid, *at);
                format!("onset in {lo}..{hi}")
            }
            Test::Holds { line: None, percent, .. } => format!("every point at least {percent} % of the best up to it"),
            Test::Holds { line: Some(line), percent, .. } => format!("every point at least {percent} % of {line}"),
            Test::Level { bound: Bound::AtLeast(least), .. } => format!("at least {}", figure(*least)),
            Test::Level { bound: Bound::AtMost(most), .. } => format!("at most {}", figure(*most)),
            Test::Level { bound, .. } => {
                let Bounds { least, most } = bound.bounds();
                format!("{}..{}", figure(least), figure(most))
            }
            Test::Factor { times, at_least: true, .. } => format!("at least {}x", figure(times / 1.5)),
            Test::Factor { times, .. } => format!("{}x..{}x", figure(times / 1.5), figure(times * 1.5)),
            Test::Share { percent, .. } => format!("{}..{} %", figure(percent - 5.0), figure(percent + 5.0)),
            Test::Shape { shape, .. } => match shape {
                Shape::Rises => "a slope above zero",
                Shape::Falls => "a slope below zero",
                Shape::Flat => "the last point within 10 % of the first",
                Shape::Linear => "R² of at least 0.95",
            }
            .into(),
            Test::None { .. } => "0 in every seed".into(),
        }
    }
}

impl Bound {
    fn bounds(self) -> Bounds {
        let (least, most) = match self {
            // To six digits, as all that is reported: the last bit must not tip what lies on the edge.
            Bound::Near(value) => (six_digits(value - 0.15 * value.abs()), six_digits(value + 0.15 * value.abs())),
            Bound::AtLeast(least) => (least, f64::INFINITY),
            Bound::AtMost(most) => (f64::NEG_INFINITY, most),
        };
        Bounds { least, most }
    }
}

fn times_bounds(times: f64, at_least: bool) -> Bounds {
    Bounds { least: times / 1.5, most: if at_least { f64::INFINITY } else { times * 1.5 } }
}

/// A claim of several curves is one of each.
fn together(seen: Vec<(&String, Seen)>) -> Seen {
    let several = seen.len() > 1;
    let worst = seen.iter().map(|(_, (verdict, _))| *verdict).max().unwrap_or(Verdict::Fail);
    let words = seen.into_iter().map(|(name, (_, words))| if several { format!("{name} {words}") } else { words });
    (worst, words.collect::<Vec<_>>().join("; "))
}
