//! Slowdown by flow size: completion times relative to an empty network.

use fanin_tables::{FlowRow, RunTables};

use crate::catalogue::{Figure, Part, Shaped, Value, figures};
use crate::stats::{percentiles, six_digits};

figures! {
    /// Flows of similar size.
    #[derive(Clone, Debug, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Slowdown {} {
        /// Size range, such as `10 KB to 100 KB`; all sizes come first.
        sizes: &'static str, "text";
        /// Lower bound of the payload, exclusive.
        over_bytes: u64, "B";
        /// Upper bound, inclusive; absent if unlimited.
        up_to_bytes: Option<u64>, "B";
        /// Finished flows of all seeds.
        flows: u64, "count";
        /// Unfinished flows at the run's end.
        unfinished: u64, "count";
        /// Mean of completion time over `ideal_ps` of `flows`; absent if none finished.
        mean: Option<f64>, "times";
        /// Median of it.
        p50: Option<f64>, "times";
        /// 99th percentile of it.
        p99: Option<f64>, "times";
    }
}

impl Slowdown {
    /// Columns of its own table.
    pub fn columns() -> Vec<Part> {
        Slowdown::FIGURES.iter().flat_map(Figure::parts).collect()
    }

    /// Values of the columns.
    pub fn cells(&self) -> Vec<Value> {
        self.values()
    }
}

const BUCKETS: [(&str, u64, Option<u64>); 5] = [
    ("all sizes", 0, None),
    ("to 10 KB", 0, Some(10_000)),
    ("10 KB to 100 KB", 10_000, Some(100_000)),
    ("100 KB to 1 MB", 100_000, Some(1_000_000)),
    ("over 1 MB", 1_000_000, None),
];

/// Slowdowns of a point's flows, all sizes first, then by size; empty if no flow has an ideal time.
pub(crate) fn slowdowns(runs: &[&RunTables]) -> Vec<Slowdown> {
    let flows: Vec<(&FlowRow, u64)> = runs
        .iter()
        .flat_map(|run| &run.flows)
        .filter_map(|flow| flow.ideal_ps.filter(|&ideal| ideal > 0).map(|ideal| (flow, ideal)))
        .collect();
    if flows.is_empty() {
        return Vec::new();
    }
    BUCKETS.iter().map(|&(sizes, over, up_to)| bucket(sizes, over, up_to, &flows)).collect()
}

fn bucket(sizes: &'static str, over: u64, up_to: Option<u64>, flows: &[(&FlowRow, u64)]) -> Slowdown {
    let inside = |bytes: u64| bytes > over && up_to.is_none_or(|most| bytes <= most);
    let all = flows.iter().filter(|(flow, _)| flow.payload_bytes.is_some_and(inside));
    let count = all.clone().count();
    // In millionths, for exact percentiles.
    let mut ratios: Vec<u64> = all
        .filter_map(|(flow, ideal)| flow.fct_ps.map(|fct| (u128::from(fct) * 1_000_000 / u128::from(*ideal)) as u64))
        .collect();
    let ended = ratios.len();
    let times = |millionths: f64| six_digits(millionths / 1e6);
    let found = percentiles(&mut ratios);
    Slowdown {
        sizes,
        over_bytes: over,
        up_to_bytes: up_to,
        flows: ended as u64,
        unfinished: (count - ended) as u64,
        mean: found.map(|p| times(p.mean)),
        p50: found.map(|p| times(p.p50 as f64)),
        p99: found.map(|p| times(p.p99 as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(flows: &[(u64, Option<u64>, Option<u64>)]) -> RunTables {
        let row = |&(payload_bytes, fct_ps, ideal_ps): &(u64, Option<u64>, Option<u64>)| FlowRow {
            payload_bytes: Some(payload_bytes),
            fct_ps,
            ideal_ps,
            ..FlowRow::default()
        };
        RunTables { flows: flows.iter().map(row).collect(), ..RunTables::default() }
    }

    #[test]
    fn groups_flows_by_size_and_pools_runs() {
        let one = run(&[(10_000, Some(30), Some(10)), (10_001, Some(15), Some(10)), (5_000_000, None, Some(10))]);
        let two = run(&[(1, Some(50), Some(10)), (1_000_001, Some(20), Some(10))]);
        let found = slowdowns(&[&one, &two]);
        let seen: Vec<_> = found.iter().map(|s| (s.sizes, s.flows, s.unfinished, s.mean, s.p50, s.p99)).collect();
        assert_eq!(
            seen,
            [
                ("all sizes", 4, 1, Some(2.875), Some(2.0), Some(5.0)),
                ("to 10 KB", 2, 0, Some(4.0), Some(3.0), Some(5.0)),
                ("10 KB to 100 KB", 1, 0, Some(1.5), Some(1.5), Some(1.5)),
                ("100 KB to 1 MB", 0, 0, None, None, None),
                ("over 1 MB", 1, 1, Some(2.0), Some(2.0), Some(2.0)),
            ]
        );
    }

    #[test]
    fn answers_have_no_slowdown() {
        assert_eq!(slowdowns(&[&run(&[(1000, Some(5), None)])]), []);
    }
}
