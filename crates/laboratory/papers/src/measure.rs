//! Measures of runs for figures: a number per run, or a series.

use std::collections::{BTreeMap, BTreeSet};

use fanin_spec::RunSpec;
use fanin_tables::{FlowKind, FlowRow, GatheringRow, LatencyRow, PortRow, QueryRow, RequestRow, RunTables, TaskRow};
use fanin_units::Time;
use serde::{Deserialize, Serialize};

use fanin_lab::stats::{Percentiles, percentiles_with_open};
use fanin_lab::tasks;

/// The x axis of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The number of senders, or another swept key: one value per run.
    FanIn,
    /// The rounds of runs with one fan-in.
    Rounds,
    /// The time of the first run with one fan-in.
    Time,
    /// Shares of the requested objects, in runs with one fan-in.
    Shares,
    /// The hosts of runs with one fan-in.
    Hosts,
    /// The number of flows, without a run.
    Flows,
}

/// Flat periods shorter than this are ordinary waiting.
const LEAST_FLAT: Time = Time::from_millis(100);

/// The source of a measure.
#[derive(Clone, Copy)]
enum Gives {
    /// A number per run.
    Run(fn(&RunSpec, &RunTables) -> Option<f64>),
    /// A series of x and y per run.
    Series(Over, fn(&RunSpec, &RunTables) -> Vec<(f64, f64)>),
    /// A closed form or a measurement without a run.
    Form(Over),
}

/// Declares measures: description, axis title and source; `watched` if it needs a watched run.
macro_rules! measures {
    (|$spec:ident, $tables:ident|
        $($(#[doc = $doc:literal])+ $name:ident, $axis:literal, $kind:ident $($more:ident)* $(= $of:expr)?;)*
    ) => {
        /// A measure of a figure's y axis.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
        #[cfg_attr(test, derive(ts_rs::TS))]
        #[serde(rename_all = "snake_case")]
        pub enum Measure {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Measure {
            /// All of them, with descriptions.
            pub const ALL: &[(Measure, &str)] = &[$((Measure::$name, concat!($($doc),+).trim_ascii()),)*];

            /// The axis title, ending in its unit.
            pub fn axis(self) -> &'static str {
                match self {
                    $(Measure::$name => $axis,)*
                }
            }

            /// Whether it needs a watched run.
            pub fn watches(self) -> bool {
                match self {
                    $(Measure::$name => measures!(@watched $($more)*),)*
                }
            }

            #[allow(unused_variables, reason = "not every measure asks for both")]
            fn gives(self) -> Gives {
                match self {
                    $(Measure::$name => measures!(@$kind |$spec, $tables| $($more)* $(= $of)?),)*
                }
            }
        }
    };
    (@watched watched $($over:ident)?) => { true };
    (@watched $($over:ident)?) => { false };
    (@run |$spec:ident, $tables:ident| $(watched)? = $of:expr) => { Gives::Run(|$spec, $tables| $of) };
    (@series |$spec:ident, $tables:ident| watched $over:ident = $of:expr) => { Gives::Series(Over::$over, |$spec, $tables| $of) };
    (@series |$spec:ident, $tables:ident| $over:ident = $of:expr) => { Gives::Series(Over::$over, |$spec, $tables| $of) };
    (@form |$spec:ident, $tables:ident| $over:ident) => { Gives::Form(Over::$over) };
}

measures! { |spec, tables|
    /// Goodput, Mbit/s.
    GoodputMbps, "goodput, Mbit/s", run = Some(tables.goodput_mbps());
    /// Mean time of a round or query, ms. Unfinished ones count with the time waited so far; if none started, the run's duration.
    QueryMs, "query time, ms", run = {
        let given = spec.settings.workload.duration.as_secs_f64() * 1e3;
        Some(query_times(tables).map_or(given, |times| times.mean / 1e9))
    };
    /// Retransmission timeouts in the whole run.
    Timeouts, "timeouts a run", run = Some(tables.totals.timeouts as f64);
    /// Percentage of finished rounds or queries in which a timeout fired.
    TimeoutQueriesPct, "queries with a timeout, %", run = {
        let hit = finished(tables).filter(|q| q.timeouts > Some(0)).count();
        // If the only query never ended, it certainly had one.
        Some(if finished(tables).count() == 0 { 100.0 } else { 100.0 * hit as f64 / finished(tables).count() as f64 })
    };
    /// The median query time, ms; unfinished queries count with the time waited so far.
    QueryP50Ms, "median query time, ms", run = query_times(tables).map(|times| times.p50 as f64 / 1e9);
    /// The 95th percentile of query times, ms.
    QueryP95Ms, "95th percentile of query times, ms", run = query_times(tables).map(|times| times.p95 as f64 / 1e9);
    /// The 99th percentile of the query times of a background service, ms; unfinished ones count with the time waited so far.
    ServiceP99Ms, "99th percentile of the service's query times, ms", run =
        times(tables.service.iter().map(|query| (query.qct_ps, query.waited_ps))).map(|times| times.p99 as f64 / 1e9);
    /// Jain's index over the throughputs of a run's flows, from 0 to 1.
    Jain, "Jain's index", run = fanin_lab::fairness::jain(tables, spec.fan_in, spec.settings.clients());
    /// Jain's index within a round, or between two starts or stops of a list's long flows: the mean over these.
    JainRounds, "Jain's index within a round", run = fanin_lab::stats::mean(&fanin_lab::fairness::jain_by_round(tables));
    /// Throughput of each long flow of a list, Mbit/s, by source host; the mean for a host with several.
    LongMbps, "throughput of a long flow, Mbit/s", series Hosts = long_mbps(tables);
    /// The mean queue at the port to the client over time, full packets; requires `measure.ports`.
    QueueMeanPackets, "mean queue, packets", run = client_queue(spec, tables, |port| port.queue_mean_bytes);
    /// The 99th percentile of that queue over time; requires `measure.ports`.
    QueueP99Packets, "99th percentile of the queue, packets", run = client_queue(spec, tables, |port| port.queue_p99_bytes);
    /// The longest queue there.
    QueueMaxPackets, "longest queue, packets", run = client_queue(spec, tables, |port| Some(port.queue_max_bytes));
    /// When the last configured round ended, ms; if it did not, the run's time limit.
    FinishMs, "end of the last round, ms", run = {
        let given = spec.settings.workload.duration.as_secs_f64() * 1e3;
        Some(tables.queries.last().and_then(end_ms).unwrap_or(given))
    };
    /// Packets dropped at all ports.
    Drops, "packets dropped a run", run = Some(tables.totals.drops as f64);
    /// Incasts at the client's port: series of drops there, each within an idle round trip of the one before.
    Incasts, "incasts a run", run = Some(tables.totals.incasts as f64);
    /// How long a MapReduce job took, s; if it did not end, the run's time limit.
    RuntimeS, "run time, s", run = Some(runtime_s(tables));
    /// Payload delivered over that time, per worker node, Mbit/s.
    ThroughputNodeMbps, "throughput a node, Mbit/s", run = {
        let megabits = tables.totals.payload_bytes as f64 * 8.0 / 1e6;
        Some(megabits / runtime_s(tables) / f64::from(spec.fan_in))
    };
    /// Mean time of a packet, including ACKs, from sending to receiving host, us; requires `measure.latency`.
    LatencyUs, "latency a packet, us", run = {
        let rows = || tables.latency.iter();
        let packets: u64 = rows().map(|row| row.packets).sum();
        let sum: u128 = rows().map(|row| u128::from(row.packets) * u128::from(row.mean_ps)).sum();
        (packets > 0).then(|| sum as f64 / packets as f64 / 1e6)
    };
    /// Mean time of a data packet from host to host, plus that of an ACK, us; requires `measure.latency`.
    RoundTripUs, "round trip, us", run = round_trip_us(tables, |data| data.mean_ps);
    /// The 99.9th percentile of the time of data packets, plus the mean of ACKs, us; requires `measure.latency`.
    RoundTripP999Us, "99.9th percentile of round trips, us", run = round_trip_us(tables, |data| data.p999_ps);
    /// 99th percentile of the slowdown of the workload's flows of at most 100 KB; unfinished ones count with the time until the end.
    ShortSlowdownP99, "99th percentile of the slowdown of flows to 100 KB, times", run =
        slowdowns(tables, 0, 100_000).map(|times| times.p99 as f64 / 1e3);
    /// Median of the slowdown of the workload's flows over 1 MB, likewise.
    LongSlowdownP50, "median slowdown of flows over 1 MB, times", run =
        slowdowns(tables, 1_000_000, u64::MAX).map(|times| times.p50 as f64 / 1e3);
    /// Pauses of links.
    Pauses, "pauses a run", run = Some(tables.pauses.iter().map(|row| row.pauses).sum::<u64>() as f64);
    /// The share of a MapReduce job's time from its first fetch to its last, per cent.
    ShuffleSharePct, "shuffle's share of the run time, %", run = share_of_runtime(tables, |task| task.shuffle_start_ps);
    /// The same from the start of the first reduce, as the logs of Hadoop and MRPerf count the shuffle: it includes waiting for maps.
    ShuffleLoggedPct, "shuffle's share of the run time from the first reduce's start, %", run = share_of_runtime(tables, |task| Some(task.start_ps));
    /// The median length of the periods of at least 100 ms in which the first server's cwnd does not change, ms.
    FlatMs, "flat period, ms", run watched = {
        let mut flats: Vec<u64> = flats(tables).iter().map(|(_, length)| length.0).collect();
        fanin_lab::stats::percentiles(&mut flats).map(|p| p.p50 as f64 / 1e9)
    };
    /// The number of such periods.
    Flats, "flat periods a run", run watched = Some(flats(tables).len() as f64);
    /// The start of the first such period, ms.
    FirstFlatMs, "start of the first flat period, ms", run watched = flats(tables).first().map(|(start, _)| start.0 as f64 / 1e9);
    /// When each round ended, ms, by round.
    RoundEndMs, "end of the round, ms", series Rounds = {
        tables.queries.iter().filter_map(|q| Some((f64::from(q.round) + 1.0, end_ms(q)?))).collect()
    };
    /// Responses received so far, by time in ms.
    Answers, "responses received", series Time = {
        let mut ends: Vec<u64> = tables.flows.iter().filter_map(|f| Some(f.start_ps + f.fct_ps?)).collect();
        ends.sort_unstable();
        (1..).zip(ends).map(|(n, end): (u32, u64)| (end as f64 / 1e9, n.into())).collect()
    };
    /// The first server's cwnd, segments, by time in ms.
    CwndSegments, "cwnd, segments", series watched Time = {
        let mss = spec.settings.tcp.mss.0 as f64;
        cwnds(tables).map(|(at, bytes)| (at.0 as f64 / 1e9, bytes as f64 / mss)).collect()
    };
    /// Time until that share of the requested objects has arrived, ms since the start of their request, by the share in per cent.
    ObjectMs, "time of an object, ms", series Shares = tenths(tables.flows.iter().filter_map(|flow| flow.fct_ps));
    /// Time until that share of the requests is complete, ms since the start of each, by the share in per cent.
    QueryShareMs, "time of a request, ms", series Shares = tenths(tables.requests.iter().filter_map(|row| row.latency_ps));
    /// The mean over requests of payload divided by request time, per cent of the client's link rate.
    EfficiencyPct, "payload over request time, % of the downlink", run = {
        let s = &spec.settings;
        let bytes_ps = s.link.client_rate.0.unwrap_or(s.link.rate).0 as f64 / 8e12;
        let of = |row: &RequestRow| Some(row.payload_bytes as f64 / row.latency_ps? as f64 / bytes_ps * 100.0);
        fanin_lab::stats::mean(&tables.requests.iter().filter_map(of).collect::<Vec<_>>())
    };
    /// Hosts that respond to the front end itself, per request.
    AnsweringServers, "hosts that respond to a request", run = {
        let whole = tables.requests.iter().filter(|row| row.latency_ps.is_some());
        fanin_lab::stats::mean(&whole.map(|row| row.answering_hosts as f64).collect::<Vec<_>>())
    };
    /// Connections opened between the front end and other hosts, per request.
    OpenedConnections, "connections opened with the front end per request", run = {
        fanin_lab::stats::mean(&tables.requests.iter().map(|row| row.connections as f64).collect::<Vec<_>>())
    };
    /// Servers of a plan that store co-located objects.
    GatheringServers, "gathering servers", run = Some(tables.gathering.len() as f64);
    /// Load of these servers in total, per cent of the requests they can serve.
    GatheringCpuPct, "requests of co-locating servers, % of capacity", run = used(tables, |row| (row.requests, row.requests_most));
    /// The memory of these servers in total, per cent of their capacity.
    GatheringMemoryPct, "memory of co-locating servers, % of capacity", run = used(tables, |row| (row.memory_bytes, row.memory_most_bytes));
    /// Data packets that crossed a rack's uplink, including retransmissions, per request.
    InterRackPackets, "packets between racks per request", run = {
        let up = tables.ports.iter().filter(|port| matches!(port.tier.as_str(), "leaf up" | "tor up"));
        let packets: u64 = up.map(|port| port.data_packets).sum();
        Some(packets as f64 / tables.queries.len().max(1) as f64)
    };
    /// Time to form the swarms of a request and their tree, ms, by its target servers: measured, not simulated.
    TreeMs, "time to form swarms and tree, ms", form FanIn;
    /// Computing time of a scheme per query, ms, by the queries an hour: measured, not simulated.
    ComputingMs, "computing time per query, ms", form FanIn;
    /// The mean time until an object of a server's queue is sent, in units of the time to send one unit of size.
    QueueMean, "mean time until an object is sent, 1/g", form FanIn;
    /// Running map tasks, by time in ms.
    Maps, "running maps", series Time = tasks::maps(tables);
    /// Reduce tasks that fetch, or wait for maps to fetch from, by time in ms.
    Shuffling, "reduces that shuffle or wait to", series Time = tasks::shuffling(tables);
    /// Reduce tasks that merge, reduce or write, by time in ms.
    Reducing, "reduces past their shuffle", series Time = tasks::reducing(tables);
    /// The probability of incast, by the number of flows: a closed form, no run (`fanin explain model`).
    IncastProbability, "probability of incast", form Flows;
}

impl Measure {
    /// Its x axis.
    pub fn over(self) -> Over {
        match self.gives() {
            Gives::Run(_) => Over::FanIn,
            Gives::Series(over, _) | Gives::Form(over) => over,
        }
    }

    /// Its name in a claims file.
    pub fn word(self) -> String {
        serde_json::to_value(self).ok().and_then(|word| word.as_str().map(String::from)).unwrap_or_default()
    }

    /// The title of its x axis.
    pub fn over_axis(self) -> &'static str {
        match self.over() {
            Over::FanIn => "senders",
            Over::Rounds => "round",
            Over::Time => "time, ms",
            Over::Shares => "objects received, %",
            Over::Hosts => "sending host",
            Over::Flows => "flows",
        }
    }

    /// The number for a run; `None` if it has none.
    pub fn of_run(self, spec: &RunSpec, tables: &RunTables) -> Option<f64> {
        match self.gives() {
            Gives::Run(number) => number(spec, tables),
            Gives::Series(..) | Gives::Form(_) => None,
        }
    }

    /// The series for a run: x and y; empty if it has none.
    pub fn series(self, spec: &RunSpec, tables: &RunTables) -> Vec<(f64, f64)> {
        match self.gives() {
            Gives::Series(_, series) => series(spec, tables),
            Gives::Run(_) | Gives::Form(_) => Vec::new(),
        }
    }
}

/// Percentiles of query times, including unfinished queries.
fn query_times(tables: &RunTables) -> Option<Percentiles> {
    times(tables.queries.iter().map(|query| (query.qct_ps, query.waited_ps)))
}

/// Percentiles of times; unfinished ones count with the time waited so far.
fn times(queries: impl Iterator<Item = (Option<u64>, Option<u64>)> + Clone) -> Option<Percentiles> {
    let mut ended: Vec<u64> = queries.clone().filter_map(|(took, _)| took).collect();
    let mut open: Vec<u64> = queries.filter_map(|(_, waited)| waited).collect();
    percentiles_with_open(&mut ended, &mut open).map(|(times, _)| times)
}

/// A time of the workload's data packets plus the mean time of its ACKs, us.
fn round_trip_us(tables: &RunTables, of_data: fn(&LatencyRow) -> u64) -> Option<f64> {
    let row = |what: &str| tables.latency.iter().find(|row| row.what == what && row.packets > 0);
    Some((of_data(row("data")?) + row("ack")?.mean_ps) as f64 / 1e6)
}

/// Percentiles of the slowdowns of the workload's own flows of over `from` and up to `to` bytes, in thousandths.
fn slowdowns(tables: &RunTables, from: u64, to: u64) -> Option<Percentiles> {
    let sized =
        |flow: &&FlowRow| flow.class.is_own() && flow.payload_bytes.is_some_and(|bytes| bytes > from && bytes <= to);
    let thousandths = |flow: &FlowRow, took: u64| Some(took * 1_000 / flow.ideal_ps.filter(|&ideal| ideal > 0)?);
    let flows = tables.flows.iter().filter(sized);
    times(flows.map(|flow| match flow.fct_ps {
        Some(took) => (thousandths(flow, took), None),
        None => (None, thousandths(flow, tables.totals.measured_ps.saturating_sub(flow.start_ps))),
    }))
}

/// The queue of a port to the client, in full packets; `None` if it was not measured.
fn client_queue(spec: &RunSpec, tables: &RunTables, of: impl Fn(&PortRow) -> Option<u64>) -> Option<f64> {
    let port = tables.ports.iter().find(|port| port.port.ends_with(">client"))?;
    Some(of(port)? as f64 / spec.settings.full_frame().0 as f64)
}

/// Throughput of each host's long flows over the measured time: the mean per flow, by host number.
fn long_mbps(tables: &RunTables) -> Vec<(f64, f64)> {
    let mut hosts: BTreeMap<u32, (u64, BTreeSet<u32>)> = BTreeMap::new();
    for flow in tables.flows.iter().filter(|flow| flow.class == FlowKind::Long) {
        let (bytes, receivers) = hosts.entry(flow.from_host).or_default();
        *bytes += flow.delivered_bytes;
        receivers.insert(flow.to_host);
    }
    let us = tables.totals.measured_ps as f64 / 1e6;
    let mbps = |(bytes, receivers): &(u64, BTreeSet<u32>)| *bytes as f64 * 8.0 / us / receivers.len() as f64;
    hosts.iter().map(|(host, moved)| (f64::from(*host), mbps(moved))).collect()
}

/// The time by which each tenth of them is complete, ms.
fn tenths(times: impl Iterator<Item = u64>) -> Vec<(f64, f64)> {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1));
    let point = |percent| Some((percent as f64, *at(percent)? as f64 / 1e9));
    (1..=10).filter_map(|tenth| point(10 * tenth)).collect()
}

/// Load of co-locating servers in total, per cent of their capacity.
fn used(tables: &RunTables, of: impl Fn(&GatheringRow) -> (u64, u64)) -> Option<f64> {
    let (used, most) =
        tables.gathering.iter().map(of).fold((0u64, 0u64), |(a, b), (c, d)| (a + c, b.saturating_add(d)));
    (most > 0).then(|| 100.0 * used as f64 / most as f64)
}

/// Finished rounds or queries.
fn finished(tables: &RunTables) -> impl Iterator<Item = &QueryRow> {
    tables.queries.iter().filter(|query| query.qct_ps.is_some())
}

fn end_ms(query: &QueryRow) -> Option<f64> {
    Some((query.start_ps + query.qct_ps?) as f64 / 1e9)
}

/// The job's time; if it did not end, the whole run.
fn runtime_s(tables: &RunTables) -> f64 {
    tables.totals.measured_ps as f64 / 1e12
}

/// From the earliest `begin` of a reduce to the last fetch, in per cent of the job's time.
fn share_of_runtime(tables: &RunTables, begin: impl Fn(&TaskRow) -> Option<u64>) -> Option<f64> {
    let reduces = || tables.tasks.iter().filter(|task| task.kind == "reduce");
    let from = reduces().filter_map(begin).min()?;
    let to = reduces().map(|task| task.input_end_ps).max()?;
    Some(100.0 * to.saturating_sub(from) as f64 / tables.totals.measured_ps as f64)
}

fn cwnds(tables: &RunTables) -> impl Iterator<Item = (Time, u64)> {
    tables.samples.iter().filter(|s| s.series == "cwnd").filter_map(|s| Some((Time(s.time_ps), s.value_bytes?)))
}

/// The periods of at least [`LEAST_FLAT`] between two changes of cwnd: start and length.
fn flats(tables: &RunTables) -> Vec<(Time, Time)> {
    let mut changes: Vec<(Time, u64)> = Vec::new();
    for (at, bytes) in cwnds(tables) {
        if changes.last().is_none_or(|&(_, last)| last != bytes) {
            changes.push((at, bytes));
        }
    }
    let gaps = changes.windows(2).map(|pair| (pair[0].0, pair[1].0.since(pair[0].0)));
    gaps.filter(|&(_, gap)| gap >= LEAST_FLAT).collect()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use fanin_spec::Scenario;
    use fanin_tables::QueryRow;

    use super::*;
    use fanin_lab::{CompareOptions, Done, Outcome, summarise};

    fn reduce(start: u64, fetch: u64, fetched: u64, end: u64) -> TaskRow {
        TaskRow {
            kind: "reduce".into(),
            start_ps: start * 1_000_000_000,
            shuffle_start_ps: Some(fetch * 1_000_000_000),
            input_end_ps: fetched * 1_000_000_000,
            end_ps: Some(end * 1_000_000_000),
            ..TaskRow::default()
        }
    }

    #[test]
    fn long_flow_throughput_covers_all_phases_averaged_by_host() {
        let moved = |from_host, to_host, delivered_bytes| fanin_tables::FlowRow {
            class: FlowKind::Long,
            from_host,
            to_host,
            delivered_bytes,
            ..Default::default()
        };
        let flows = vec![moved(1, 0, 1_000), moved(1, 0, 500), moved(2, 0, 1_000), moved(2, 5, 3_000)];
        let mut tables = RunTables { flows, ..RunTables::default() };
        // 8 us: a byte is a Mbit/s.
        tables.totals.measured_ps = 8_000_000;
        assert_eq!(long_mbps(&tables), [(1.0, 1_500.0), (2.0, 2_000.0)]);
    }

    #[test]
    fn slowdowns_are_those_of_own_flows_by_size() {
        let flow = |class, bytes, start_ps, fct_ps| FlowRow {
            class,
            payload_bytes: Some(bytes),
            start_ps,
            fct_ps,
            ideal_ps: Some(1_000),
            ..FlowRow::default()
        };
        let flows = vec![
            flow(FlowKind::Poisson, 100_000, 0, Some(2_500)),
            // Unfinished after 7,000 ps.
            flow(FlowKind::Poisson, 10, 3_000, None),
            flow(FlowKind::Background, 10, 0, Some(90_000)),
            flow(FlowKind::Poisson, 2_000_000, 0, Some(1_500)),
        ];
        let mut tables = RunTables { flows, ..RunTables::default() };
        tables.totals.measured_ps = 10_000;
        assert_eq!(slowdowns(&tables, 0, 100_000).unwrap().p99, 7_000);
        assert_eq!(slowdowns(&tables, 1_000_000, u64::MAX).unwrap().p50, 1_500);
        assert!(slowdowns(&tables, 100_000, 1_000_000).is_none());
    }

    #[test]
    fn a_window_unchanged_for_100_ms_is_flat() {
        let sample = |ms: u64, value_bytes| {
            let (series, time_ps) = ("cwnd".into(), ms * 1_000_000_000);
            fanin_tables::SampleRow { series, time_ps, value_bytes: Some(value_bytes), ..Default::default() }
        };
        let samples = vec![sample(0, 1), sample(50, 2), sample(60, 2), sample(250, 3), sample(349, 4), sample(449, 5)];
        let tables = RunTables { samples, ..RunTables::default() };
        let flats: Vec<_> = flats(&tables).into_iter().map(|(at, length)| (at.0, length.0)).collect();
        assert_eq!(flats, [(50, 200), (349, 100)].map(|(at, length)| (at * 1_000_000_000, length * 1_000_000_000)));
    }

    #[test]
    fn shuffle_lasts_from_first_fetch_or_start_to_last_fetch() {
        let mut tables = RunTables { tasks: vec![reduce(1, 2, 5, 9), reduce(0, 3, 7, 10)], ..RunTables::default() };
        tables.totals.measured_ps = 10_000_000_000;
        assert_eq!(share_of_runtime(&tables, |task| task.shuffle_start_ps), Some(50.0));
        assert_eq!(share_of_runtime(&tables, |task| Some(task.start_ps)), Some(70.0));
    }

    #[test]
    fn papers_and_comparisons_agree_on_mean_query_time() {
        let text =
            "schemes = [\"newreno\"]\n[workload]\nfragment = \"1 KB\"\n[sweep]\nfan_in = [2]\n[run]\nseeds = 1\n";
        let variants = Scenario::parse("x.toml", text).and_then(|scenario| scenario.variants()).unwrap();
        let spec = variants[0].at(0, 1).unwrap();
        let round = |qct_ps, waited_ps| QueryRow { qct_ps, waited_ps, ..QueryRow::default() };
        let queries = vec![round(Some(2_000_000_000), None), round(None, Some(200_000_000_000))];
        let mut tables = RunTables { queries, ..RunTables::default() };
        tables.totals.measured_ps = 1_000_000_000_000;
        let ours = Measure::QueryMs.of_run(&spec, &tables);
        let runs = vec![Some(Done { tables, cpu: Duration::ZERO })];
        let outcome = Outcome { runs, ..Outcome::default() };
        let summary = summarise("x.toml", &variants, CompareOptions::default(), fanin_lab::Runs::of(&[spec], &outcome));
        assert_eq!((ours, summary.rows[0].qct_ms.mean), (Some(101.0), Some(101.0)));
    }
}
