//! Findings of any-to-any workloads, which have slowdowns instead of rounds and a fan-in.

use std::cmp::Ordering;

use super::finding::Finding;
use super::verdict::Verdict;
use super::why::paused;
use crate::figures::{count, three, time};
use crate::{Slowdown, Summary, SummaryRow};

/// Headline and sentences of one scheme with goodput `moves`, and `offered` load for Poisson flows.
pub(super) fn words(row: &SummaryRow, moves: &str, offered: Option<&str>) -> (String, String) {
    let hosts = row.hosts;
    let slowed = all(row).map(|s| (s, s.p50, s.p99));
    let head = match (took(row), slowed) {
        (Some(took), _) => format!("takes {took}"),
        (None, Some((_, Some(p50), Some(p99)))) => {
            format!("has a median slowdown of {}×, p99 {}×", three(p50), three(p99))
        }
        _ => "has no finished flow".into(),
    };
    let offered = offered.map_or(String::new(), |offered| format!(" of an offered {offered}"));
    let ideal = row.ideal_mbps.filter(|_| row.job_ms.is_some()).map_or(String::new(), |ideal| {
        format!(", {} % of what the busiest link allows", three(100.0 * row.goodput_mbps.mean / ideal))
    });
    let [timeouts, drops, marks] = [row.timeouts, row.drops, row.marks].map(count);
    let mut says = format!(
        "{hosts} hosts reach {moves}{offered}{ideal}, with {timeouts} timeouts, {drops} drops and {marks} marks per run."
    );
    if row.rounds + row.rounds_open > 0.0
        && let Some((_, Some(p50), Some(p99))) = slowed
    {
        says += &format!(" The median slowdown of flows is {}×, p99 {}×.", three(p50), three(p99));
    }
    let worst = row.slowdown.iter().skip(1).filter(|s| s.p99.is_some());
    let worst = worst.reduce(|a, b| if b.p99 > a.p99 { b } else { a });
    if let Some((sizes, p99)) = worst.and_then(|worst| worst.p99.map(|p99| (worst.sizes, p99))) {
        says += &format!(" Flows of {} are slowed most: p99 {}×.", words_of(sizes), three(p99));
    }
    if let Some(unfinished) = all(row).map(|s| s.unfinished).filter(|&unfinished| unfinished > 0) {
        says += &format!(" {unfinished} flows did not finish.");
    }
    (head, says + &paused(row))
}

/// Goodput per host in Mbit/s.
pub(super) fn a_host(row: &SummaryRow) -> f64 {
    row.goodput_mbps.mean / f64::from(row.hosts.max(1))
}

/// An earlier point, and the first point with timeouts whose goodput per host is certainly under half of it. Less goodput for
/// other reasons is not a collapse.
pub(super) fn collapse<'a>(rows: &[&'a SummaryRow]) -> Option<(&'a SummaryRow, &'a SummaryRow)> {
    let mut best: Option<&SummaryRow> = None;
    for &row in rows {
        if let Some(best) = best {
            let surely = row.goodput_mbps.hi / f64::from(row.hosts.max(1)) < a_host(best) / 2.0;
            if surely && row.timeouts > 0.0 {
                return Some((best, row));
            }
        }
        best = best.filter(|best| a_host(best) >= a_host(row)).or(Some(row));
    }
    None
}

/// Mean duration of a shuffle or job, which is one round.
fn took(row: &SummaryRow) -> Option<String> {
    let least = if row.qct_ms.at_least.is_some() { "at least " } else { "" };
    row.qct_ms.mean.map(|mean| format!("{least}{}", time(mean)))
}

/// Compares the schemes by their durations if all have finished, or by mean slowdown.
pub(super) fn comparison(summary: &Summary) -> Option<Finding> {
    let place = summary.rows.iter().map(|row| row.place).max()?;
    let at_once = |row: &&SummaryRow| row.place == place && row.qct_ms.mean.is_some();
    let mut timed: Vec<&SummaryRow> = summary.rows.iter().filter(at_once).collect();
    timed.sort_by(|a, b| a.qct_ms.mean.partial_cmp(&b.qct_ms.mean).unwrap_or(Ordering::Equal));
    if let [first, .., last] = timed.as_slice()
        && let (Some(least), Some(most)) = (took(first), took(last))
    {
        return Some(Finding {
            scheme: None,
            verdict: Verdict::Overall,
            head: format!("{} finishes first", first.scheme),
            says: format!("It takes {least} on average; {} takes {most}.", last.scheme),
        });
    }
    let there: Vec<(&str, f64)> = summary
        .rows
        .iter()
        .filter(|row| row.place == place)
        .filter_map(|row| all(row)?.mean.map(|mean| (row.scheme.as_str(), mean)))
        .collect();
    let best = there.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a })?;
    // With equal means, name another scheme than the best.
    let worst = there.iter().copied().reduce(|a, b| if b.1 >= a.1 { b } else { a })?;
    (there.len() > 1).then(|| Finding {
        scheme: None,
        verdict: Verdict::Overall,
        head: format!("{} slows flows least", best.0),
        says: format!("The mean slowdown of flows is {}×, with {} {}×.", three(best.1), worst.0, three(worst.1)),
    })
}

/// All sizes together.
fn all(row: &SummaryRow) -> Option<&Slowdown> {
    row.slowdown.first()
}

/// `to 10 KB` as used in a sentence.
fn words_of(sizes: &str) -> String {
    sizes.strip_prefix("to ").map_or(sizes.into(), |most| format!("up to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::sample::rows;

    fn row(scheme: &str, p99: f64) -> SummaryRow {
        let bucket = |sizes, p99: f64| Slowdown {
            sizes,
            over_bytes: 0,
            up_to_bytes: None,
            flows: 9,
            unfinished: 1,
            mean: Some(p99 / 2.0),
            p50: Some(p99 / 4.0),
            p99: Some(p99),
        };
        let row = rows(scheme, &[(15, 8_000.0, 0.0, 1.2, 30.0, 0.0)]).remove(0);
        let slowdown = vec![bucket("all sizes", p99), bucket("to 10 KB", 2.0 * p99)];
        SummaryRow { slowdown, rounds_open: 0.0, ..row }
    }

    #[test]
    fn reports_the_slowdown_of_the_worst_sizes() {
        let (head, says) = words(&row("newreno", 40.0), "8000 Mbit/s", None);
        assert_eq!(head, "has a median slowdown of 10.0×, p99 40.0×");
        assert_eq!(
            says,
            "16 hosts reach 8000 Mbit/s, with 12 timeouts, 300 drops and 0 marks per run. Flows of up to 10 KB are slowed most: p99 \
             80.0×. 1 flows did not finish."
        );
    }

    #[test]
    fn reports_durations_of_shuffles_and_jobs() {
        let mut shuffle = row("newreno", 40.0);
        (shuffle.rounds, shuffle.qct_ms.mean) = (1.0, Some(2_310.0));
        let (head, says) = words(&shuffle, "8000 Mbit/s", None);
        assert_eq!(head, "takes 2.31 s");
        assert!(says.contains(" The median slowdown of flows is 10.0×, p99 40.0×."), "{says}");
        shuffle.qct_ms.at_least = Some("p50");
        assert_eq!(words(&shuffle, "8000 Mbit/s", None).0, "takes at least 2.31 s");
    }

    #[test]
    fn slow_shuffle_with_timeouts_is_a_collapse() {
        let at = |hosts, mean: f64, timeouts| {
            let goodput_mbps = crate::stats::Interval { mean, lo: mean, hi: mean };
            SummaryRow { hosts, goodput_mbps, timeouts, ..row("newreno", 1.0) }
        };
        let [well, low, quiet] = [at(16, 982_000.0, 0.0), at(32, 9_820.0, 700.0), at(32, 9_820.0, 0.0)];
        assert_eq!(collapse(&[&well, &low]).map(|(best, row)| (best.hosts, row.hosts)), Some((16, 32)));
        assert!(collapse(&[&well, &quiet]).is_none() && collapse(&[&low, &well]).is_none());
    }

    #[test]
    fn reports_poisson_flows_with_their_offered_load() {
        let says = words(&row("newreno", 40.0), "800 Mbit/s", Some("900 Mbit/s")).1;
        assert!(says.starts_with("16 hosts reach 800 Mbit/s of an offered 900 Mbit/s,"), "{says}");
    }

    #[test]
    fn reports_runs_without_a_finished_flow() {
        let nothing = SummaryRow { slowdown: Vec::new(), ..row("newreno", 1.0) };
        assert_eq!(words(&nothing, "0 Mbit/s", None).0, "has no finished flow");
    }

    #[test]
    fn names_the_scheme_with_the_smallest_slowdown() {
        let mut summary = crate::summarise(
            "x.toml",
            &[],
            crate::CompareOptions::default(),
            crate::Runs::of(&[], &crate::Outcome::default()),
        );
        assert!(comparison(&summary).is_none());
        summary.rows = vec![row("newreno", 40.0), row("dctcp", 4.0)];
        let found = comparison(&summary).map(|f| f.head + ": " + &f.says);
        assert_eq!(
            found.as_deref(),
            Some("dctcp slows flows least: The mean slowdown of flows is 2.00×, with newreno 20.0×.")
        );
    }
}
