//! Links that lossless ports paused in one run of a scheme: which ones, because of which port, and for how long.

use std::collections::BTreeMap;

use fanin_lab::figures::time;
use fanin_lab::place_of;
use fanin_lab::stats::six_digits;
use fanin_spec::RunSpec;
use fanin_tables::{PauseRow, RunTables};

/// Pauses of a whole run by link and cause.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct PausedLinks {
    scheme: String,
    /// The sweep point, in words.
    at: String,
    seed: u64,
    /// A description in words.
    says: String,
    /// In descending order of their pauses' duration; at most 24.
    links: Vec<PausedLink>,
    /// Number of links and causes that are not shown.
    left_out: usize,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct PausedLink {
    /// The node at the sending end.
    sender: String,
    /// The switch that paused it.
    by: String,
    /// The port whose queue caused it.
    cause: String,
    pauses: u64,
    paused_ms: f64,
    longest_ms: f64,
    /// Share of the run for which these pauses lasted.
    share: f64,
    /// Pauses that began while their cause was paused itself.
    spread: u64,
    /// Packets to other ports that they blocked.
    blocked_packets: u64,
}

/// Maximum number of links shown.
const SHOWN: usize = 24;

impl PausedLinks {
    /// `None` if no link was paused.
    pub fn new(spec: &RunSpec, tables: &RunTables) -> Option<PausedLinks> {
        let mut by_link: BTreeMap<[&str; 2], Vec<&PauseRow>> = BTreeMap::new();
        for row in &tables.pauses {
            by_link.entry([&row.port, &row.cause]).or_default().push(row);
        }
        let run_ps = tables.totals.measured_ps.max(1) as f64;
        let link = |([port, cause], rows): ([&str; 2], Vec<&PauseRow>)| {
            let sum = |of: fn(&PauseRow) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
            let (sender, by) = port.split_once('>').unwrap_or((port, ""));
            let (paused_ps, longest_ps) = (sum(|row| row.paused_ps), rows.iter().map(|row| row.longest_ps).max());
            PausedLink {
                sender: sender.into(),
                by: by.into(),
                cause: cause.into(),
                pauses: sum(|row| row.pauses),
                paused_ms: six_digits(paused_ps as f64 / 1e9),
                longest_ms: six_digits(longest_ps.unwrap_or(0) as f64 / 1e9),
                share: six_digits(paused_ps as f64 / run_ps),
                spread: sum(|row| row.spread),
                blocked_packets: sum(|row| row.blocked_packets),
            }
        };
        let mut links: Vec<PausedLink> = by_link.into_iter().map(link).collect();
        links.sort_by(|a, b| b.paused_ms.total_cmp(&a.paused_ms));
        let says = in_words(&links, run_ps / 1e9)?;
        let left_out = links.len().saturating_sub(SHOWN);
        links.truncate(SHOWN);
        Some(PausedLinks { scheme: spec.label.clone(), at: place_of(spec), seed: spec.seed, says, links, left_out })
    }
}

/// The number of pauses, the switches that sent them, their main cause, and the link that was paused longest.
fn in_words(links: &[PausedLink], run_ms: f64) -> Option<String> {
    let longest = links.first()?;
    let mut causes: BTreeMap<&str, f64> = BTreeMap::new();
    links.iter().for_each(|link| *causes.entry(&link.cause).or_default() += link.paused_ms);
    let (cause, of_cause) = causes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let distinct = |of: fn(&PausedLink) -> [&str; 2]| {
        let mut all: Vec<_> = links.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    let many = |n: usize, noun: &str, plural: &str| format!("{n} {}", if n == 1 { noun } else { plural });
    let switches = many(distinct(|link| [&link.by, ""]), "switch", "switches");
    let paused = many(distinct(|link| [&link.sender, &link.by]), "link", "links");
    let pauses: u64 = links.iter().map(|link| link.pauses).sum();
    let all: f64 = links.iter().map(|link| link.paused_ms).sum();
    let share = 100.0 * of_cause / all.max(f64::MIN_POSITIVE);
    Some(format!(
        "{switches} paused {paused} {} times, for {} in all. The queue of port {cause} caused {share:.0} % of that time. \
         {} was paused longest, for {} of {}.",
        pauses,
        time(all),
        longest.sender,
        time(longest.paused_ms),
        time(run_ms),
    ))
}

#[cfg(test)]
mod tests {
    use fanin_tables::Totals;

    use super::*;
    use crate::sample::run;

    fn row(port: &str, cause: &str, pauses: u64, paused_us: u64) -> PauseRow {
        let paused_ps = paused_us * 1_000_000;
        PauseRow {
            port: port.into(),
            cause: cause.into(),
            pauses,
            paused_ps,
            longest_ps: paused_ps / 2,
            ..PauseRow::default()
        }
    }

    fn links(pauses: Vec<PauseRow>) -> Option<PausedLinks> {
        let totals = Totals { measured_ps: 1_000_000_000, ..Totals::default() };
        PausedLinks::new(&run("newreno", 16, 1), &RunTables { pauses, totals, ..RunTables::default() })
    }

    #[test]
    fn links_are_sorted_by_duration_with_classes_together() {
        let found = links(vec![
            row("server1>switch", "switch>client", 1, 10),
            row("server2>switch", "switch>client", 2, 50),
            row("server2>switch", "switch>client", 1, 10),
            row("spine0>leaf0", "leaf0>server9", 1, 30),
        ])
        .expect("pauses");
        let first = &found.links[0];
        assert_eq!((first.sender.as_str(), first.by.as_str(), first.pauses), ("server2", "switch", 3));
        assert_eq!((first.paused_ms, first.longest_ms, first.share), (0.06, 0.025, 0.06));
        assert_eq!(
            found.links.iter().map(|link| link.sender.as_str()).collect::<Vec<_>>(),
            ["server2", "spine0", "server1"]
        );
        assert_eq!(
            found.says,
            "2 switches paused 3 links 5 times, for 100 us in all. The queue of port switch>client caused 70 % of that time. \
             server2 was paused longest, for 60.0 us of 1.00 ms."
        );
        assert_eq!(found.left_out, 0);
    }

    #[test]
    fn only_the_longest_are_shown() {
        let found = links((0..30).map(|i| row(&format!("server{i}>switch"), "switch>client", 1, i + 1)).collect());
        let found = found.expect("pauses");
        assert_eq!((found.links.len(), found.left_out, found.links[0].sender.as_str()), (24, 6, "server29"));
    }

    #[test]
    fn runs_without_pauses_have_none() {
        assert_eq!(links(Vec::new()), None);
    }
}
