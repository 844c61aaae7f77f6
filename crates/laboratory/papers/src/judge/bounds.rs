//! Classes with bounds: `level`, `factor`, `share`, `holds` and `none`.

use super::seen::{NOTHING, Range, Seen, Verdict, figure, nothing, with_half};
use crate::curve::{Axes, Curve, Point};
use fanin_lab::stats::{Interval, mean};

/// Which of several ratios has to meet a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Each of them.
    Each,
    /// Their mean: "on average".
    Mean,
    /// The largest: "up to".
    Largest,
}

/// The bounds of a value; infinite if there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub least: f64,
    pub most: f64,
}

impl Bounds {
    /// Undecided if the interval crosses a bound.
    fn judge(self, y: &Interval) -> Verdict {
        match () {
            () if y.lo >= self.least && y.hi <= self.most => Verdict::Pass,
            () if y.hi < self.least || y.lo > self.most => Verdict::Fail,
            () => Verdict::Undecided,
        }
    }

    /// Judges each point on its own.
    fn judge_all(self, points: &[&Point], unit: &str, axes: &Axes) -> Seen {
        let verdicts: Vec<Verdict> = points.iter().map(|p| self.judge(&p.y)).collect();
        let worst = verdicts.iter().copied().max().unwrap_or(Verdict::Fail);
        let told = |(p, verdict): (&&Point, &Verdict)| match verdict {
            Verdict::Undecided => format!("{} at {}", with_half(&p.y, unit), axes.place(p.x)),
            _ => format!("{}{unit} at {}", figure(p.y.mean), axes.place(p.x)),
        };
        let pairs = || points.iter().zip(&verdicts);
        let off: Vec<String> = pairs().filter(|(_, verdict)| **verdict != Verdict::Pass).map(told).collect();
        let words = match (points.len(), off.len()) {
            (n, 0) if n > 4 => {
                let end = |pick: fn(f64, f64) -> f64| points.iter().map(|p| p.y.mean).reduce(pick).unwrap_or(0.0);
                format!("all {n} points, from {}{unit} to {}{unit}", figure(end(f64::min)), figure(end(f64::max)))
            }
            (n, bad) if n > 4 => {
                let more = if bad > 4 { ", …" } else { "" };
                format!("{bad} of {n} points outside: {}{more}", off[..bad.min(4)].join(", "))
            }
            _ => pairs().map(told).collect::<Vec<_>>().join(", "),
        };
        (worst, words)
    }
}

/// Judges the curve's values.
pub(super) fn level(curve: &Curve, bounds: Bounds, range: &Range) -> Seen {
    range.points(curve).map_or_else(nothing, |points| bounds.judge_all(&points, &curve.axes.unit, &curve.axes))
}

/// The curve's best up to `x`.
pub(super) fn best(curve: &Curve, x: f64) -> f64 {
    curve.within(f64::NEG_INFINITY, x).map(|p| p.y.mean).fold(0.0, f64::max)
}

/// The curve's points, each as a percentage of the line, or of the curve's own best up to it: a rising curve has not collapsed.
pub(super) fn holds(curve: &Curve, line: Option<f64>, percent: f64, range: &Range) -> Seen {
    let Some(points) = range.points(curve) else { return nothing() };
    let share = |p: &&Point| {
        let whole = line.unwrap_or_else(|| best(curve, p.x));
        (whole > 0.0).then(|| Point::new(p.x, p.values.iter().map(|value| 100.0 * value / whole).collect()))?
    };
    // A curve that is zero throughout sustains nothing.
    let Some(shares) = points.iter().map(share).collect::<Option<Vec<Point>>>() else { return nothing() };
    Bounds { least: percent, most: f64::INFINITY }.judge_all(&shares.iter().collect::<Vec<_>>(), " %", &curve.axes)
}

/// The ratio of the curve to another.
pub(super) fn factor(curve: &Curve, over: &Curve, takes: Takes, bounds: Bounds, range: &Range) -> Seen {
    let ratios = match ratios(curve, over, range) {
        Ok(ratios) => ratios,
        Err(why) => return (Verdict::Fail, why),
    };
    match takes {
        Takes::Each => bounds.judge_all(&ratios.iter().collect::<Vec<_>>(), "x", &curve.axes),
        Takes::Largest => {
            let largest = ratios.iter().max_by(|a, b| a.y.mean.total_cmp(&b.y.mean));
            bounds.judge_all(&largest.into_iter().collect::<Vec<_>>(), "x", &curve.axes)
        }
        Takes::Mean => {
            let seeds = ratios.iter().map(|p| p.values.len()).min().unwrap_or(0);
            let of_seed = |i: usize| mean(&ratios.iter().map(|p| p.values[i]).collect::<Vec<_>>());
            let Some(all) = (0..seeds).map(of_seed).collect::<Option<_>>().and_then(|v| Point::new(0.0, v)) else {
                return nothing();
            };
            (bounds.judge(&all.y), format!("{} on average over {} points", with_half(&all.y, "x"), ratios.len()))
        }
    }
}

/// The curve, or its gain over another, in per cent.
pub(super) fn share(curve: &Curve, over: Option<&Curve>, bounds: Bounds, range: &Range) -> Seen {
    let Some(over) = over else {
        return range.points(curve).map_or_else(nothing, |points| bounds.judge_all(&points, " %", &curve.axes));
    };
    let gain = |p: Point| Point::new(p.x, p.values.iter().map(|ratio| 100.0 * (ratio - 1.0)).collect());
    match ratios(curve, over, range) {
        Ok(ratios) => {
            let gains: Vec<Point> = ratios.into_iter().filter_map(gain).collect();
            bounds.judge_all(&gains.iter().collect::<Vec<_>>(), " %", &curve.axes)
        }
        Err(why) => (Verdict::Fail, why),
    }
}

/// The ratio of two curves' means at each x, with one value per seed that has this mean and the scatter of the ratio. Ratios
/// are taken seed by seed, since the schemes of a figure see the same draws. Otherwise why there is none.
fn ratios(curve: &Curve, over: &Curve, range: &Range) -> Result<Vec<Point>, String> {
    let (Some(points), Some(unders)) = (range.points(curve), range.points(over)) else { return Err(NOTHING.into()) };
    if let Some(zero) = unders.iter().find(|p| p.y.mean == 0.0) {
        return Err(format!("{} is 0 at {}", over.name, over.axes.place(zero.x)));
    }
    let ratio = |p: &&Point| {
        let under = unders.iter().find(|o| o.x == p.x)?;
        // Linear about the means: the error of a ratio to first order.
        let ratio = mean(&p.values)? / mean(&under.values)?;
        let of_seed = |(a, b): (&f64, &f64)| ratio + (a - ratio * b) / under.y.mean;
        Point::new(p.x, p.values.iter().zip(&under.values).map(of_seed).collect())
    };
    points.iter().map(ratio).collect::<Option<_>>().ok_or_else(|| NOTHING.into())
}

/// Zero in every seed: a single other value fails, regardless of further seeds.
pub(super) fn none(curve: &Curve, range: &Range) -> Seen {
    let Some(points) = range.points(curve) else { return nothing() };
    let hit: Vec<&Point> = points.iter().filter(|p| p.values.iter().any(|&v| v != 0.0)).copied().collect();
    let Some(first) = hit.first() else {
        let runs: usize = points.iter().map(|p| p.values.len()).sum();
        return (Verdict::Pass, format!("0 in all {runs} runs"));
    };
    let means = mean(&hit.iter().map(|p| p.y.mean).collect::<Vec<_>>()).unwrap_or(0.0);
    let (unit, place) = (&curve.axes.unit, curve.axes.place(first.x));
    let words =
        format!("{}{unit} on average at {} of {} points, the first {place}", figure(means), hit.len(), points.len());
    (Verdict::Fail, words)
}
