//! Background traffic of a workload: long flows, Poisson flows, a service.

use fanin_spec::Settings;
use fanin_tables::{RunTables, Totals};

use crate::catalogue::figures;
use crate::spread::{Spread, spread_with_open};
use crate::stats::{self, six_digits};

figures! {
    /// Background traffic: long flows, Poisson flows, a service.
    #[derive(Clone, Copy, Debug, Default, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Background {} {
        /// Goodput of background traffic, mean over seeds; absent, like the following, without background traffic.
        goodput_mbps: f64, "Mbit/s";
        /// Timeouts of background traffic, mean over seeds.
        timeouts: f64, "count";
        /// Fast recoveries of background traffic, mean over seeds.
        fast_retransmits: f64, "count";
        /// Dropped packets of background traffic at all ports, mean over seeds.
        drops: f64, "count";
    }
}

figures! {
    /// Queries of the background service.
    #[derive(Clone, Copy, Debug, Default, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Service {} {
        /// Queries sent, mean over seeds.
        queries: f64, "count";
        /// Queries unfinished at the run's end, mean over seeds.
        unfinished: f64, "count";
        /// Query completion times over all seeds; unfinished queries count as longer than their waiting times.
        qct_ms: Spread, "ms";
    }
}

/// Background traffic, if there is any.
pub(crate) fn background(s: &Settings, runs: &[&RunTables]) -> Option<Background> {
    let poisson = s.workload.load.0.is_some() && !s.workload.kind.facts().poisson;
    let listed = s.inputs.flows.is_some() && !s.workload.kind.facts().listed;
    let any = s.workload.background > 0 || poisson || listed || s.service.queries_per_s.0.is_some();
    let mean = |of: &dyn Fn(&Totals) -> f64| {
        six_digits(stats::mean(&runs.iter().map(|run| of(&run.totals)).collect::<Vec<_>>()).unwrap_or(0.0))
    };
    any.then(|| Background {
        goodput_mbps: mean(&|t| t.background_bytes as f64 * 8.0 / (t.measured_ps.max(1) as f64 / 1e6)),
        timeouts: mean(&|t| t.background_timeouts as f64),
        fast_retransmits: mean(&|t| t.background_fast_retransmits as f64),
        drops: mean(&|t| t.background_drops as f64),
    })
}

/// The background service, if it sent queries.
pub(crate) fn service(runs: &[&RunTables]) -> Option<Service> {
    let queries = || runs.iter().flat_map(|run| &run.service);
    let ended: Vec<u64> = queries().filter_map(|query| query.qct_ps).collect();
    let open: Vec<u64> = queries().filter_map(|query| query.waited_ps).collect();
    let a_run = |count: usize| six_digits(count as f64 / runs.len() as f64);
    queries().next().is_some().then(|| Service {
        queries: a_run(ended.len() + open.len()),
        unfinished: a_run(open.len()),
        qct_ms: spread_with_open(ended, open),
    })
}
