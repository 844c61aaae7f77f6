//! The finding that compares all schemes: which sustains the most, and best against worst.

use super::finding::Finding;
use super::judgement::judged;
use super::rate::rate;
use super::verdict::Verdict;
use crate::figures::{capital, count, three, time};
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
        let holds = |row: &&SummaryRow| judged(row).verdict == Verdict::Sustains;
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
        own.all(|finding| finding.verdict == Verdict::Sustains)
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

/// The best and the worst scheme at a point: by goodput, or by p99 if the load is given.
fn best_against_worst(summary: &Summary, place: usize, line_mbps: f64, axis: &Axis) -> Option<String> {
    let there = || summary.rows.iter().filter(|row| row.place == place);
    if there().any(|row| row.open_loop) {
        return by_p99(there().collect(), axis);
    }
    let better = |a: &SummaryRow, b: &SummaryRow| a.goodput_mbps.mean > b.goodput_mbps.mean;
    let best = there().reduce(|a, b| if better(b, a) { b } else { a })?;
    let worst = there().reduce(|a, b| if better(a, b) { b } else { a })?;
    let mut point = capital(&axis.at(&axis.tick(best)));
    if !axis.curve(best).is_empty() {
        point += &format!(" and {}", axis.curve(best));
    }
    let mut says = format!("{point}, {} reaches {}", best.scheme, rate(best.goodput_mbps.mean, line_mbps));
    let factor = best.goodput_mbps.mean / worst.goodput_mbps.mean;
    let alone = best.seeds.min(worst.seeds) < 2;
    says += &match factor {
        _ if best.goodput_mbps.mean == worst.goodput_mbps.mean => "; the others reach the same".into(),
        _ if !alone && best.goodput_mbps.lo <= worst.goodput_mbps.hi => {
            "; the others are equal within their 95 % CIs".into()
        }
        f if f.is_finite() => {
            format!(", {}× {}'s{}", three(f), worst.scheme, if alone { ", with one seed" } else { "" })
        }
        _ => format!("; {} delivers nothing", worst.scheme),
    };
    let bounds = [best, worst].iter().all(|row| row.qct_ms.is_bound("p99"));
    if let (Some(best_p99), Some(worst_p99)) = (p99(best), p99(worst))
        && factor >= 1.05
        && !bounds
    {
        says += &format!("; its p99 round time is {best_p99}, against {worst_p99}");
    }
    Some(says + ".")
}

/// The p99 round time in words.
fn p99(row: &SummaryRow) -> Option<String> {
    let least = if row.qct_ms.is_bound("p99") { "at least " } else { "" };
    row.qct_ms.p99.map(|p99| format!("{least}{}", time(p99)))
}

/// The smallest and the largest p99 of requests that start at times of their own: all schemes have the same load.
fn by_p99(there: Vec<&SummaryRow>, axis: &Axis) -> Option<String> {
    let of = |row: &&&SummaryRow| row.qct_ms.p99.unwrap_or(f64::INFINITY);
    let best = there.iter().min_by(|a, b| of(a).total_cmp(&of(b)))?;
    let worst = there.iter().max_by(|a, b| of(a).total_cmp(&of(b)))?;
    let place = capital(&axis.at(&axis.tick(best)));
    let of = |row: &SummaryRow| {
        let timeouts = count(row.a_round(row.timeouts));
        Some(format!("{}, with {timeouts} timeouts a request", p99(row)?))
    };
    let Some(least) = of(best) else { return Some(format!("{place}, no request ended.")) };
    let most = of(worst).unwrap_or_else(|| "unknown: no request ended".into());
    Some(format!("{place}, {}'s p99 request time is {least}; {}'s is {most}.", best.scheme, worst.scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::findings;
    use crate::findings::sample::{COLLAPSE, Point, found, summed, variants};

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

    fn compared(change: impl Fn(&mut crate::SummaryRow)) -> String {
        let point = |mbps| (8, mbps, 20.0, 0.0, 0.0, 0.0);
        let mut summary = summed(&[("newreno", None, &[point(628.0)]), ("dctcp", None, &[point(658.0)])]);
        summary.rows.iter_mut().for_each(change);
        findings(&variants(&["newreno", "dctcp"]), &summary).remove(0).says
    }

    #[test]
    fn equal_are_only_schemes_whose_intervals_overlap() {
        let wide = |row: &mut crate::SummaryRow| (row.goodput_mbps.lo, row.goodput_mbps.hi) = (600.0, 700.0);
        assert!(compared(wide).ends_with("; the others are equal within their 95 % CIs."), "{}", compared(wide));
        assert!(compared(|_| ()).ends_with(" reaches 658 Mbit/s, 1.05× newreno's."), "{}", compared(|_| ()));
        let alone = compared(|row| row.seeds = 1);
        assert!(alone.ends_with(", 1.05× newreno's, with one seed."), "{alone}");
    }

    #[test]
    fn two_lower_bounds_are_not_compared() {
        let bound = compared(|row| {
            row.qct_ms.at_least = Some("p50");
            row.goodput_mbps.mean /= if row.scheme == "newreno" { 2.0 } else { 1.0 };
        });
        assert!(!bound.contains("against"), "{bound}");
    }

    #[test]
    fn requests_with_their_own_start_times_are_compared_by_p99() {
        let says = compared(|row| {
            (row.open_loop, row.timeouts) = (true, if row.scheme == "newreno" { 64.0 } else { 0.0 });
            row.qct_ms.p99 = Some(if row.scheme == "newreno" { 300.0 } else { 30.0 });
        });
        let wanted = "With 8 senders, dctcp's p99 request time is 30.0 ms, with 0 timeouts a request; newreno's is 300 ms, with 6.4 timeouts a request.";
        assert_eq!(says, wanted);
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
        assert!(alike[0].says.ends_with("; the others reach the same."), "{}", alike[0].says);
    }
}
