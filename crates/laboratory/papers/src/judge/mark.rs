//! Marks of claims in figures: expected values beside the measured curve.

use fanin_lab::stats::six_digits;
use fanin_report::{Band, Mark};

use super::onset::neighbours;
use super::seen::Range;
use crate::curve::Curve;

/// Bounds and the paper's own value at one x, relative to a base.
pub(super) struct Wanted {
    pub least: f64,
    pub most: f64,
    pub reported: Option<f64>,
}

/// Builds a mark from a claim.
pub(super) trait Marking {
    /// For these curves and x values.
    fn of(names: impl IntoIterator<Item = String>, range: &Range, curves: &[Curve]) -> Self;
    /// Adds the collapse points that would pass.
    fn with_onset(self, grid: &[f64], at: f64) -> Self;
    /// Adds bounds for each curve, in units of `base` at each x that has one.
    fn with_bands(
        self,
        range: &Range,
        curves: &[Curve],
        wanted: &Wanted,
        base: &dyn Fn(&Curve, f64) -> Option<f64>,
    ) -> Self;
}

impl Marking for Mark {
    fn of(names: impl IntoIterator<Item = String>, range: &Range, curves: &[Curve]) -> Mark {
        let names: Vec<String> = names.into_iter().collect();
        let xs = || curves.iter().filter(|c| names.contains(&c.name)).filter_map(|c| range.points(c)).flatten();
        let end = |pick: fn(f64, f64) -> f64| xs().map(|p| p.x).reduce(pick);
        let span = end(f64::min).zip(end(f64::max)).map_or(Vec::new(), |(from, to)| vec![from, to]);
        Mark { curves: names, span, ..Mark::default() }
    }

    fn with_onset(self, grid: &[f64], at: f64) -> Mark {
        let (lo, hi) = neighbours(grid, at);
        Mark { onset: vec![lo, hi], reported_onset: Some(at), ..self }
    }

    fn with_bands(
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
}
