//! The class `onset`: where a curve collapses, or passes a value.

use super::seen::{Range, Seen, Verdict, nothing};
use crate::curve::{Curve, Point};
use fanin_lab::stats::{mean, onset as collapse, resampled};

/// Number of bootstrap samples of the seeds.
const TIMES: usize = 1_000;

/// The steps of a grid next to one of its own.
pub(super) fn neighbours(grid: &[f64], at: f64) -> (f64, f64) {
    let place = grid.iter().position(|&x| x == at).unwrap_or(0);
    (grid[place.saturating_sub(1)], grid[(place + 1).min(grid.len() - 1)])
}

/// Undecided if more than 5 % of bootstrap samples of the seeds disagree.
pub(super) fn onset(curve: &Curve, at: f64, past: Option<f64>, grid: &[f64], range: &Range) -> Seen {
    let Some(points) = range.points(curve) else { return nothing() };
    let seeds = points.iter().map(|p| p.values.len()).min().unwrap_or(0);
    let (lo, hi) = neighbours(grid, at);
    let holds = |found: Option<usize>| found.is_some_and(|i| (lo..=hi).contains(&points[i].x));
    let found = first(&points.iter().map(|p| p.y.mean).collect::<Vec<_>>(), past);
    let otherwise = resampled(seeds, TIMES).filter(|drawn| {
        let of = |p: &&Point| mean(&drawn.iter().map(|&seed| p.values[seed]).collect::<Vec<_>>()).unwrap_or(0.0);
        holds(first(&points.iter().map(of).collect::<Vec<_>>(), past)) != holds(found)
    });
    let otherwise = otherwise.count();
    let mut words = match (found, points.last()) {
        (Some(i), _) => format!("collapse point at {}", curve.axes.place(points[i].x)),
        (None, last) => format!("no collapse up to {}", curve.axes.place(last.map_or(0.0, |p| p.x))),
    };
    words += &match (seeds, otherwise as f64 * 100.0 / TIMES as f64) {
        (1, _) => " (of one seed)".to_string(),
        (n, 0.0) => format!(" (means over {n} seeds)"),
        (n, share) => format!(" (means over {n} seeds; {share:.1} % of bootstrap samples differ)"),
    };
    let decided = otherwise * 20 <= TIMES;
    (if decided { Verdict::of(holds(found)) } else { Verdict::Undecided }, words)
}

/// The first point at which it and its successor have collapsed, or are past a value.
fn first(means: &[f64], past: Option<f64>) -> Option<usize> {
    let Some(limit) = past else { return collapse(means) };
    let over = |i: usize| means.get(i).is_none_or(|&y| y > limit);
    (0..means.len()).find(|&i| over(i) && over(i + 1))
}
