//! The class `order`: some curves above others.

use super::seen::{NOTHING, Range, Verdict, with_half};
use crate::curve::{Curve, Point};

/// An order needs at least this many seeds.
const LEAST_SEEDS: usize = 3;

/// Every one of `above` over every one of `below`; `or_equal`: not below suffices; `whole`: 9 of 10 points suffice.
pub(super) fn order(above: &[Curve], below: &[Curve], range: &Range, or_equal: bool, whole: bool) -> (Verdict, String) {
    let (mut kept, mut total, mut reversed, mut few, mut words) = (0, 0usize, false, false, Vec::new());
    for (high, low) in above.iter().flat_map(|a| below.iter().map(move |b| (a, b))) {
        let (Some(points), Some(_)) = (range.points(high), range.points(low)) else {
            return (Verdict::Fail, NOTHING.into());
        };
        for point in points {
            let Some(other) = low.at(point.x) else { return (Verdict::Fail, NOTHING.into()) };
            total += 1;
            let runs = |curve: &Curve, p: &Point| !curve.exact && p.values.len() < LEAST_SEEDS;
            few |= runs(high, point) || runs(low, other);
            let stands = stands(point, other, or_equal);
            kept += usize::from(stands == Verdict::Pass);
            reversed |= stands == Verdict::Fail;
            if stands != Verdict::Pass {
                let [a, b] = [point, other].map(|p| with_half(&p.y, &high.axes.unit));
                words.push(format!("{} {a} against {} {b} at {}", high.name, low.name, high.axes.place(point.x)));
            }
        }
    }
    let wanted = if whole { (total * 9).div_ceil(10) } else { total };
    let verdict = match () {
        () if few => Verdict::Undecided,
        () if kept >= wanted => Verdict::Pass,
        () if reversed => Verdict::Fail,
        () => Verdict::Undecided,
    };
    let mut measured = match words.len() {
        0 if total == 1 => "at its one point".into(),
        0 => format!("at all {total} points"),
        n if n <= 3 => format!("at {kept} of {total} points; not {}", words.join("; ")),
        n => format!("at {kept} of {total} points; not {}; and {} more", words[..3].join("; "), n - 3),
    };
    if few {
        measured += &format!("; fewer than {LEAST_SEEDS} seeds do not determine an order");
    }
    (verdict, measured)
}

/// Compares two points: undecided if means are in that order and intervals overlap. Two equal values without any scatter
/// fail, since no further seeds will separate them.
fn stands(high: &Point, low: &Point, or_equal: bool) -> Verdict {
    let (a, b) = (&high.y, &low.y);
    match or_equal {
        true if a.mean >= b.mean => Verdict::Pass,
        true if a.hi < b.lo => Verdict::Fail,
        false if a.lo > b.hi => Verdict::Pass,
        false if a.mean < b.mean || a.hi <= b.lo => Verdict::Fail,
        _ => Verdict::Undecided,
    }
}
