//! Classes of claims and their pass conditions. Tolerances depend on the class, never on a result.

mod bounds;
mod mark;
mod much;
mod onset;
mod order;
mod seen;
mod shape;
#[cfg(test)]
mod tests;

use super::curve::{Axes, Curve};
use bounds::Bounds;
use fanin_lab::stats::six_digits;
use mark::{Marking, Wanted};
use seen::{Seen, figure};

pub use bounds::Takes;
use fanin_report::Mark;
pub(super) use much::MUCH;
pub use seen::{Range, Verdict};
pub use shape::Shape;

/// A claim's class and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Every curve of `above` is above every one of `below`: means in that order and 95 % CIs disjoint, at every point, or
    /// at 9 of 10 points for a claim about a whole curve. With `or_equal` it suffices not to be below.
    Order { above: Vec<String>, below: Vec<String>, range: Range, or_equal: bool, whole: bool },
    /// Every curve of `above` is at least `times` times every one of `below`, at every point, without tolerance.
    Much { above: Vec<String>, below: Vec<String>, times: f64, range: Range },
    /// Every curve of `above` rises faster than every one of `below`: slopes in that order, their 95 % CIs disjoint.
    Steeper { above: Vec<String>, below: Vec<String>, range: Range },
    /// Where each curve collapses, or passes a value, within one step of the paper's grid.
    Onset { curves: Vec<String>, at: f64, past: Option<f64>, grid: Vec<f64>, range: Range },
    /// No collapse: every point is at least `percent` of the curve's best up to it, or of `line`.
    Holds { curves: Vec<String>, line: Option<f64>, percent: f64, range: Range },
    /// A value, within 15 %; or a bound.
    Level { curves: Vec<String>, bound: Bound, range: Range },
    /// A curve is `times` times its counterpart in `over`: within a factor of 1.5; "at least" has no upper end.
    Factor { curves: Vec<String>, over: Vec<String>, takes: Takes, times: f64, at_least: bool, range: Range },
    /// A percentage, within 5 points; with `over`, the gain or loss relative to it.
    Share { curves: Vec<String>, over: Option<String>, percent: f64, range: Range },
    /// The curve's shape.
    Shape { curves: Vec<String>, shape: Shape, range: Range },
    /// Zero in every seed.
    None { curves: Vec<String>, range: Range },
}

/// The bound of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Within 15 % of it.
    Near(f64),
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it holds.
    pub verdict: Verdict,
    /// The measured result, in words.
    pub measured: String,
    /// The condition to pass, in words.
    pub expected: String,
}

impl Test {
    /// The name of the class.
    pub fn class(&self) -> &'static str {
        match self {
            Test::Order { .. } => "order",
            Test::Much { .. } => "much",
            Test::Steeper { .. } => "steeper",
            Test::Onset { .. } => "onset",
            Test::Holds { .. } => "holds",
            Test::Level { .. } => "level",
            Test::Factor { .. } => "factor",
            Test::Share { .. } => "share",
            Test::Shape { .. } => "shape",
            Test::None { .. } => "none",
        }
    }

    /// The curves it needs.
    pub fn curves(&self) -> impl Iterator<Item = &String> {
        let (curves, others): (&[String], &[String]) = match self {
            Test::Order { above, below, .. } | Test::Much { above, below, .. } | Test::Steeper { above, below, .. } => {
                (above, below)
            }
            Test::Factor { curves, over, .. } => (curves, over),
            Test::Share { curves, over, .. } => (curves, over.as_slice()),
            Test::Onset { curves, .. }
            | Test::Holds { curves, .. }
            | Test::Level { curves, .. }
            | Test::Shape { curves, .. }
            | Test::None { curves, .. } => (curves, &[]),
        };
        curves.iter().chain(others)
    }

    /// Judges the claim by the figure's curves.
    pub fn judge(&self, curves: &[Curve]) -> Judgement {
        let (verdict, measured) = self.see(curves);
        let axes = curves.first().map_or(Axes::default(), |curve| curve.axes.clone());
        Judgement { verdict, measured, expected: self.expects(&axes) }
    }

    fn see(&self, curves: &[Curve]) -> Seen {
        let curve = |name: &String| {
            let found = curves.iter().find(|c| c.name == *name);
            found.cloned().unwrap_or(Curve {
                name: name.clone(),
                points: Vec::new(),
                exact: false,
                axes: Axes::default(),
            })
        };
        let every = |names: &[String]| -> Vec<Curve> { names.iter().map(curve).collect() };
        let all = |names: &[String], one: &dyn Fn(&Curve) -> Seen| {
            together(names.iter().map(|name| (name, one(&curve(name)))).collect())
        };
        match self {
            Test::Order { above, below, range, or_equal, whole } => {
                order::order(&every(above), &every(below), range, *or_equal, *whole)
            }
            Test::Much { above, below, times, range } => much::much(&every(above), &every(below), *times, range),
            Test::Steeper { above, below, range } => shape::steeper(&every(above), &every(below), range),
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

    /// Its expectation, as marked in the figure.
    pub fn mark(&self, curves: &[Curve]) -> Mark {
        let mean = |name: &str, x: f64| curves.iter().find(|c| c.name == name)?.at(x).map(|p| p.y.mean);
        let one = |_: &Curve, _: f64| Some(1.0);
        match self {
            Test::Order { above, below, range, .. }
            | Test::Much { above, below, range, .. }
            | Test::Steeper { above, below, range } => Mark::of([above.clone(), below.clone()].concat(), range, curves),
            Test::Shape { curves: names, range, .. } => Mark::of(names.clone(), range, curves),
            Test::Onset { curves: names, at, grid, range, .. } => {
                Mark::of(names.clone(), range, curves).with_onset(grid, *at)
            }
            Test::Holds { curves: names, line, percent, range } => {
                let wanted = Wanted { least: percent / 100.0, most: f64::INFINITY, reported: None };
                let base = |curve: &Curve, x: f64| Some(line.unwrap_or_else(|| bounds::best(curve, x)));
                Mark::of(names.clone(), range, curves).with_bands(range, curves, &wanted, &base)
            }
            Test::Level { curves: names, bound, range } => {
                let Bounds { least, most } = bound.bounds();
                let reported = if let Bound::Near(value) = bound { Some(*value) } else { None };
                Mark::of(names.clone(), range, curves).with_bands(
                    range,
                    curves,
                    &Wanted { least, most, reported },
                    &one,
                )
            }
            Test::Factor { curves: names, over, takes, times, at_least, range } => {
                let mark = Mark::of([names.clone(), over.clone()].concat(), range, curves);
                if *takes != Takes::Each {
                    return mark;
                }
                let Bounds { least, most } = times_bounds(*times, *at_least);
                let wanted = Wanted { least, most, reported: Some(*times) };
                let under = |curve: &Curve, x: f64| {
                    let place = names.iter().position(|name| *name == curve.name)?;
                    mean(&over[place % over.len()], x)
                };
                mark.with_bands(range, curves, &wanted, &under)
            }
            Test::Share { curves: names, over, percent, range } => {
                let both = names.iter().cloned().chain(over.clone());
                let [least, most, reported] = [percent - 5.0, percent + 5.0, *percent]
                    .map(|share| if over.is_some() { 1.0 + share / 100.0 } else { share });
                let wanted = Wanted { least, most, reported: Some(reported) };
                let own = |curve: &Curve| names.contains(&curve.name).then_some(1.0);
                let under = |curve: &Curve, x: f64| {
                    own(curve).and_then(|one| over.as_ref().map_or(Some(one), |over| mean(over, x)))
                };
                Mark::of(both, range, curves).with_bands(range, curves, &wanted, &under)
            }
            Test::None { curves: names, range } => {
                let wanted = Wanted { least: 0.0, most: 0.0, reported: None };
                Mark::of(names.clone(), range, curves).with_bands(range, curves, &wanted, &one)
            }
        }
    }

    /// The condition to pass, in words.
    fn expects(&self, axes: &Axes) -> String {
        let unit = &axes.unit;
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
            Test::Much { above, below, times, .. } => {
                format!("{} at least {}x {} at every point", above.join(", "), figure(*times), below.join(", "))
            }
            Test::Steeper { above, below, .. } => {
                format!("slopes of {} above {}, intervals apart", above.join(", "), below.join(", "))
            }
            Test::Onset { at, grid, .. } => {
                let (lo, hi) = onset::neighbours(grid, *at);
                format!("onset in {lo}..{}", axes.place(hi))
            }
            Test::Holds { line: None, percent, .. } => format!("every point at least {percent} % of the best up to it"),
            Test::Holds { line: Some(line), percent, .. } => {
                format!("every point at least {percent} % of {line}{unit}")
            }
            Test::Level { bound: Bound::AtLeast(least), .. } => format!("at least {}{unit}", figure(*least)),
            Test::Level { bound: Bound::AtMost(most), .. } => format!("at most {}{unit}", figure(*most)),
            Test::Level { bound, .. } => {
                let Bounds { least, most } = bound.bounds();
                format!("{}..{}{unit}", figure(least), figure(most))
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
            // To six digits, as reported: the last bit must not decide a value on the edge.
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

/// Combines the results of a claim about several curves.
fn together(seen: Vec<(&String, Seen)>) -> Seen {
    let several = seen.len() > 1;
    let worst = seen.iter().map(|(_, (verdict, _))| *verdict).max().unwrap_or(Verdict::Fail);
    let words = seen.into_iter().map(|(name, (_, words))| if several { format!("{name} {words}") } else { words });
    (worst, words.collect::<Vec<_>>().join("; "))
}
