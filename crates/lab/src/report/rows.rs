//! Rows of the summary, with what the charts' bands need besides.

use fanin_spec::{RunSpec, RunTables};

use crate::SummaryRow;
use crate::stats::{percentiles_with_open, six_digits};

/// One scheme at one fan-in.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct ReportRow {
    #[serde(flatten)]
    summary: SummaryRow,
    /// Of the seeds' own percentiles of query times the smallest and the largest.
    qct_ms_over_seeds: OverSeeds,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
struct OverSeeds {
    p50: Option<[f64; 2]>,
    p99: Option<[f64; 2]>,
}

impl ReportRow {
    pub(super) fn new(row: &SummaryRow, runs: &[(&RunSpec, &RunTables)]) -> ReportRow {
        let seeds: Vec<_> = runs
            .iter()
            .filter(|(spec, _)| spec.label == row.scheme && spec.fan_in == row.point.fan_in)
            .filter_map(|(_, t)| {
                let mut ended: Vec<u64> = t.queries.iter().filter_map(|q| q.qct_ps).collect();
                let mut open: Vec<u64> = t.queries.iter().filter_map(|q| q.waited_ps).collect();
                percentiles_with_open(&mut ended, &mut open).map(|(found, _)| found)
            })
            .collect();
        let ends = |values: &dyn Fn(&crate::stats::Percentiles) -> u64| {
            let all = || seeds.iter().map(values);
            let ms = |ps: u64| six_digits(ps as f64 / 1e9);
            all().min().zip(all().max()).map(|(lo, hi)| [ms(lo), ms(hi)])
        };
        let qct_ms_over_seeds = OverSeeds { p50: ends(&|p| p.p50), p99: ends(&|p| p.p99) };
        ReportRow { summary: row.clone(), qct_ms_over_seeds }
    }
}
