//! Charts of a page: curves and the expectations of claims.

use std::borrow::Cow;

use fanin_lab::stats::six_digits;

use crate::points::thinned;

/// A chart as drawn.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct DrawnChart<'a> {
    pub x: Cow<'a, str>,
    pub y: String,
    /// Whether a value holds until the next.
    pub steps: bool,
    /// Whether there is only one x: each curve is a bar.
    pub bars: bool,
    /// Whether values are ratios to another curve.
    pub ratios: bool,
    pub curves: Vec<DrawnCurve<'a>>,
    pub expected: Vec<Expected<'a>>,
}

/// A curve by columns; `lo` and `hi` are empty if every point is of one run.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct DrawnCurve<'a> {
    pub name: Cow<'a, str>,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
}

/// A claim's expectation in a chart of its measure, as ratios if the chart shows ratios.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct Expected<'a> {
    pub claim: &'a str,
    pub mark: Mark,
}

/// A claim's curves and expectation, in the units of its measure.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Mark {
    /// The curves it is about.
    pub curves: Vec<String>,
    /// The first and the last x that it covers; empty if nothing was measured.
    pub span: Vec<f64>,
    /// The least and the largest collapse point that would pass; empty if it has none.
    pub onset: Vec<f64>,
    /// The paper's collapse point.
    pub reported_onset: Option<f64>,
    /// The bounds of each curve.
    pub bands: Vec<Band>,
}

/// The bounds of a curve at each x.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "plain data, named for what it is")]
pub struct Band {
    pub curve: String,
    pub x: Vec<f64>,
    /// No value means no bound.
    pub least: Vec<Option<f64>>,
    pub most: Vec<Option<f64>>,
    /// The paper's values.
    pub reported: Vec<Option<f64>>,
}

/// Maximum number of points of a curve over time.
const MOST_POINTS: usize = 4_000;

impl<'a> DrawnCurve<'a> {
    /// A curve with one run per point.
    pub fn of_one_run(name: impl Into<Cow<'a, str>>, points: &[(f64, f64)]) -> DrawnCurve<'a> {
        let (x, y) = thinned(points, f64::INFINITY, MOST_POINTS).into_iter().unzip();
        DrawnCurve { name: name.into(), x, y, lo: Vec::new(), hi: Vec::new() }
    }
}

impl DrawnChart<'static> {
    /// Values over time in one run, by name; each holds until the next.
    pub fn over_time(
        x: &'static str,
        y: impl Into<String>,
        curves: &[(String, Vec<(f64, f64)>)],
    ) -> DrawnChart<'static> {
        let curve = |(name, points): &(String, Vec<(f64, f64)>)| DrawnCurve::of_one_run(name.clone(), points);
        let curves = curves.iter().map(curve).collect();
        let (x, y) = (x.into(), y.into());
        DrawnChart { x, y, steps: true, bars: false, ratios: false, curves, expected: Vec::new() }
    }
}

impl Mark {
    /// Divides by `base`, a curve's value at each x; without one there is no bound.
    pub fn over(&self, base: &dyn Fn(&str, f64) -> Option<f64>) -> Mark {
        let mut mark = self.clone();
        for Band { curve, x, least, most, reported } in &mut mark.bands {
            for bounds in [least, most, reported] {
                for (bound, x) in bounds.iter_mut().zip(x.iter()) {
                    let ratio =
                        |value: f64| Some(six_digits(value / base(curve, *x)?)).filter(|ratio| ratio.is_finite());
                    *bound = bound.and_then(ratio);
                }
            }
        }
        mark
    }
}
