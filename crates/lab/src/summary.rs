//! What a comparison says: one row a scheme and point, with figures to six digits, and each scheme's onset.

use core::time::Duration;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use fanin_model::Parts;
use fanin_spec::{
    At, Contender, Coordinate, FAN_IN, FlowKind, Kind, Point, RunSpec, RunTables, Scenario, Settings, Totals,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::allowed::{allowed, mean_burst};
use crate::causes::Causes;
use crate::fairness::{jain, jain_by_round, mean_of_rounds};
use crate::latency::{Latency, latencies};
use crate::memories::{Memories, memories};
use crate::slowdown::{Slowdown, slowdowns};
use crate::stats::{self, Interval, six_digits};
use crate::tiers::{Tier, tiers};
use crate::{Done, Finding, Outcome, Wishes};

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
    /// By scheme, then point; points without a finished run are left out.
    pub rows: Vec<SummaryRow>,
    /// The key along which onsets are looked for: the first of more than one value.
    pub along: String,
    /// Each scheme's onset: the first value along that key at which mean goodput is under half of the best at one before,
    /// there and at the next.
    pub onset: Onsets,
    /// Whether the onset was searched for, so that points between those of `rows` were not tried.
    pub searched: bool,
    /// Where more seeds were asked for: how well goodputs are known.
    pub precision: Option<Precision>,
    /// What it cost.
    pub engine: Cost,
    /// What is found of it in words; [`summarise`] finds nothing.
    pub findings: Vec<Finding>,
}

/// One scheme at one point.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SummaryRow {
    /// The label, else the canonical name.
    pub scheme: String,
    /// Where in the sweep.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub point: Point,
    /// The point's place in the sweep.
    #[serde(skip)]
    pub place: usize,
    /// Servers, or of a workload between any hosts all of them but the client.
    #[serde(skip)]
    pub servers: u32,
    /// Hosts that take part.
    #[serde(skip)]
    pub hosts: u32,
    /// Clients that ask, each for itself.
    pub clients: u32,
    /// Runs that finished.
    pub seeds: usize,
    /// The measured time of a run in ms, mean over seeds.
    pub measured_ms: f64,
    /// Goodput in Mbit/s with its 95 % interval over seeds, which lies between nothing and line rate.
    pub goodput_mbps: Interval,
    /// Whether seeds change anything in this point's runs; `None` of a single one.
    pub seeds_differ: Option<bool>,
    /// What the closed form of `model` allows, in Mbit/s; `None` where no bound is known.
    pub allowed_mbps: Option<f64>,
    /// What a round takes at the least, of bursts on average; `None` where that is not known.
    pub least: Option<Least>,
    /// Query completion times in ms, pooled over seeds; a round that the run's end cut off took longer than it had waited.
    pub qct_ms: Spread,
    /// Flow completion times in ms, pooled over seeds; Poisson flows beside another workload do not count.
    pub fct_ms: Spread,
    /// Retransmission timeouts of the workload that fired, mean over seeds.
    pub timeouts: f64,
    /// Its entries into fast recovery, mean over seeds.
    pub fast_retransmits: f64,
    /// Its packets that were dropped at all ports, mean over seeds.
    pub drops: f64,
    /// Packets that `faults.loss` lost, and those of hosts that were down, mean over seeds.
    pub lost: f64,
    /// Packets marked at all ports, mean over seeds.
    pub marks: f64,
    /// Distinct data segments delivered, mean over seeds.
    pub data_packets: f64,
    /// Rounds or queries completed, mean over seeds.
    pub rounds: f64,
    /// Rounds or queries that the run's end cut off, mean over seeds.
    pub rounds_open: f64,
    /// Times in which nothing came to the client although a round was open, mean over seeds.
    pub stalls: f64,
    /// How long these took together in a run, in ms, mean over seeds.
    pub stalled_ms: f64,
    /// The same by what they were for.
    pub stalls_by_cause: Causes,
    /// How long rounds with a timeout took in a run, each up to the least timeout, in ms, mean over seeds.
    pub repair_ms: f64,
    /// The rounds that take longest, up to one in a hundred, and what goodput is without them.
    pub slowest: Option<Slowest>,
    /// The first rounds of each run that take over three medians, and what goodput is without them.
    pub cold: Option<Slowest>,
    /// The longest queue at the port to the client, over all seeds.
    pub queue_max_bytes: u64,
    /// Jain's index, mean over seeds: over the servers' goodputs while they answer, over what long flows moved, over the
    /// speeds of flows between any hosts (one over their slowdown); `None` where nothing was delivered, and of a job.
    pub jain: Option<f64>,
    /// Jain's index over the servers' goodputs within a round, mean over a run's rounds, with its 95 % interval over seeds: fairness
    /// over time, where `jain` is over the whole run. `None` where no round of answers ended.
    pub jain_rounds: Option<Interval>,
    /// The least of any round, over all seeds.
    pub jain_worst: Option<f64>,
    /// Slowdown of flows of a list and of Poisson flows, all first, then by size; empty where there are none.
    pub slowdown: Vec<Slowdown>,
    /// Ports by tier, where the scenario measures them.
    pub tiers: Vec<Tier>,
    /// Memories that ports share, where there are any and the scenario measures ports.
    pub memories: Option<Memories>,
    /// The service beside the workload, where there is one.
    pub service: Option<Service>,
    /// How long packets took, by class, where the scenario measures it.
    pub latency: Vec<Latency>,
    /// What else runs beside the workload, and that service, together.
    pub background: Option<Background>,
}

/// What runs beside a workload: long flows, Poisson flows, a service.
#[derive(Clone, Copy, Debug, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Background {
    /// Payload delivered over the measured time, mean over seeds.
    pub goodput_mbps: f64,
    /// Its timeouts, mean over seeds.
    pub timeouts: f64,
    /// Its entries into fast recovery, mean over seeds.
    pub fast_retransmits: f64,
    /// Its packets dropped at all ports, mean over seeds.
    pub drops: f64,
}

/// What a round cannot do without, in ms.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Least {
    /// In all.
    pub whole_ms: f64,
    /// Packets on the wire.
    pub wire_ms: f64,
    /// Ways there and back, handshakes and slow start.
    pub round_trips_ms: f64,
    /// What servers need, and are put off.
    pub work_ms: f64,
    /// The requests before the last one.
    pub requests_ms: f64,
}

impl Least {
    fn of(parts: &Parts) -> Option<Least> {
        let ms = |s: f64| six_digits(s * 1e3);
        (parts.all_s() > 0.0).then(|| Least {
            whole_ms: ms(parts.all_s()),
            wire_ms: ms(parts.wire_s),
            round_trips_ms: ms(parts.round_trips_s),
            work_ms: ms(parts.work_s),
            requests_ms: ms(parts.requests_s),
        })
    }
}

/// Some of a point's rounds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Slowest {
    /// Seed and round, the longest first; at most [`Slowest::NAMED`] of them.
    pub rounds: Vec<(u64, u32)>,
    /// How many they are.
    pub count: usize,
    /// Of how many rounds that ended.
    pub of: usize,
    /// Goodput without them, in Mbit/s: mean over seeds.
    pub goodput_mbps: f64,
}

impl Slowest {
    /// So many are named.
    pub const NAMED: usize = 5;
}

/// How well goodputs were to be known, and are.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Precision {
    /// Half of the 95 % interval over the mean that was asked for.
    pub wanted: f64,
    /// The largest at any point.
    pub reached: f64,
}

/// Queries of the service beside a workload.
#[derive(Clone, Copy, Debug, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Service {
    /// Those that were asked, mean over seeds.
    pub queries: f64,
    /// Of these, those that the run's end cut off.
    pub unfinished: f64,
    /// Completion times in ms, pooled over seeds; those that were cut off took longer than they had waited.
    pub qct_ms: Spread,
}

impl SummaryRow {
    /// Rounds begun.
    pub fn begun(&self) -> f64 {
        self.rounds + self.rounds_open
    }

    /// A count's share of one round that was begun; where there are no rounds, the whole run counts as one.
    pub fn a_round(&self, count: f64) -> f64 {
        if self.begun() > 0.0 { count / self.begun() } else { count }
    }

    /// Whether the goodput's interval reaches further than a quarter of its mean to either side.
    pub fn is_wide(&self) -> bool {
        self.half_width() > 0.25
    }

    /// Half of the goodput's interval over its mean.
    pub fn half_width(&self) -> f64 {
        let Interval { mean, lo, hi } = self.goodput_mbps;
        if hi > lo { (hi - lo) / 2.0 / mean } else { 0.0 }
    }
}

/// Times in ms to six digits; all `None` where nothing was begun.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
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
    /// The first of `p50`, `p95`, `p99`, `p999`, `max` that is a lower bound only, since rounds were cut off: those after it
    /// are as well, and so is the mean.
    pub at_least: Option<&'static str>,
}

impl Spread {
    /// Whether one of the five is a lower bound only.
    pub fn is_bound(&self, name: &str) -> bool {
        const RISING: [&str; 5] = ["p50", "p95", "p99", "p999", "max"];
        let place = |name: &str| RISING.iter().position(|known| *known == name);
        self.at_least.is_some_and(|first| place(name) >= place(first))
    }
}

/// Where a scheme collapses on one curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Onset {
    /// The other keys' values, which are those of all points of the curve; of none where there is one curve.
    pub curve: Point,
    /// Where, by its place in the sweep and its value along the curve; `None` where it does not.
    pub at: Option<(usize, Coordinate)>,
}

/// An object with the curve's point, where there are several, and the value.
impl Serialize for Onset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.at.as_ref().map(|(_, coordinate)| &coordinate.value);
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("point", &self.curve)?;
        map.serialize_entry("onset", &value)?;
        map.end()
    }
}

/// Labels with the onset of each curve, in the order of the schemes.
#[derive(Clone, Debug, Default)]
pub struct Onsets(pub Vec<(String, Vec<Onset>)>);

/// The value itself of a scheme with one curve, else a list.
impl Serialize for Onsets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (label, onsets) in &self.0 {
            match onsets.as_slice() {
                [only] => map.serialize_entry(label, &only.at.as_ref().map(|(_, coordinate)| &coordinate.value))?,
                several => map.serialize_entry(label, several)?,
            }
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

/// Sums an outcome up. `specs` is the plan of `contenders` under `wishes`, `scenario` the file's own name.
pub fn summarise(
    scenario: &str,
    contenders: &[Contender],
    wishes: Wishes,
    (specs, outcome): (&[RunSpec], &Outcome),
) -> Summary {
    let mut points: BTreeMap<(&str, usize), Vec<(u64, &RunTables)>> = BTreeMap::new();
    for (spec, done) in specs.iter().zip(&outcome.runs) {
        if let Some(done) = done {
            points.entry((&spec.label, spec.place)).or_default().push((spec.seed, &done.tables));
        }
    }
    let mut rows: Vec<SummaryRow> = Vec::new();
    let mut all_onsets = Vec::new();
    for contender in contenders {
        let first = rows.len();
        for place in 0..contender.points.len() {
            if let Some(runs) = points.get(&(contender.label.as_str(), place)) {
                rows.extend(row(contender, place, runs));
            }
        }
        all_onsets.push((contender.label.clone(), onsets(contender, &rows[first..])));
    }
    let precision = wishes.precision.map(|wanted| {
        let reached = rows.iter().map(SummaryRow::half_width).fold(0.0, f64::max);
        Precision { wanted, reached: six_digits(reached) }
    });
    Summary {
        schema: 1,
        scenario: scenario.into(),
        hash: Scenario::hash(contenders),
        warnings: Vec::new(),
        rows,
        along: along(contenders),
        onset: Onsets(all_onsets),
        searched: wishes.onset,
        precision,
        engine: cost(outcome),
        findings: Vec::new(),
    }
}

/// The key along which curves are drawn.
fn along(contenders: &[Contender]) -> String {
    let coordinate = contenders.first().and_then(|c| c.points[0].point.0.get(c.along()));
    coordinate.map_or(FAN_IN, |coordinate| &coordinate.key).into()
}

/// The onset of each curve of a scheme, whose rows are these.
fn onsets(contender: &Contender, rows: &[SummaryRow]) -> Vec<Onset> {
    let along = contender.along();
    let onset = |curve: Vec<usize>| {
        let rows: Vec<&SummaryRow> = rows.iter().filter(|row| curve.contains(&row.place)).collect();
        let goodputs: Vec<f64> = rows.iter().map(|row| row.goodput_mbps.mean).collect();
        let at = stats::onset(&goodputs).map(|i| (rows[i].place, rows[i].point.0[along].clone()));
        Onset { curve: contender.points[curve[0]].point.without(along), at }
    };
    contender.curves().into_iter().map(onset).collect()
}

/// The row of one point, or `None` where no run of it finished.
fn row(contender: &Contender, place: usize, seeded: &[(u64, &RunTables)]) -> Option<SummaryRow> {
    let runs: Vec<&RunTables> = seeded.iter().map(|(_, tables)| *tables).collect();
    let goodputs: Vec<f64> = runs.iter().map(|r| r.goodput_mbps()).collect();
    let At { point, settings } = &contender.points[place];
    let servers = settings.servers();
    let allowed = allowed(&contender.scheme, settings);
    let goodput = stats::bounded_interval(&goodputs, settings.line_rate() as f64 / 1e6)?;
    let jains: Vec<f64> = runs.iter().filter_map(|r| jain(r, servers, settings.clients())).collect();
    let by_round: Vec<Vec<f64>> = runs.iter().map(|run| jain_by_round(run)).collect();
    let mean = |pick: &dyn Fn(&Totals) -> u64| {
        let values: Vec<f64> = runs.iter().map(|r| pick(&r.totals) as f64).collect();
        stats::mean(&values).map_or(0.0, six_digits)
    };
    Some(SummaryRow {
        scheme: contender.label.clone(),
        point: point.clone(),
        place,
        servers,
        hosts: settings.hosts(),
        clients: clients(settings),
        seeds: runs.len(),
        measured_ms: six_digits(mean(&|t| t.measured_ps) / 1e9),
        goodput_mbps: goodput.six_digits(),
        seeds_differ: (runs.len() > 1).then(|| runs.iter().any(|run| !same_results(run, runs[0]))),
        allowed_mbps: allowed.map(|allowed| six_digits(allowed.mbps)),
        least: allowed
            .and_then(|allowed| Least::of(&allowed.round))
            .or_else(|| Least::of(&mean_burst(&contender.scheme, settings, &runs)?)),
        qct_ms: spread_with_open(
            runs.iter().flat_map(|r| r.queries.iter().filter_map(|q| q.qct_ps)).collect(),
            runs.iter().flat_map(|r| r.queries.iter().filter_map(|q| q.waited_ps)).collect(),
        ),
        fct_ms: spread_with_open(runs.iter().flat_map(|r| workload_fcts(r)).collect(), Vec::new()),
        timeouts: mean(&|t| t.timeouts - t.background_timeouts),
        fast_retransmits: mean(&|t| t.fast_retransmits - t.background_fast_retransmits),
        drops: mean(&|t| t.drops - t.background_drops),
        lost: lost(&runs),
        marks: mean(&|t| t.marks),
        data_packets: mean(&|t| t.data_packets),
        rounds: mean(&|t| t.rounds),
        rounds_open: mean(&|t| t.rounds_open),
        stalls: mean(&|t| t.stalls),
        stalled_ms: six_digits(mean(&|t| t.stalled_ps) / 1e9),
        stalls_by_cause: Causes::of(&runs),
        repair_ms: repair_ms(settings, &runs),
        slowest: slowest(seeded).filter(|_| in_turn(settings)),
        cold: cold(seeded).filter(|_| in_turn(settings)),
        queue_max_bytes: runs.iter().map(|r| r.totals.queue_max_bytes).max().unwrap_or(0),
        jain: stats::mean(&jains).map(six_digits),
        jain_rounds: mean_of_rounds(&by_round),
        jain_worst: by_round.iter().flatten().copied().reduce(f64::min).map(six_digits),
        slowdown: slowdowns(&runs),
        tiers: tiers(&runs),
        memories: memories(&runs),
        service: service(&runs),
        latency: latencies(&runs),
        background: background(settings, &runs),
    })
}

/// Whether two runs gave the same, whatever they cost.
fn same_results(one: &RunTables, other: &RunTables) -> bool {
    (&one.totals, &one.flows, &one.queries) == (&other.totals, &other.flows, &other.queries)
}

/// Whether rounds of one client follow one another, and move the same: then some of them can be left out.
fn in_turn(s: &Settings) -> bool {
    matches!(s.workload.kind, Kind::Barrier | Kind::WebSearch) && s.clients() == 1
}

/// A round that ended: how long it took, its seed and its number.
type Ended = (u64, u64, u32);

fn ended(runs: &[(u64, &RunTables)]) -> Vec<Ended> {
    let of = |(seed, run): &(u64, &RunTables)| {
        let seed = *seed;
        run.queries.iter().filter_map(move |q| Some((q.qct_ps?, seed, q.round))).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of).collect()
}

/// The longest of all rounds that ended, up to one in a hundred.
fn slowest(runs: &[(u64, &RunTables)]) -> Option<Slowest> {
    let mut left_out = ended(runs);
    let of = left_out.len();
    left_out.sort_unstable_by_key(|&(took, seed, round)| (Reverse(took), seed, round));
    left_out.truncate(of / 100);
    without(runs, &left_out, of)
}

/// A start is cold as long as its rounds take so many medians, in so many rounds at the most.
const COLD: u64 = 3;
const COLD_ROUNDS: u32 = 5;

/// The rounds with which runs begin and that take long.
fn cold(runs: &[(u64, &RunTables)]) -> Option<Slowest> {
    let all = ended(runs);
    let mut times: Vec<u64> = all.iter().map(|&(took, ..)| took).collect();
    times.sort_unstable();
    let median = *times.get(times.len() / 2)?;
    let mut left_out = Vec::new();
    for &(seed, _) in runs {
        let own = |round| all.iter().find(|&&(_, of, number)| (of, number) == (seed, round)).copied();
        let first = (0..COLD_ROUNDS).map_while(own);
        left_out.extend(first.take_while(|&(took, ..)| took >= COLD.saturating_mul(median)));
    }
    without(runs, &left_out, all.len())
}

/// Goodput without some rounds, where there are any. A round delivers as much as every other one.
fn without(runs: &[(u64, &RunTables)], left_out: &[Ended], of: usize) -> Option<Slowest> {
    let without = |(seed, run): &(u64, &RunTables)| {
        let own = || left_out.iter().filter(|(_, of, _)| of == seed);
        let left = run.totals.measured_ps.saturating_sub(own().map(|(took, ..)| took).sum());
        let a_round = run
            .flows
            .iter()
            .filter(|f| f.class == FlowKind::Answer && f.round == Some(0))
            .filter_map(|f| f.payload_bytes)
            .sum::<u64>();
        let bytes = run.totals.payload_bytes.saturating_sub(own().count() as u64 * a_round);
        if left == 0 { 0.0 } else { bytes as f64 * 8.0 / (left as f64 / 1e6) }
    };
    let goodputs: Vec<f64> = runs.iter().map(without).collect();
    (!left_out.is_empty()).then(|| Slowest {
        rounds: left_out.iter().take(Slowest::NAMED).map(|&(_, seed, round)| (seed, round)).collect(),
        count: left_out.len(),
        of,
        goodput_mbps: stats::mean(&goodputs).map_or(0.0, six_digits),
    })
}

/// Who waits, each for itself.
fn clients(s: &Settings) -> u32 {
    if s.workload.kind == Kind::KeyValue { s.key_value.front_ends } else { s.clients() }
}

/// Packets that faults lost, on average.
fn lost(runs: &[&RunTables]) -> f64 {
    let of = |run: &&RunTables| run.faults.iter().map(|row| row.lost_packets + row.crashed_packets).sum::<u64>() as f64;
    stats::mean(&runs.iter().map(of).collect::<Vec<_>>()).map_or(0.0, six_digits)
}

/// What rounds with a timeout took, each up to the least timeout: so much at the least was waited for one.
fn repair_ms(s: &Settings, runs: &[&RunTables]) -> f64 {
    let of = |run: &&RunTables| {
        let own = run.totals.timeouts > run.totals.background_timeouts;
        let waited = run.queries.iter().filter(|q| own && q.timeouts > 0).filter_map(|q| q.qct_ps.or(q.waited_ps));
        waited.map(|ps| ps.min(s.tcp.rto_min.0)).sum::<u64>() as f64 / 1e9
    };
    stats::mean(&runs.iter().map(of).collect::<Vec<_>>()).map_or(0.0, six_digits)
}

/// What runs beside the workload, where anything does.
fn background(s: &Settings, runs: &[&RunTables]) -> Option<Background> {
    let poisson = s.workload.load.0.is_some() && !s.workload.kind.facts().poisson;
    let listed = s.workload.file.0.is_some() && !s.workload.kind.facts().listed;
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

fn service(runs: &[&RunTables]) -> Option<Service> {
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

/// Completion times of the workload's own flows.
pub(crate) fn workload_fcts(run: &RunTables) -> impl Iterator<Item = u64> {
    run.flows.iter().filter(|flow| flow.class != FlowKind::Beside).filter_map(|flow| flow.fct_ps)
}

fn spread_with_open(mut ended_ps: Vec<u64>, mut open_ps: Vec<u64>) -> Spread {
    let ms = |ps: f64| Some(six_digits(ps / 1e9));
    stats::percentiles_with_open(&mut ended_ps, &mut open_ps).map_or(Spread::default(), |(p, at_least)| Spread {
        mean: ms(p.mean),
        p50: ms(p.p50 as f64),
        p95: ms(p.p95 as f64),
        p99: ms(p.p99 as f64),
        p999: ms(p.p999 as f64),
        max: ms(p.max as f64),
        at_least,
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
