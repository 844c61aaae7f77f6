//! The finding that compares all schemes: which sustains the most, and best against worst.

use super::finding::{Finding, Verdict};
use super::judgement::{State, judged};
use super::rate::rate;
use crate::figures::{capital, three, time};
use crate::{Axis, Summary, SummaryRow};

/// Compares how far the schemes sustain their load along the axis, and best against worst at the last point that any sustains;
/// `found` has the findings of each curve.
pub(super) fn comparison(summary: &Summary, found: &[Finding], line_mbps: f64, axis: &Axis) -> Option<Finding> {
    let labels: Vec<&String> = summary.onset.0.iter().map(|(label, _)| label).collect();
    let complete = |n: usize| summary.rows.iter().filter(|row| row.place == n).count() == labels.len();
    let mut places: Vec<usize> = summary.rows.iter().map(|row| row.place).filter(|&n| complete(n)).collect();
    places.sort_unstable();
    places.dedup();
    let (&first, &last) = (places.first()?, places.last().filter(|_| labels.len() > 1)?);
    // Points of several curves have no common order.
    let one_curve = summary.rows.first().is_some_and(|row| axis.curve(row).is_empty());
    let far = |label: &String| {
        let own = |place: &usize| summary.rows.iter().find(|row| row.place == *place && row.scheme == *label);
        let holds = |row: &&SummaryRow| judged(row).state == State::Holds;
        places.iter().map_while(own).take_while(holds).last()
    };
    let reached: Vec<(&String, Option<&SummaryRow>)> = labels.iter().map(|label| (*label, far(label))).collect();
    let farthest = reached.iter().filter_map(|(_, row)| row.map(|row| row.place)).max();
    let place = if one_curve { farthest.unwrap_or(first) } else { last };
    let head = match (summary.rows.iter().all(|row| row.place == place), one_curve) {
        (true, _) => format!("one {} tried", axis.noun()),
        (_, true) => how_far(&reached, last, axis),
        (_, false) => how_many(&labels, found),
    };
    let says = best_against_worst(summary, place, line_mbps, axis)?;
    Some(Finding { scheme: None, verdict: Verdict::Overall, head, says })
}

/// Counts the schemes that sustain the whole sweep.
fn how_many(labels: &[&String], found: &[Finding]) -> String {
    let holds = |label: &String| {
        let mut own = found.iter().filter(|finding| finding.scheme.as_ref() == Some(label));
        own.all(|finding| finding.verdict == Verdict::Holds)
    };
    match (labels.iter().filter(|label| holds(label)).count(), labels.len()) {
        (0, _) => "no scheme sustains the whole sweep".into(),
        (held, all) if held == all => "every scheme sustains the whole sweep".into(),
        (1, all) => format!("one of {all} schemes sustains the whole sweep"),
        (held, all) => format!("{held} of {all} schemes sustain the whole sweep"),
    }
}

/// Names the schemes that sustain the most, and the next one.
fn how_far(reached: &[(&String, Option<&SummaryRow>)], last: usize, axis: &Axis) -> String {
    let place = |row: Option<&SummaryRow>| row.map(|row| row.place);
    let Some(most) = reached.iter().filter_map(|(_, row)| *row).max_by_key(|row| row.place) else {
        return format!("no scheme sustains the first {}", axis.noun());
    };
    let (best, others): (Vec<_>, Vec<_>) = reached.iter().partition(|(_, row)| place(*row) == Some(most.place));
    let names = best.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>().join(", ");
    let verb = if best.len() == 1 { "sustains" } else { "sustain" };
    let end = if most.place == last { format!(", the {} {} tried", axis.last(), axis.noun()) } else { String::new() };
    let second = others.iter().max_by_key(|(_, row)| place(*row));
    let than = match second {
        None => return format!("every scheme sustains {}{end}", axis.tick(most)),
        Some((label, None)) => format!("; {label} sustains none"),
        Some((label, Some(row))) => {
            let factor = axis.number(most).zip(axis.number(row)).filter(|(_, less)| axis.doubles() && *less > 0.0);
            let next = axis.tick(row);
            match factor {
                Some((more, less)) => format!(": {}× {label}'s {next}", three(more / less)),
                None => format!("; next is {label} with {next}"),
            }
        }
    };
    format!("{names} {verb} {}{end}{than}", axis.tick(most))
}

/// The best and the worst goodput at a point.
fn best_against_worst(summary: &Summary, place: usize, line_mbps: f64, axis: &Axis) -> Option<String> {
    let there = || summary.rows.iter().filter(|row| row.place == place);
    let better = |a: &SummaryRow, b: &SummaryRow| a.goodput_mbps.mean > b.goodput_mbps.mean;
    let best = there().reduce(|a, b| if better(b, a) { b } else { a })?;
    let worst = there().reduce(|a, b| if better(a, b) { b } else { a })?;
    let mut point = capital(&axis.at(&axis.tick(best)));
    if !axis.curve(best).is_empty() {
        point += &format!(" and {}", axis.curve(best));
    }
    let mut says = format!("{point}, {} reaches {}", best.scheme, rate(best.goodput_mbps.mean, line_mbps));
    let factor = best.goodput_mbps.mean / worst.goodput_mbps.mean;
    says += &match factor {
        f if f < 1.05 || best.goodput_mbps.lo <= worst.goodput_mbps.hi => {
            "; the others are equal within their 95 % CIs".into()
        }
        f if f.is_finite() => format!(", {}× {}'s", three(f), worst.scheme),
        _ => format!("; {} delivers nothing", worst.scheme),
    };
    let p99 = |row: &SummaryRow| {
        let least = if row.qct_ms.is_bound("p99") { "at least " } else { "" };
        row.qct_ms.p99.map(|p99| format!("{least}{}", time(p99)))
    };
    if let (Some(best_p99), Some(worst_p99)) = (p99(best), p99(worst))
        && factor >= 1.05
    {
        says += &format!("; its p99 round time is {best_p99}, against {worst_p99}");
    }
    Some(says + ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::sample::{COLLAPSE, Point, found};

    #[test]
    fn compares_schemes_by_what_they_sustain() {
        // At 64, where both have collapsed, the worse one moves twenty times as much.
        let low = |fan_in, mbps, mean| (fan_in, mbps, mean, 2.0, 9.0, 0.0);
        let worse: &[Point] = &[(8, 905.0, 20.0, 0.0, 0.0, 0.0), low(32, 300.0, 240.0), low(64, 400.0, 240.0)];
        let better: &[Point] =
            &[(8, 905.0, 20.0, 0.0, 0.0, 0.0), (32, 930.0, 70.0, 0.0, 0.0, 0.0), low(64, 20.0, 210.0)];
        let all = found(&[("cubic", Some(32), worse), ("dctcp", Some(64), better)], &[]);
        assert_eq!(all[0].head, "dctcp sustains 32: 4.00× cubic's 8");
        assert!(
            all[0].says.starts_with("With 32 senders, dctcp reaches 930 Mbit/s, 3.10× cubic's;"),
            "{}",
            all[0].says
        );
    }

    #[test]
    fn compares_schemes_at_points_that_all_finished() {
        let well: &[Point] =
            &[(8, 905.0, 20.0, 0.0, 0.0, 0.0), (16, 901.0, 40.0, 0.0, 0.0, 0.0), (32, 900.0, 80.0, 0.0, 0.0, 0.0)];
        let all = found(&[("newreno", Some(16), COLLAPSE), ("dctcp", None, well)], &[]);
        assert_eq!(
            (all[0].verdict, all[0].head.as_str()),
            (Verdict::Overall, "dctcp sustains 16, the largest fan-in tried: 2.00× newreno's 8")
        );
        assert!(all[0].says.starts_with("With 16 senders, dctcp reaches 901 Mbit/s, 4.25× newreno's; "));
        assert!(all[0].says.ends_with(" 80.0 ms, against 406 ms."));
        let alone = found(&[("newreno", None, &well[..1]), ("dctcp", None, &well[..1])], &[]);
        assert_eq!(alone[0].head, "one fan-in tried");
        let alike = found(&[("newreno", None, well), ("dctcp", None, well)], &[]);
        assert_eq!(alike[0].head, "every scheme sustains 32, the largest fan-in tried");
        assert!(alike[0].says.ends_with("; the others are equal within their 95 % CIs."), "{}", alike[0].says);
    }
}
