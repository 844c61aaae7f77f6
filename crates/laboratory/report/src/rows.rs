//! Rows of the summary, with the data of the charts' bands.

use fanin_spec::RunSpec;
use fanin_tables::RunTables;

use fanin_lab::stats::{percentiles_with_open, six_digits};
use fanin_lab::{Axis, SummaryRow};

/// One scheme at one point.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct ReportRow {
    #[serde(flatten)]
    summary: SummaryRow,
    /// The point's index in the sweep.
    place: usize,
    hosts: u32,
    /// Its x, and the label there.
    x: f64,
    tick: String,
    /// The name of its curve; empty if there is only one.
    curve: String,
    /// The other swept keys with their values.
    keys: Vec<(String, String)>,
    /// The range of query-time percentiles over the seeds.
    qct_ms_over_seeds: OverSeeds,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct OverSeeds {
    p50: Option<[f64; 2]>,
    p99: Option<[f64; 2]>,
}

impl ReportRow {
    pub(super) fn new(row: &SummaryRow, x: f64, axis: &Axis, runs: &[(&RunSpec, &RunTables)]) -> ReportRow {
        let seeds: Vec<_> = runs
            .iter()
            .filter(|(spec, _)| spec.label == row.scheme && spec.place == row.place)
            .filter_map(|(_, t)| {
                let mut ended: Vec<u64> = t.queries.iter().filter_map(|q| q.qct_ps).collect();
                let mut open: Vec<u64> = t.queries.iter().filter_map(|q| q.waited_ps).collect();
                percentiles_with_open(&mut ended, &mut open).map(|(found, _)| found)
            })
            .collect();
        let ends = |values: &dyn Fn(&fanin_lab::stats::Percentiles) -> u64| {
            let all = || seeds.iter().map(values);
            let ms = |ps: u64| six_digits(ps as f64 / 1e9);
            all().min().zip(all().max()).map(|(lo, hi)| [ms(lo), ms(hi)])
        };
        let qct_ms_over_seeds = OverSeeds { p50: ends(&|p| p.p50), p99: ends(&|p| p.p99) };
        ReportRow {
            summary: row.clone(),
            place: row.place,
            hosts: row.hosts,
            x,
            tick: axis.tick(row),
            curve: axis.curve(row),
            keys: axis.columns(row).map(|(key, value)| (key.into(), value)).collect(),
            qct_ms_over_seeds,
        }
    }
}
