//! What a claim expects, as its figure shows it: how far the measured curve is from it.

use serde::Serialize;

use super::onset::neighbours;
use super::seen::Range;
use crate::paper::curve::Curve;
use crate::stats::six_digits;

/// What a claim is of and what it expects, in the units of its measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Mark {
    /// The curves that it is of.
    pub curves: Vec<String>,
    /// The first and the last x that it is of; empty where nothing was measured.
    pub span: Vec<f64>,
    /// The least and the largest onset that would pass; empty where it is of none.
    pub onset: Vec<f64>,
    /// Where the paper has it.
    pub reported_onset: Option<f64>,
    /// What its curves may be, each.
    pub bands: Vec<Band>,
}

/// Between what a curve has to lie at each x.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Band {
    pub curve: String,
    pub x: Vec<f64>,
    /// Without a value there is no bound.
    pub least: Vec<Option<f64>>,
    pub most: Vec<Option<f64>>,
    /// What the paper says.
    pub reported: Vec<Option<f64>>,
}

/// Bounds and the paper's own value at one x, by what they are taken of there.
pub(super) struct Wanted {
    pub least: f64,
    pub most: f64,
    pub reported: Option<f64>,
}

impl Mark {
    /// Of these curves at these x.
    pub(super) fn of(names: impl IntoIterator<Item = String>, range: &Range, curves: &[Curve]) -> Mark {
        let names: Vec<String> = names.into_iter().collect();
        let xs = || curves.iter().filter(|c| names.contains(&c.name)).filter_map(|c| range.points(c)).flatten();
        let end = |pick: fn(f64, f64) -> f64| xs().map(|p| p.x).reduce(pick);
        let span = end(f64::min).zip(end(f64::max)).map_or(Vec::new(), |(from, to)| vec![from, to]);
        Mark { curves: names, span, ..Mark::default() }
    }

    /// An onset beside this one.
    pub(super) fn with_onset(self, grid: &[f64], at: f64) -> Mark {
        let (lo, hi) = neighbours(grid, at);
        Mark { onset: vec![lo, hi], reported_onset: Some(at), ..self }
    }

    /// Bounds of each curve, in units of `base` at each x that has one.
    pub(super) fn with_bands(
        self,
        range: &Range,
        curves: &[Curve],
        wanted: &Wanted,
        base: &dyn Fn(&Curve, f64) -> Option<f64>,
    ) -> Mark {
        let band = |name: &String| {
            let curve = curves.iter().find(|c| c.name == *name)?;
            let mut band = Band { curve: name.clone(), ..Band::default() };
            for point in range.points(curve)? {
                let Some(base) = base(curve, point.x) else { continue };
                let bound = |value: f64| Some(six_digits(base * value)).filter(|bound| bound.is_finite());
                band.x.push(point.x);
                band.least.push(bound(wanted.least));
                band.most.push(bound(wanted.most));
                band.reported.push(wanted.reported.and_then(bound));
            }
            (!band.x.is_empty()).then_some(band)
        };
        let bands = self.curves.iter().filter_map(band).collect();
        Mark { bands, ..self }
    }

    /// In units of `base`, a curve's at each x; without one there is no bound.
    pub(in crate::paper) fn over(&self, base: &dyn Fn(&str, f64) -> Option<f64>) -> Mark {
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
