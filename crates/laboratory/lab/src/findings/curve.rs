//! A scheme's points along the axis, and where they fall.

use fanin_spec::Variant;

use crate::{Summary, SummaryRow};

/// Whether a fall from the best earlier point is within the intervals.
pub(super) fn within_intervals(best: &SummaryRow, fallen: &SummaryRow) -> bool {
    fallen.goodput_mbps.hi >= best.goodput_mbps.lo
}

/// Indices of a scheme's collapse points, except falls within the intervals.
pub fn sure_onsets(variant: &Variant, summary: &Summary) -> Vec<usize> {
    let sure = |Curve { rows, onset, .. }: Curve| {
        let row = rows.iter().find(|row| Some(row.place) == onset)?;
        (!within_intervals(best_before(&rows, row)?, row)).then_some(row.place)
    };
    Curve::all(variant, summary).into_iter().filter_map(sure).collect()
}

/// The best point before a given one.
pub(super) fn best_before<'a>(rows: &[&'a SummaryRow], row: &SummaryRow) -> Option<&'a SummaryRow> {
    let before = rows.iter().filter(|r| r.place < row.place).copied();
    before.reduce(|a, b| if b.goodput_mbps.mean > a.goodput_mbps.mean { b } else { a })
}

/// A scheme's points along the axis, with all other keys fixed.
pub(super) struct Curve<'a> {
    pub rows: Vec<&'a SummaryRow>,
    /// Number of points, including those not tried.
    pub points: usize,
    /// Index of its collapse point.
    pub onset: Option<usize>,
}

impl<'a> Curve<'a> {
    pub fn all(variant: &Variant, summary: &'a Summary) -> Vec<Curve<'a>> {
        let onsets = summary.onset.0.iter().find(|(label, _)| *label == variant.label);
        let onsets = onsets.map_or(&[][..], |(_, onsets)| onsets).iter().map(|onset| onset.at.as_ref().map(|at| at.0));
        let own = |row: &&SummaryRow| row.scheme == variant.label;
        let curve = |(places, onset): (Vec<usize>, Option<usize>)| {
            let rows = summary.rows.iter().filter(own).filter(|row| places.contains(&row.place)).collect();
            Curve { rows, points: places.len(), onset }
        };
        variant.curves().into_iter().zip(onsets.chain(std::iter::repeat(None))).map(curve).collect()
    }
}
