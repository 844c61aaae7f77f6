//! The classes of claims, and when each passes. Tolerances come from the class, never from a result.

use super::curve::{Curve, Point};
use crate::stats::{Interval, mean, six_digits, slope};

/// The x values that a claim is of.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// These alone.
    At(Vec<f64>),
    /// All from the first to the second.
    Within(f64, f64),
}

/// A claim's class, with what it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Every curve of `above` lies above every one of `below`: means in that order and 95 % intervals apart, at every
    /// point, or at nine of ten where it is said of a whole curve.
    Order { above: Vec<String>, below: Vec<String>, range: Range, whole: bool },
    /// Where each curve collapses, or passes a value, within a step of the paper's own grid; `None` says nowhere.
    Onset { curves: Vec<String>, at: Option<f64>, past: Option<f64>, grid: Vec<f64>, range: Range },
    /// A value, within 15 %; or a bound.
    Level { curves: Vec<String>, bound: Bound, range: Range },
    /// One curve is so many times another: within a factor of 1.5; "at least" has no upper end.
    Factor { curves: Vec<String>, over: String, times: f64, at_least: bool, range: Range },
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

/// What a curve does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The slope's 95 % interval lies above zero.
    Rises,
    /// It lies below zero.
    Falls,
    /// The last point is within 10 % of the first.
    Flat,
    /// R² is at least 0.95.
    Linear,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it holds.
    pub pass: bool,
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
            Test::Level { .. } => "level",
            Test::Factor { .. } => "factor",
            Test::Share { .. } => "share",
            Test::Shape { .. } => "shape",
            Test::None { .. } => "none",
        }
    }

    /// Judges the claim by the figure's curves.
    pub fn judge(&self, curves: &[Curve]) -> Judgement {
        let curve = |name: &String| {
            curves.iter().find(|c| c.name == *name).cloned().unwrap_or(Curve { name: name.clone(), points: Vec::new() })
        };
        let all = |names: &[String], one: &dyn Fn(&Curve) -> (bool, String), expected: String| {
            let found: Vec<(bool, String)> = names.iter().map(|name| one(&curve(name))).collect();
            let several = names.len() > 1;
            let words =
                names.iter().zip(&found).map(|(n, (_, w))| if several { format!("{n} {w}") } else { w.clone() });
            Judgement {
                pass: found.iter().all(|(pass, _)| *pass),
                measured: words.collect::<Vec<_>>().join("; "),
                expected,
            }
        };
        match self {
            Test::Order { above, below, range, whole } => order(above, below, range, *whole, &curve),
            Test::Onset { curves, at, past, grid, range } => {
                let expected = match at {
                    None => "no onset".to_string(),
                    Some(at) => {
                        let (lo, hi) = neighbours(grid, *at);
                        format!("onset in {lo}..{hi}")
                    }
                };
                all(curves, &|c| onset(c, *at, *past, grid, range), expected)
            }
            Test::Level { curves, bound, range } => {
                let expected = match bound {
                    Bound::Near(value) => format!("{}..{}", figure(0.85 * value), figure(1.15 * value)),
                    Bound::AtLeast(value) => format!("at least {}", figure(*value)),
                    Bound::AtMost(value) => format!("at most {}", figure(*value)),
                };
                all(curves, &|c| level(c, *bound, range), expected)
            }
            Test::Factor { curves, over, times, at_least, range } => {
                let expected = match at_least {
                    true => format!("at least {}x", figure(times / 1.5)),
                    false => format!("{}x..{}x", figure(times / 1.5), figure(times * 1.5)),
                };
                let over = curve(over);
                all(curves, &|c| factor(c, &over, *times, *at_least, range), expected)
            }
            Test::Share { curves, over, percent, range } => {
                let expected = format!("{}..{} %", figure(percent - 5.0), figure(percent + 5.0));
                let over = over.as_ref().map(curve);
                all(curves, &|c| share(c, over.as_ref(), *percent, range), expected)
            }
            Test::Shape { curves, shape, range } => {
                let expected = match shape {
                    Shape::Rises => "a slope above zero",
                    Shape::Falls => "a slope below zero",
                    Shape::Flat => "the last point within 10 % of the first",
                    Shape::Linear => "R² of at least 0.95",
                };
                all(curves, &|c| bent(c, *shape, range), expected.into())
            }
            Test::None { curves, range } => all(curves, &|c| none(c, range), "0 in every seed".into()),
        }
    }
}

fn points<'a>(curve: &'a Curve, range: &Range) -> Vec<&'a Point> {
    match range {
        Range::At(xs) => xs.iter().filter_map(|&x| curve.at(x)).collect(),
        Range::Within(from, to) => curve.within(*from, *to).collect(),
    }
}

/// Whether every x that the claim names was measured.
fn complete(curve: &Curve, range: &Range) -> bool {
    match range {
        Range::At(xs) => xs.iter().all(|&x| curve.at(x).is_some()),
        Range::Within(..) => !points(curve, range).is_empty(),
    }
}

/// Four digits, for words.
fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 999.5 => format!("{value:.0}"),
        v if v >= 99.95 => format!("{value:.1}"),
        v if v >= 9.995 => format!("{value:.2}"),
        v if v < 5e-4 => "0".into(),
        _ => format!("{value:.3}"),
    }
}

fn listed(points: &[&Point]) -> String {
    points.iter().map(|p| format!("{} at {}", figure(p.y.mean), p.x)).collect::<Vec<_>>().join(", ")
}

const NOTHING: &str = "nothing was measured there";

fn order(
    above: &[String],
    below: &[String],
    range: &Range,
    whole: bool,
    curve: &dyn Fn(&String) -> Curve,
) -> Judgement {
    let (mut kept, mut total, mut words) = (0, 0, Vec::new());
    for (high, low) in above.iter().flat_map(|a| below.iter().map(move |b| (a, b))) {
        let (high, low) = (curve(high), curve(low));
        for point in points(&high, range) {
            let Some(other) = low.at(point.x) else { continue };
            total += 1;
            if point.y.mean > other.y.mean && point.y.lo > other.y.hi {
                kept += 1;
            } else {
                let [a, b] = [point, other].map(|p| format!("{} ± {}", figure(p.y.mean), figure(half(&p.y))));
                words.push(format!("{} {a} against {} {b} at {}", high.name, low.name, point.x));
            }
        }
    }
    let wanted = if whole { (total * 9usize).div_ceil(10) } else { total };
    let missing = above.iter().chain(below).any(|name| !complete(&curve(name), range));
    let measured = match words.len() {
        _ if total == 0 || missing => NOTHING.into(),
        0 => format!("at all {total} points"),
        n if n <= 3 => format!("at {kept} of {total} points; not {}", words.join("; ")),
        n => format!("at {kept} of {total} points; not {}; and {} more", words[..3].join("; "), n - 3),
    };
    let expected = match whole {
        true => format!("{} above {} at 9 of 10 points, intervals apart", above.join(", "), below.join(", ")),
        false => format!("{} above {} at every point, intervals apart", above.join(", "), below.join(", ")),
    };
    Judgement { pass: total > 0 && !missing && kept >= wanted, measured, expected }
}

fn half(interval: &Interval) -> f64 {
    (interval.hi - interval.lo) / 2.0
}

fn neighbours(grid: &[f64], at: f64) -> (f64, f64) {
    let place = grid.iter().position(|&x| x == at).unwrap_or(0);
    (grid[place.saturating_sub(1)], grid[(place + 1).min(grid.len() - 1)])
}

fn onset(curve: &Curve, at: Option<f64>, past: Option<f64>, grid: &[f64], range: &Range) -> (bool, String) {
    let points: Vec<&Point> = points(curve, range);
    let Some(last) = points.last().filter(|_| complete(curve, range)) else { return (false, NOTHING.into()) };
    let found = match past {
        None => crate::stats::onset(&points.iter().map(|p| p.y.mean).collect::<Vec<_>>()),
        Some(limit) => {
            let over = |i: usize| points.get(i).is_none_or(|p| p.y.mean > limit);
            (0..points.len()).find(|&i| over(i) && over(i + 1))
        }
    };
    let seeds = match last.values.len() {
        1 => "of one seed".to_string(),
        n => format!("means over {n} seeds"),
    };
    match (found.map(|i| points[i].x), at) {
        (None, at) => (at.is_none(), format!("no onset up to {} ({seeds})", last.x)),
        (Some(x), at) => {
            let within = at.is_some_and(|at| {
                let (lo, hi) = neighbours(grid, at);
                (lo..=hi).contains(&x)
            });
            (within, format!("onset at {x} ({seeds})"))
        }
    }
}

fn level(curve: &Curve, bound: Bound, range: &Range) -> (bool, String) {
    let points = points(curve, range);
    if !complete(curve, range) {
        return (false, NOTHING.into());
    }
    let fits = |value: f64| match bound {
        Bound::Near(wanted) => (value - wanted).abs() <= 0.15 * wanted.abs(),
        Bound::AtLeast(least) => value >= least,
        Bound::AtMost(most) => value <= most,
    };
    let off: Vec<&Point> = points.iter().filter(|p| !fits(p.y.mean)).copied().collect();
    let words = match (points.len(), off.len()) {
        (n, 0) if n > 4 => {
            format!("all {n} points, from {} to {}", extreme(&points, f64::min), extreme(&points, f64::max))
        }
        (n, bad) if n > 4 => format!("{bad} of {n} points outside: {}", listed(&off[..bad.min(4)])),
        _ => listed(&points),
    };
    (off.is_empty(), words)
}

fn extreme(points: &[&Point], pick: fn(f64, f64) -> f64) -> String {
    figure(points.iter().map(|p| p.y.mean).reduce(pick).unwrap_or(0.0))
}

/// The curve's means over those of another, by x; `None` where one of them is missing, or there is nothing to divide by.
fn ratios(curve: &Curve, over: &Curve, range: &Range) -> Option<Vec<(f64, f64)>> {
    let ratio = |p: &&Point| over.at(p.x).filter(|o| o.y.mean != 0.0).map(|o| (p.x, six_digits(p.y.mean / o.y.mean)));
    let ratios: Vec<_> = points(curve, range).iter().map(ratio).collect::<Option<_>>()?;
    (complete(curve, range) && complete(over, range)).then_some(ratios)
}

fn factor(curve: &Curve, over: &Curve, times: f64, at_least: bool, range: &Range) -> (bool, String) {
    let Some(ratios) = ratios(curve, over, range) else { return (false, no_ratio(over, range)) };
    let fits = |r: f64| r >= times / 1.5 && (at_least || r <= times * 1.5);
    let words = ratios.iter().map(|(x, r)| format!("{}x at {x}", figure(*r))).collect::<Vec<_>>().join(", ");
    (ratios.iter().all(|&(_, r)| fits(r)), words)
}

/// Why there is nothing to divide by.
fn no_ratio(over: &Curve, range: &Range) -> String {
    match points(over, range).iter().find(|p| p.y.mean == 0.0) {
        Some(point) => format!("{} is 0 at {}", over.name, point.x),
        None => NOTHING.into(),
    }
}

fn share(curve: &Curve, over: Option<&Curve>, percent: f64, range: &Range) -> (bool, String) {
    let shares: Vec<(f64, f64)> = match over {
        None if !complete(curve, range) => return (false, NOTHING.into()),
        None => points(curve, range).iter().map(|p| (p.x, p.y.mean)).collect(),
        Some(over) => match ratios(curve, over, range) {
            // To six digits, as all that is reported: the last bit must not tip what lies on the edge.
            Some(ratios) => ratios.into_iter().map(|(x, ratio)| (x, six_digits(100.0 * (ratio - 1.0)))).collect(),
            None => return (false, no_ratio(over, range)),
        },
    };
    let words = shares.iter().map(|(x, s)| format!("{} % at {x}", figure(*s))).collect::<Vec<_>>().join(", ");
    (shares.iter().all(|&(_, s)| (s - percent).abs() <= 5.0), words)
}

fn bent(curve: &Curve, shape: Shape, range: &Range) -> (bool, String) {
    let points = points(curve, range);
    let [first, .., last] = points.as_slice() else { return (false, NOTHING.into()) };
    if !complete(curve, range) {
        return (false, NOTHING.into());
    }
    if shape == Shape::Flat {
        let (from, to) = (first.y.mean, last.y.mean);
        let words = format!("{} at {}, {} at {}", figure(from), first.x, figure(to), last.x);
        return ((to - from).abs() <= 0.1 * from.abs(), words);
    }
    let samples: Vec<(f64, f64)> = points.iter().flat_map(|p| p.values.iter().map(|&value| (p.x, value))).collect();
    let Some(fit) = slope(&samples) else { return (false, NOTHING.into()) };
    match shape {
        Shape::Linear => (fit.r_squared >= 0.95, format!("R² = {:.3}", fit.r_squared)),
        _ => {
            let words = format!(
                "slope {} ({} to {})",
                six_digits(fit.slope.mean),
                six_digits(fit.slope.lo),
                six_digits(fit.slope.hi)
            );
            (if shape == Shape::Rises { fit.slope.lo > 0.0 } else { fit.slope.hi < 0.0 }, words)
        }
    }
}

fn none(curve: &Curve, range: &Range) -> (bool, String) {
    let points = points(curve, range);
    if !complete(curve, range) {
        return (false, NOTHING.into());
    }
    let hit: Vec<&Point> = points.iter().filter(|p| p.values.iter().any(|&v| v != 0.0)).copied().collect();
    let total: usize = points.iter().map(|p| p.values.len()).sum();
    match hit.as_slice() {
        [] => (true, format!("0 in all {total} runs")),
        hit => {
            let means = mean(&hit.iter().map(|p| p.y.mean).collect::<Vec<_>>()).unwrap_or(0.0);
            (
                false,
                format!(
                    "{} on average at {} of {} points, the first {}",
                    figure(means),
                    hit.len(),
                    points.len(),
                    hit[0].x
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests;
