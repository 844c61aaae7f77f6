//! The class `shape`: the form of a curve.

use super::seen::{Range, Seen, Verdict, figure, nothing};
use crate::curve::Curve;
use fanin_lab::stats::{Fit, Interval, six_digits, slope};

/// The form of a curve.
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

/// Every one of `above` rises faster than every one of `below`: their slopes are in that order, and 95 % intervals apart.
pub(super) fn steeper(above: &[Curve], below: &[Curve], range: &Range) -> Seen {
    let slopes = |curves: &[Curve]| -> Option<Vec<(String, Interval)>> {
        curves.iter().map(|curve| Some((curve.name.clone(), fit(curve, range)?.slope))).collect()
    };
    let (Some(above), Some(below)) = (slopes(above), slopes(below)) else { return nothing() };
    let one = |high: &Interval, low: &Interval| match () {
        () if high.lo > low.hi => Verdict::Pass,
        () if high.mean <= low.mean => Verdict::Fail,
        () => Verdict::Undecided,
    };
    let verdicts = above.iter().flat_map(|(_, high)| below.iter().map(|(_, low)| one(high, low)));
    let told = |(name, slope): &(String, Interval)| {
        let [mean, lo, hi] = [slope.mean, slope.lo, slope.hi].map(six_digits);
        format!("{name} {mean} ({lo} to {hi})")
    };
    let words: Vec<String> = above.iter().chain(&below).map(told).collect();
    (verdicts.max().unwrap_or(Verdict::Fail), format!("slopes {}", words.join(", ")))
}

/// A line through a curve's values, each seed's.
fn fit(curve: &Curve, range: &Range) -> Option<Fit> {
    let points = range.points(curve)?;
    let samples: Vec<(f64, f64)> = points.iter().flat_map(|p| p.values.iter().map(|&value| (p.x, value))).collect();
    slope(&samples)
}

/// Rising and falling are undecided where the slope's interval contains zero, unless nothing is due to chance.
pub(super) fn shape(curve: &Curve, shape: Shape, range: &Range) -> Seen {
    let Some(points) = range.points(curve) else { return nothing() };
    let [first, .., last] = points.as_slice() else { return nothing() };
    if shape == Shape::Flat {
        let (from, to, unit) = (first.y.mean, last.y.mean, &curve.axes.unit);
        let words = format!(
            "{}{unit} at {}, {}{unit} at {}",
            figure(from),
            curve.axes.place(first.x),
            figure(to),
            curve.axes.place(last.x)
        );
        return (Verdict::of((to - from).abs() <= 0.1 * from.abs()), words);
    }
    let Some(fit) = fit(curve, range) else { return nothing() };
    if shape == Shape::Linear {
        // A line fits any two points.
        if points.len() < 3 {
            return nothing();
        }
        return (Verdict::of(fit.r_squared >= 0.95), format!("R² = {:.3}", fit.r_squared));
    }
    let by_sign = if shape == Shape::Rises { 1.0 } else { -1.0 };
    let ends = [fit.slope.lo * by_sign, fit.slope.hi * by_sign];
    let crosses = fit.slope.lo < 0.0 && fit.slope.hi > 0.0 && !curve.exact;
    let verdict = match ends.iter().all(|&end| end > 0.0) {
        true => Verdict::Pass,
        false if crosses => Verdict::Undecided,
        false => Verdict::Fail,
    };
    let [mean, lo, hi] = [fit.slope.mean, fit.slope.lo, fit.slope.hi].map(six_digits);
    (verdict, format!("slope {mean} ({lo} to {hi}){} per step of the axis", curve.axes.unit))
}
