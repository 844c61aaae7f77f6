//! The class `much`: some curves well above others.

use super::bounds::{self, Bounds, Takes};
use super::seen::{Range, Seen, Verdict};
use crate::curve::Curve;

/// Least factor of "much" and "significantly" if neither text nor figure gives one.
pub(crate) const MUCH: f64 = 1.25;

/// Every one of `above` is at least `times` times every one of `below`, at every point. Any number is many times zero.
pub(super) fn much(above: &[Curve], below: &[Curve], times: f64, range: &Range) -> Seen {
    let pairs = above.iter().flat_map(|high| below.iter().map(move |low| (high, low)));
    let mut worst = (Verdict::Pass, Vec::new());
    for (high, low) in pairs {
        let (verdict, words) = one(high, low, times, range);
        worst.0 = worst.0.max(verdict);
        worst.1.push(format!("{} over {} {words}", high.name, low.name));
    }
    (worst.0, worst.1.join("; "))
}

fn one(high: &Curve, low: &Curve, times: f64, range: &Range) -> Seen {
    let zero = |curve: &Curve, x: f64| curve.at(x).is_some_and(|point| point.values.iter().all(|value| *value == 0.0));
    let (at_none, rest): (Vec<f64>, Vec<f64>) = match range.points(high) {
        Some(points) => points.iter().map(|point| point.x).partition(|x| zero(low, *x)),
        None => return super::seen::nothing(),
    };
    let mut seen = match rest.is_empty() {
        true => (Verdict::Pass, String::new()),
        false => bounds::factor(high, low, Takes::Each, Bounds { least: times, most: f64::INFINITY }, &Range::At(rest)),
    };
    for x in at_none {
        let verdict = match high.at(x) {
            Some(point) if point.y.lo > 0.0 => Verdict::Pass,
            Some(point) if point.y.mean > 0.0 => Verdict::Undecided,
            _ => Verdict::Fail,
        };
        let told =
            format!("{} to none at {x}", high.at(x).map_or(0.0, |point| fanin_lab::stats::six_digits(point.y.mean)));
        let joined = if seen.1.is_empty() { told } else { format!("{}, {told}", seen.1) };
        seen = (seen.0.max(verdict), joined);
    }
    seen
}
