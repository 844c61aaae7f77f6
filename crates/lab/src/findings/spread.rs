//! What was found of flows between any two hosts: there is no fan-in, no round and no onset, but slowdown.

use std::cmp::Ordering;

use super::finding::{Finding, Verdict};
use crate::figures::{count, three, time};
use crate::{Slowdown, Summary, SummaryRow};

/// Head and sentences of one scheme, whose goodput is `moves`; of Poisson flows what is `offered`.
pub(super) fn words(row: &SummaryRow, moves: &str, offered: Option<&str>) -> (String, String) {
    let hosts = row.hosts;
    let slowed = all(row).map(|s| (s, s.p50, s.p99));
    let head = match (took(row), slowed) {
        (Some(took), _) => format!("takes {took}"),
        (None, Some((_, Some(p50), Some(p99)))) => {
            format!("slows flows down {} times in the median, {} times at the 99th percentile", three(p50), three(p99))
        }
        _ => "has no flow that ended".into(),
    };
    let offered = offered.map_or(String::new(), |offered| format!(" of {offered} that they offer"));
    let mut says = format!(
        "{hosts} hosts move {moves}{offered} together, with {} timeouts, {} drops and {} marks a run.",
        count(row.timeouts),
        count(row.drops),
        count(row.marks)
    );
    if row.rounds + row.rounds_open > 0.0
        && let Some((_, Some(p50), Some(p99))) = slowed
    {
        says += &format!(
            " Flows are slowed down {} times in the median, {} times at the 99th percentile.",
            three(p50),
            three(p99)
        );
    }
    let worst = row.slowdown.iter().skip(1).filter(|s| s.p99.is_some());
    let worst = worst.reduce(|a, b| if b.p99 > a.p99 { b } else { a });
    if let Some((sizes, p99)) = worst.and_then(|worst| worst.p99.map(|p99| (worst.sizes, p99))) {
        says += &format!(" Worst off are flows of {}: {} times at the 99th percentile.", words_of(sizes), three(p99));
    }
    if let Some(unfinished) = all(row).map(|s| s.unfinished).filter(|&unfinished| unfinished > 0) {
        says += &format!(" {unfinished} flows did not end.");
    }
    (head, says)
}

/// Goodput of one host, in Mbit/s.
pub(super) fn a_host(row: &SummaryRow) -> f64 {
    row.goodput_mbps.mean / f64::from(row.hosts.max(1))
}

/// The first point with timeouts at which goodput a host is under half of that at a point before, surely, and that point: what moves
/// less between any hosts for another reason has not collapsed.
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

/// How long what is one round takes, a shuffle or a job: the mean over seeds.
fn took(row: &SummaryRow) -> Option<String> {
    let least = if row.qct_ms.at_least.is_some() { "at least " } else { "" };
    row.qct_ms.mean.map(|mean| format!("{least}{}", time(mean)))
}

/// The schemes by the time that they take, or by their mean slowdown, where all have finished.
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
            head: format!("{} is done first", first.scheme),
            says: format!("It takes {least} on average, and {most} under {}.", last.scheme),
        });
    }
    let there: Vec<(&str, f64)> = summary
        .rows
        .iter()
        .filter(|row| row.place == place)
        .filter_map(|row| all(row)?.mean.map(|mean| (row.scheme.as_str(), mean)))
        .collect();
    let best = there.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a })?;
    let worst = there.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    (there.len() > 1).then(|| Finding {
        scheme: None,
        verdict: Verdict::Overall,
        head: format!("flows are slowed down least under {}", best.0),
        says: format!(
            "Flows take {} times as long on average as alone in the network under {}, and {} times under {}.",
            three(best.1),
            best.0,
            three(worst.1),
            worst.0
        ),
    })
}

/// All sizes together.
fn all(row: &SummaryRow) -> Option<&Slowdown> {
    row.slowdown.first()
}

/// `to 10 KB` as it stands in a sentence.
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
    fn slowdown_is_said_with_the_sizes_that_are_worst_off() {
        let (head, says) = words(&row("newreno", 40.0), "8000 Mbit/s", None);
        assert_eq!(head, "slows flows down 10.0 times in the median, 40.0 times at the 99th percentile");
        assert_eq!(
            says,
            "16 hosts move 8000 Mbit/s together, with 12 timeouts, 300 drops and 0 marks a run. Worst off are flows of up \
             to 10 KB: 80.0 times at the 99th percentile. 1 flows did not end."
        );
    }

    #[test]
    fn a_shuffle_and_a_job_say_how_long_they_take() {
        let mut shuffle = row("newreno", 40.0);
        (shuffle.rounds, shuffle.qct_ms.mean) = (1.0, Some(2_310.0));
        let (head, says) = words(&shuffle, "8000 Mbit/s", None);
        assert_eq!(head, "takes 2.31 s");
        assert!(says.contains(" Flows are slowed down 10.0 times in the median, 40.0 times"), "{says}");
        shuffle.qct_ms.at_least = Some("p50");
        assert_eq!(words(&shuffle, "8000 Mbit/s", None).0, "takes at least 2.31 s");
    }

    #[test]
    fn a_shuffle_that_moves_a_fraction_a_host_with_timeouts_collapses() {
        let at = |hosts, mean: f64, timeouts| {
            let goodput_mbps = crate::stats::Interval { mean, lo: mean, hi: mean };
            SummaryRow { hosts, goodput_mbps, timeouts, ..row("newreno", 1.0) }
        };
        let [well, low, quiet] = [at(16, 982_000.0, 0.0), at(32, 9_820.0, 700.0), at(32, 9_820.0, 0.0)];
        assert_eq!(collapse(&[&well, &low]).map(|(best, row)| (best.hosts, row.hosts)), Some((16, 32)));
        assert!(collapse(&[&well, &quiet]).is_none() && collapse(&[&low, &well]).is_none());
    }

    #[test]
    fn poisson_flows_are_told_beside_what_they_offer() {
        let says = words(&row("newreno", 40.0), "800 Mbit/s", Some("900 Mbit/s")).1;
        assert!(says.starts_with("16 hosts move 800 Mbit/s of 900 Mbit/s that they offer together,"), "{says}");
    }

    #[test]
    fn a_run_without_a_finished_flow_says_so() {
        let nothing = SummaryRow { slowdown: Vec::new(), ..row("newreno", 1.0) };
        assert_eq!(words(&nothing, "0 Mbit/s", None).0, "has no flow that ended");
    }

    #[test]
    fn the_least_and_the_largest_mean_are_compared() {
        let mut summary =
            crate::summarise("x.toml", &[], crate::CompareOptions::default(), (&[], &crate::Outcome::default()));
        assert!(comparison(&summary).is_none());
        summary.rows = vec![row("newreno", 40.0), row("dctcp", 4.0)];
        let found = comparison(&summary).map(|f| f.head + ": " + &f.says);
        assert_eq!(
            found.as_deref(),
            Some(
                "flows are slowed down least under dctcp: Flows take 2.00 times as long on average as alone in the network under \
                 dctcp, and 20.0 times under newreno."
            )
        );
    }
}
