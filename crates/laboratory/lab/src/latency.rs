//! End-to-end delay of data packets by class, if measured.

use std::collections::BTreeSet;

use fanin_tables::{LatencyRow, RunTables};

use crate::Spread;
use crate::catalogue::figures;
use crate::stats::six_digits;

figures! {
    /// Data packets of a class.
    #[derive(Clone, Debug, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Latency {} {
        /// Class of packets, as in the table `latency`.
        class: String, "text";
        /// Data packets that arrived, mean over seeds.
        packets: f64, "count";
        /// End-to-end delays: the mean over all packets of all seeds, percentiles as means over seeds, the overall maximum.
        ms: Spread, "ms";
    }
}

/// Latencies of a point by class name; empty if not measured.
pub(crate) fn latencies(runs: &[&RunTables]) -> Vec<Latency> {
    let rows = || runs.iter().flat_map(|run| &run.latency).filter(|row| row.what == "data");
    let classes: BTreeSet<&str> = rows().map(|row| row.class.as_str()).collect();
    classes
        .into_iter()
        .map(|class| of_class(class, &rows().filter(|row| row.class == class).collect::<Vec<_>>()))
        .collect()
}

fn of_class(class: &str, rows: &[&LatencyRow]) -> Latency {
    let ms = |ps: f64| Some(six_digits(ps / 1e9));
    let packets: u64 = rows.iter().map(|row| row.packets).sum();
    let sum: f64 = rows.iter().map(|row| row.packets as f64 * row.mean_ps as f64).sum();
    let seeds = rows.len().max(1) as f64;
    let over_seeds = |pick: fn(&LatencyRow) -> u64| ms(rows.iter().map(|row| pick(row) as f64).sum::<f64>() / seeds);
    Latency {
        class: class.into(),
        packets: six_digits(packets as f64 / seeds),
        ms: Spread {
            mean: ms(sum / packets.max(1) as f64),
            p50: over_seeds(|row| row.p50_ps),
            p95: over_seeds(|row| row.p95_ps),
            p99: over_seeds(|row| row.p99_ps),
            p999: over_seeds(|row| row.p999_ps),
            max: ms(rows.iter().map(|row| row.max_ps).max().unwrap_or(0) as f64),
            at_least: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rows: &[(&str, &str, u64, u64)]) -> RunTables {
        let row = |&(class, what, packets, mean_us): &(&str, &str, u64, u64)| LatencyRow {
            class: class.into(),
            what: what.into(),
            packets,
            mean_ps: mean_us * 1_000_000,
            p50_ps: mean_us * 1_000_000,
            max_ps: mean_us * 3_000_000,
            ..LatencyRow::default()
        };
        RunTables { latency: rows.iter().map(row).collect(), ..RunTables::default() }
    }

    #[test]
    fn means_cover_packets_and_percentiles_seeds() {
        let (one, other) =
            (run(&[("query", "data", 1, 100), ("query", "ack", 9, 7)]), run(&[("query", "data", 3, 200)]));
        let found = latencies(&[&one, &other]);
        let [query] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((query.class.as_str(), query.packets), ("query", 2.0));
        assert_eq!((query.ms.mean, query.ms.p50, query.ms.max), (Some(0.175), Some(0.15), Some(0.6)));
    }

    #[test]
    fn classes_are_in_alphabetical_order() {
        let both = run(&[("workload", "data", 1, 1), ("background", "data", 1, 1)]);
        let names: Vec<String> = latencies(&[&both]).into_iter().map(|latency| latency.class).collect();
        assert_eq!(names, ["background", "workload"]);
        assert!(latencies(&[&RunTables::default()]).is_empty());
    }
}
