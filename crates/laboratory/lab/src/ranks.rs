//! Ranks of a trace: exposed communication, and the rank that the others wait for.

use std::collections::BTreeMap;

use fanin_tables::{RankRow, RunTables};

use crate::catalogue::figures;
use crate::stats::{mean, six_digits};

figures! {
    /// The ranks of a trace, at one point.
    #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Ranks {} {
        /// Exposed communication: time in which a rank moved data or awaited others, and did not compute; mean over ranks and seeds.
        exposed_ms: f64, "ms";
        /// Part of the time that a rank moved data in which it also computed, mean over ranks and seeds; absent if none moved data.
        hidden_share: Option<f64>, "share";
        /// The slowest rank: for which the others waited longest, mean over seeds; absent if none waited.
        slowest: Option<SlowestRank>, "object";
    }
}

figures! {
    /// The rank that the others wait for; means over seeds.
    #[derive(Clone, Debug, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    SlowestRank {} {
        /// Its host.
        host: u32, "number";
        /// Time for which the others waited for it, together.
        delays_ms: f64, "ms";
        /// Time in which it computed.
        compute_ms: f64, "ms";
        /// Time in which it moved data and did not compute.
        network_ms: f64, "ms";
        /// Time in which it only awaited others.
        waiting_ms: f64, "ms";
        /// Cause of its delay: `compute` or `network`, whichever exceeds the mean of all ranks by more.
        because: String, "text";
    }
}

/// The ranks of a point; `None` if the workload has none.
pub(crate) fn ranks(runs: &[&RunTables]) -> Option<Ranks> {
    let all = || runs.iter().flat_map(|run| &run.ranks);
    let mean_ms = |pick: &dyn Fn(&RankRow) -> u64| {
        let values: Vec<f64> = all().map(|row| pick(row) as f64 / 1e9).collect();
        mean(&values)
    };
    let hidden_ms = mean_ms(&|row| row.hidden_ps)?;
    let network_ms = mean_ms(&|row| row.network_ps)?;
    let moved_ms = hidden_ms + network_ms;
    Some(Ranks {
        exposed_ms: six_digits(network_ms + mean_ms(&|row| row.waiting_ps)?),
        hidden_share: (moved_ms > 0.0).then(|| six_digits(hidden_ms / moved_ms)),
        slowest: slowest(runs, mean_ms(&|row| row.compute_ps)?, network_ms),
    })
}

/// The slowest rank, beside these means of all ranks.
fn slowest(runs: &[&RunTables], compute_ms: f64, network_ms: f64) -> Option<SlowestRank> {
    let mut delays: BTreeMap<u32, f64> = BTreeMap::new();
    for row in runs.iter().flat_map(|run| &run.ranks) {
        *delays.entry(row.host).or_default() += row.delays_ps as f64;
    }
    // The first of equals.
    let largest = |a: &(u32, f64), b: &(u32, f64)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
    let (host, _) = delays.into_iter().filter(|&(_, delays)| delays > 0.0).max_by(largest)?;
    let own = |pick: fn(&RankRow) -> u64| {
        let rows = runs.iter().flat_map(|run| &run.ranks).filter(|row| row.host == host);
        mean(&rows.map(|row| pick(row) as f64 / 1e9).collect::<Vec<_>>()).map(six_digits)
    };
    let (computes, moves) = (own(|row| row.compute_ps)?, own(|row| row.network_ps)?);
    let because = if computes - compute_ms >= moves - network_ms { "compute" } else { "network" };
    Some(SlowestRank {
        host,
        delays_ms: own(|row| row.delays_ps)?,
        compute_ms: computes,
        network_ms: moves,
        waiting_ms: own(|row| row.waiting_ps)?,
        because: because.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn slowest_rank_is_the_one_that_others_wait_for() {
        let rank = |host, compute, network, waiting, delays| RankRow {
            host,
            compute_ps: compute * MS,
            hidden_ps: MS,
            network_ps: network * MS,
            waiting_ps: waiting * MS,
            delays_ps: delays * MS,
            end_ps: None,
        };
        let run = RunTables { ranks: vec![rank(0, 4, 3, 2, 0), rank(1, 6, 3, 0, 2)], ..RunTables::default() };
        let of = ranks(&[&run, &run]).unwrap();
        // (3 + 2 + 3) / 2, and 2 of 8 ms.
        assert_eq!((of.exposed_ms, of.hidden_share), (4.0, Some(0.25)));
        let slowest = of.slowest.unwrap();
        assert_eq!((slowest.host, slowest.delays_ms, slowest.because.as_str()), (1, 2.0, "compute"));
        let late = RunTables { ranks: vec![rank(0, 4, 3, 2, 0), rank(1, 4, 5, 0, 2)], ..RunTables::default() };
        assert_eq!(ranks(&[&late]).unwrap().slowest.unwrap().because, "network");
        let alone = RunTables { ranks: vec![rank(0, 4, 3, 0, 0)], ..RunTables::default() };
        assert_eq!(ranks(&[&alone]).unwrap().slowest, None);
        assert_eq!(ranks(&[&RunTables::default()]), None);
    }
}
