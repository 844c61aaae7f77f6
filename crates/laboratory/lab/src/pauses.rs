//! Pauses of lossless ports.

use std::collections::BTreeMap;

use fanin_tables::{PauseRow, RunTables};

use crate::catalogue::figures;
use crate::stats::six_digits;

figures! {
    /// Pauses of all links, at one point.
    #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Pauses {} {
        /// Pauses, mean over seeds.
        count: f64, "count";
        /// Share of the measured time for which a sender's link was paused, mean over senders and seeds. A paused link between switches counts
        /// as one more.
        share: f64, "share";
        /// Links that were paused, mean over seeds.
        links: f64, "count";
        /// Their duration, summed over links, mean over seeds.
        paused_ms: f64, "ms";
        /// The longest pause of any link, over all seeds.
        longest_ms: f64, "ms";
        /// Share of the pauses that began while their cause was paused itself.
        spread_share: f64, "share";
        /// Packets on their way to other ports than the cause that a pause blocked, summed over pauses, mean over seeds.
        blocked_packets: f64, "count";
        /// Port whose queue caused most pauses.
        cause: String, "text";
        /// Share of the pauses that it caused.
        cause_share: f64, "share";
        /// Runs that ended with a cycle of links that wait for one another.
        deadlocked_runs: u64, "count";
        /// The links of one such cycle, in the order in which they wait; empty if there is none.
        deadlock: String, "text";
    }
}

/// Pauses that take at least this share of senders' time impair a cluster.
pub(crate) const HELD_BACK: f64 = 0.1;

/// Duration of pauses per sender, as a share of a run's measured time.
pub fn paused_share(tables: &RunTables, senders: u32) -> f64 {
    let paused: u64 = tables.pauses.iter().map(|row| row.paused_ps).sum();
    paused as f64 / f64::from(senders.max(1)) / tables.totals.measured_ps.max(1) as f64
}

/// The pauses of a point with this many senders; `None` if there were none.
pub(crate) fn pauses(runs: &[&RunTables], senders: u32) -> Option<Pauses> {
    let all = || runs.iter().flat_map(|run| &run.pauses);
    let a_run = |sum: u64| six_digits(sum as f64 / runs.len() as f64);
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    all().for_each(|row| *causes.entry(&row.cause).or_default() += row.pauses);
    let sum = |of: fn(&PauseRow) -> u64| all().map(of).sum::<u64>();
    let count = sum(|row| row.pauses);
    // A pause that began before the measured time counts for its duration only.
    let (cause, most) = causes.into_iter().max_by_key(|(_, pauses)| *pauses)?;
    let links = |run: &RunTables| {
        let mut links: Vec<&str> = run.pauses.iter().map(|row| row.port.as_str()).collect();
        links.sort_unstable();
        links.dedup();
        links.len() as u64
    };
    let ms = |ps: f64| six_digits(ps / 1e9);
    Some(Pauses {
        count: a_run(count),
        share: six_digits(runs.iter().map(|run| paused_share(run, senders)).sum::<f64>() / runs.len() as f64),
        links: a_run(runs.iter().map(|run| links(run)).sum()),
        paused_ms: ms(sum(|row| row.paused_ps) as f64 / runs.len() as f64),
        longest_ms: ms(all().map(|row: &PauseRow| row.longest_ps).max()? as f64),
        spread_share: six_digits(sum(|row| row.spread) as f64 / count.max(1) as f64),
        blocked_packets: a_run(sum(|row| row.blocked_packets)),
        cause: cause.into(),
        cause_share: six_digits(most as f64 / count.max(1) as f64),
        deadlocked_runs: runs.iter().filter(|run| !run.deadlocks.is_empty()).count() as u64,
        deadlock: runs.iter().flat_map(|run| &run.deadlocks).next().map_or(String::new(), |row| row.ports.clone()),
    })
}

#[cfg(test)]
mod tests {
    use fanin_tables::DeadlockRow;

    use super::*;

    #[test]
    fn pauses_count_by_the_time_that_a_sender_loses() {
        let row = |paused_ps| PauseRow { paused_ps, pauses: 1, ..PauseRow::default() };
        let mut tables = RunTables { pauses: vec![row(3_000), row(1_000)], ..RunTables::default() };
        tables.totals.measured_ps = 10_000;
        assert_eq!(paused_share(&tables, 4), 0.1, "4 ns of pauses over four senders in 10 ns");
        assert_eq!(paused_share(&RunTables::default(), 4), 0.0);
    }

    #[test]
    fn pauses_are_means_over_seeds() {
        let row = |port: &str, cause: &str, pauses, paused_ps, longest_ps| PauseRow {
            port: port.into(),
            cause: cause.into(),
            pauses,
            paused_ps,
            longest_ps,
            spread: pauses / 2,
            blocked_packets: 10 * pauses,
            ..PauseRow::default()
        };
        let run = |pauses| RunTables { pauses, ..RunTables::default() };
        let one = run(vec![
            row("a>s", "s>c", 3, 6_000_000_000, 4_000_000_000),
            row("b>s", "s>d", 1, 1_000_000_000, 1_000_000_000),
        ]);
        let found = pauses(&[&one, &run(Vec::new())], 4).unwrap();
        assert_eq!((found.count, found.links, found.paused_ms, found.longest_ms), (2.0, 1.0, 3.5, 4.0));
        assert_eq!((found.cause.as_str(), found.cause_share), ("s>c", 0.75));
        assert_eq!((found.spread_share, found.blocked_packets), (0.25, 20.0));
        assert_eq!((found.deadlocked_runs, found.deadlock.as_str()), (0, ""));
        assert_eq!(pauses(&[&run(Vec::new())], 4), None);
        let deadlocks = vec![DeadlockRow { ports: "a>b b>a".into(), ..DeadlockRow::default() }];
        let found = pauses(&[&one, &RunTables { deadlocks, ..one.clone() }], 4).unwrap();
        assert_eq!((found.deadlocked_runs, found.deadlock.as_str()), (1, "a>b b>a"));
    }
}
