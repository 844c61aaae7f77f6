//! What was found of flows between any two hosts: there is no fan-in, no round and no onset, but slowdown.

use super::findings::{Finding, Verdict};
use crate::figures::{count, three};
use crate::{Slowdown, Summary, SummaryRow};

/// Head and sentences of one scheme, whose goodput is `moves`.
pub(super) fn words(row: &SummaryRow, moves: &str) -> (String, String) {
    let hosts = row.point.fan_in + 1;
    let head = match all(row).map(|s| (s, s.p50, s.p99)) {
        Some((_, Some(p50), Some(p99))) => {
            format!("slows flows down {} times in the median, {} times at the 99th percentile", three(p50), three(p99))
        }
        _ => "has no flow that ended".into(),
    };
    let mut says = format!(
        "{hosts} hosts move {moves} together, with {} timeouts, {} drops and {} marks a run.",
        count(row.timeouts),
        count(row.drops),
        count(row.marks)
    );
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

/// The schemes by their mean slowdown, where all have finished.
pub(super) fn comparison(summary: &Summary) -> Option<Finding> {
    let fan_in = summary.rows.iter().map(|row| row.point.fan_in).max()?;
    let there: Vec<(&str, f64)> = summary
        .rows
        .iter()
        .filter(|row| row.point.fan_in == fan_in)
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
    use super::super::sample::rows;
    use super::*;

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
        SummaryRow { slowdown: vec![bucket("all sizes", p99), bucket("to 10 KB", 2.0 * p99)], ..row }
    }

    #[test]
    fn slowdown_is_said_with_the_sizes_that_are_worst_off() {
        let (head, says) = words(&row("newreno", 40.0), "8000 Mbit/s");
        assert_eq!(head, "slows flows down 10.0 times in the median, 40.0 times at the 99th percentile");
        assert_eq!(
            says,
            "16 hosts move 8000 Mbit/s together, with 12 timeouts, 300 drops and 0 marks a run. Worst off are flows of up \
             to 10 KB: 80.0 times at the 99th percentile. 1 flows did not end."
        );
    }

    #[test]
    fn a_run_without_a_finished_flow_says_so() {
        let nothing = SummaryRow { slowdown: Vec::new(), ..row("newreno", 1.0) };
        assert_eq!(words(&nothing, "0 Mbit/s").0, "has no flow that ended");
    }

    #[test]
    fn the_least_and_the_largest_mean_are_compared() {
        let mut summary = crate::summarise(
            "x.toml",
            &[],
            &[],
            &crate::Outcome { runs: Vec::new(), cached: 0, notices: Vec::new(), wall: std::time::Duration::ZERO },
        );
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
