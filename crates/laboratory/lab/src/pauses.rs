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
        /// Share of the measured time for which a sender's link was paused, mean over senders and seeds.
        share: f64, "share";
        /// Share of the measured time for which the link between switches was paused that was so the longest, mean over seeds.
        switch_share: f64, "share";
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

/// Share of a run's measured time for which each paused link was paused, of hosts or between switches: that of its class with most.
fn shares(tables: &RunTables, of_hosts: bool) -> Vec<f64> {
    let mut by_class: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    for row in tables.pauses.iter().filter(|row| (row.tier == "host up") == of_hosts) {
        *by_class.entry((&row.port, row.class)).or_default() += row.paused_ps;
    }
    let mut by_link: BTreeMap<&str, u64> = BTreeMap::new();
    for ((port, _), paused) in by_class {
        let most = by_link.entry(port).or_default();
        *most = paused.max(*most);
    }
    by_link.into_values().map(|paused| paused as f64 / tables.totals.measured_ps.max(1) as f64).collect()
}

/// Share of a run's measured time for which a sender's link was paused, mean over senders, or over their links if more were paused.
pub fn paused_share(tables: &RunTables, senders: u32) -> f64 {
    let shares = shares(tables, true);
    shares.iter().sum::<f64>() / shares.len().max(senders as usize).max(1) as f64
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
    let mean =
        |of: &dyn Fn(&RunTables) -> f64| six_digits(runs.iter().map(|run| of(run)).sum::<f64>() / runs.len() as f64);
    Some(Pauses {
        count: a_run(count),
        share: mean(&|run| paused_share(run, senders)),
        switch_share: mean(&|run| shares(run, false).into_iter().fold(0.0, f64::max)),
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
        let row = |port: &str, tier: &str, class, paused_ps| PauseRow {
            port: port.into(),
            tier: tier.into(),
            class,
            paused_ps,
            pauses: 1,
            ..PauseRow::default()
        };
        // Two causes pause host a, one of them while its other class is paused as well.
        let hosts = [("a>s", 3, 2_000), ("a>s", 3, 1_000), ("a>s", 4, 500), ("b>s", 3, 1_000)];
        let mut pauses: Vec<PauseRow> = hosts.map(|(port, class, ps)| row(port, "host up", class, ps)).into();
        pauses.extend([("s>t", 9_000), ("t>s", 4_000)].map(|(port, ps)| row(port, "leaf up", 3, ps)));
        let mut tables = RunTables { pauses, ..RunTables::default() };
        tables.totals.measured_ps = 10_000;
        assert_eq!(paused_share(&tables, 4), 0.1, "4 ns of pauses over four senders in 10 ns");
        assert_eq!(paused_share(&tables, 1), 0.2, "over both paused links");
        assert_eq!(super::pauses(&[&tables], 4).map(|found| (found.share, found.switch_share)), Some((0.1, 0.9)));
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
