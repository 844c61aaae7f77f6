//! What a comparison says: one row a scheme and fan-in, with figures to six digits, and each scheme's onset.

use std::time::Duration;

use fanin_spec::{Contender, FlowKind, RunSpec, RunTables, Scenario, Totals};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::latency::{Latency, latencies};
use crate::slowdown::{Slowdown, slowdowns};
use crate::stats::{self, Interval, six_digits};
use crate::tiers::{Tier, tiers};
use crate::{Done, Outcome};

/// The object that `--json` prints. Everything but `engine` follows from scenario and seeds alone.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Summary {
    /// The version of this form: 1.
    pub schema: u32,
    /// The scenario file's own name.
    pub scenario: String,
    /// The name of the resolved scenario: equal for equal settings.
    pub hash: String,
    /// What was set and has no effect, or not the one that was meant, with its place; [`summarise`] knows of none.
    pub warnings: Vec<String>,
    /// By scheme, then fan-in; points without a finished run are left out.
    pub rows: Vec<SummaryRow>,
    /// Each scheme's onset.
    pub onset: Onsets,
    /// What it cost.
    pub engine: Cost,
}

/// One scheme at one point.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SummaryRow {
    /// The label, else the canonical name.
    pub scheme: String,
    /// Where in the sweep.
    pub point: Point,
    /// Runs that finished.
    pub seeds: usize,
    /// Goodput in Mbit/s with its 95 % interval over seeds.
    pub goodput_mbps: Interval,
    /// Query completion times in ms, pooled over seeds.
    pub qct_ms: Spread,
    /// Flow completion times in ms, pooled over seeds; Poisson flows beside another workload do not count.
    pub fct_ms: Spread,
    /// Retransmission timeouts fired, mean over seeds.
    pub timeouts: f64,
    /// Entries into fast recovery, mean over seeds.
    pub fast_retransmits: f64,
    /// Packets dropped at all ports, mean over seeds.
    pub drops: f64,
    /// Packets marked at all ports, mean over seeds.
    pub marks: f64,
    /// Distinct data segments delivered, mean over seeds.
    pub data_packets: f64,
    /// Rounds or queries completed, mean over seeds.
    pub rounds: f64,
    /// The longest queue at the port to the client, over all seeds.
    pub queue_max_bytes: u64,
    /// Jain's index over the servers' goodputs while they answer, mean over seeds; `None` where no answer completed.
    pub jain: Option<f64>,
    /// Slowdown of flows of a list and of Poisson flows, all first, then by size; empty where there are none.
    pub slowdown: Vec<Slowdown>,
    /// Ports by tier, where the scenario measures them.
    pub tiers: Vec<Tier>,
    /// The service beside the workload, where there is one.
    pub service: Option<Service>,
    /// How long packets took, by class, where the scenario measures it.
    pub latency: Vec<Latency>,
}

/// Queries of the service beside a workload.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Service {
    /// Those that were asked, mean over seeds.
    pub queries: f64,
    /// Of these, those that the run's end cut off.
    pub unfinished: f64,
    /// The others' completion times in ms, pooled over seeds.
    pub qct_ms: Spread,
}

impl SummaryRow {
    /// A count's share of one round; where none ended, the whole run counts as one.
    pub fn a_round(&self, count: f64) -> f64 {
        if self.rounds > 0.0 { count / self.rounds } else { count }
    }
}

/// A point of the sweep.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Point {
    /// The number of servers.
    pub fan_in: u32,
}

/// Times in ms to six digits; all `None` where nothing completed.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

/// Labels with the fan-in at which they collapse, in the order of the schemes.
#[derive(Clone, Debug, Default)]
pub struct Onsets(pub Vec<(String, Option<u32>)>);

impl Serialize for Onsets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (label, fan_in) in &self.0 {
            map.serialize_entry(label, fan_in)?;
        }
        map.end()
    }
}

/// What the finished runs cost; not part of the result.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Cost {
    /// Events taken from queues.
    pub events: u64,
    /// Links that packets crossed.
    pub packet_hops: u64,
    /// User CPU time of the simulations alone.
    pub cpu_s: f64,
}

/// Sums an outcome up. `specs` is the plan of `contenders`, `scenario` the file's own name.
pub fn summarise(scenario: &str, contenders: &[Contender], specs: &[RunSpec], outcome: &Outcome) -> Summary {
    let mut rows = Vec::new();
    let mut onsets = Vec::new();
    for contender in contenders {
        let first = rows.len();
        for &fan_in in &contender.settings.sweep.fan_in {
            let runs: Vec<&RunTables> = specs
                .iter()
                .zip(&outcome.runs)
                .filter(|(spec, _)| spec.label == contender.label && spec.fan_in == fan_in)
                .filter_map(|(_, done)| done.as_ref().map(|d| &d.tables))
                .collect();
            rows.extend(row(&contender.label, fan_in, &runs));
        }
        let curve: Vec<f64> = rows[first..].iter().map(|r: &SummaryRow| r.goodput_mbps.mean).collect();
        let onset = stats::onset(&curve).map(|i| rows[first + i].point.fan_in);
        onsets.push((contender.label.clone(), onset));
    }
    Summary {
        schema: 1,
        scenario: scenario.into(),
        hash: Scenario::hash(contenders),
        warnings: Vec::new(),
        rows,
        onset: Onsets(onsets),
        engine: cost(outcome),
    }
}

/// The row of one point, or `None` where no run of it finished.
fn row(label: &str, fan_in: u32, runs: &[&RunTables]) -> Option<SummaryRow> {
    let goodputs: Vec<f64> = runs.iter().map(|r| r.goodput_mbps()).collect();
    let goodput = stats::mean_interval(&goodputs)?;
    let jains: Vec<f64> = runs.iter().filter_map(|r| stats::jain(&server_goodputs(r, fan_in))).collect();
    let mean = |pick: fn(&Totals) -> u64| {
        let values: Vec<f64> = runs.iter().map(|r| pick(&r.totals) as f64).collect();
        stats::mean(&values).map_or(0.0, six_digits)
    };
    Some(SummaryRow {
        scheme: label.into(),
        point: Point { fan_in },
        seeds: runs.len(),
        goodput_mbps: goodput.six_digits(),
        qct_ms: spread(runs.iter().flat_map(|r| r.queries.iter().filter_map(|q| q.qct_ps)).collect()),
        fct_ms: spread(runs.iter().flat_map(|r| workload_fcts(r)).collect()),
        timeouts: mean(|t| t.timeouts),
        fast_retransmits: mean(|t| t.fast_retransmits),
        drops: mean(|t| t.drops),
        marks: mean(|t| t.marks),
        data_packets: mean(|t| t.data_packets),
        rounds: mean(|t| t.rounds),
        queue_max_bytes: runs.iter().map(|r| r.totals.queue_max_bytes).max().unwrap_or(0),
        jain: stats::mean(&jains).map(six_digits),
        slowdown: slowdowns(runs),
        tiers: tiers(runs),
        service: service(runs),
        latency: latencies(runs),
    })
}

fn service(runs: &[&RunTables]) -> Option<Service> {
    let times: Vec<Option<u64>> = runs.iter().flat_map(|run| run.service.iter().map(|query| query.qct_ps)).collect();
    let a_run = |count: usize| six_digits(count as f64 / runs.len() as f64);
    (!times.is_empty()).then(|| Service {
        queries: a_run(times.len()),
        unfinished: a_run(times.iter().filter(|time| time.is_none()).count()),
        qct_ms: spread(times.iter().flatten().copied().collect()),
    })
}

/// Completion times of the workload's own flows.
pub(crate) fn workload_fcts(run: &RunTables) -> impl Iterator<Item = u64> {
    run.flows.iter().filter(|flow| flow.kind != FlowKind::Beside).filter_map(|flow| flow.fct_ps)
}

/// Each server's payload over the time that it spent answering, completed answers alone: bytes a picosecond.
fn server_goodputs(run: &RunTables, fan_in: u32) -> Vec<f64> {
    let mut sums = vec![(0u64, 0u64); fan_in as usize];
    for flow in run.flows.iter().filter(|flow| flow.kind == FlowKind::Answer) {
        if let (Some(sum), Some(fct)) = (sums.get_mut(flow.server as usize), flow.fct_ps) {
            *sum = (sum.0 + flow.payload_bytes, sum.1 + fct);
        }
    }
    sums.iter().map(|&(bytes, ps)| if ps == 0 { 0.0 } else { bytes as f64 / ps as f64 }).collect()
}

fn spread(mut times_ps: Vec<u64>) -> Spread {
    let ms = |ps: f64| Some(six_digits(ps / 1e9));
    stats::percentiles(&mut times_ps).map_or(Spread::default(), |p| Spread {
        mean: ms(p.mean),
        p50: ms(p.p50 as f64),
        p95: ms(p.p95 as f64),
        p99: ms(p.p99 as f64),
        p999: ms(p.p999 as f64),
        max: ms(p.max as f64),
    })
}

fn cost(outcome: &Outcome) -> Cost {
    let done = || outcome.runs.iter().flatten();
    Cost {
        events: done().map(|d| d.tables.engine.events).sum(),
        packet_hops: done().map(|d| d.tables.engine.packet_hops).sum(),
        cpu_s: done().map(|d: &Done| d.cpu).sum::<Duration>().as_secs_f64(),
    }
}
