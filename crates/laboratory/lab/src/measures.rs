//! Measures of a comparison: the columns of a summary row, each declared once.

use std::collections::BTreeSet;

use fanin_spec::{Kind, Point, Settings, Variant};
use fanin_tables::{Counter, RunTables, Totals};
use fanin_units::Time;

use crate::background::{Background, Service, background, service};
use crate::catalogue::{Part, Value, figures};
use crate::causes::Causes;
use crate::fairness::{jain, jain_by_round, mean_of_rounds};
use crate::jobs::{bus_gbytes_per_s, job_ms};
use crate::latency::{Latency, latencies};
use crate::least::Least;
use crate::memories::{Memories, memories};
use crate::pauses::{HELD_BACK, Pauses, pauses};
use crate::queue_pairs;
use crate::ranks::{Ranks, ranks};
use crate::slowdown::{Slowdown, slowdowns};
use crate::slowest::{Slowest, cold, slowest};
use crate::spread::{Spread, spread_with_open, workload_fcts};
use crate::stats::{self, Interval, Range, six_digits};
use crate::tiers::{Tier, tiers};
use crate::upper_bound::{UpperBound, allowed, ideal_mbps, mean_burst};

/// The finished runs of one scheme at one point.
pub(crate) struct PointRuns<'a> {
    variant: &'a Variant,
    place: usize,
    settings: &'a Settings,
    /// Seeds and results.
    seeded: &'a [(u64, &'a RunTables)],
    runs: Vec<&'a RunTables>,
    allowed: Option<UpperBound>,
    /// Jain's index of each round, by run.
    jains: Vec<Vec<f64>>,
}

impl<'a> PointRuns<'a> {
    pub fn of(variant: &'a Variant, place: usize, seeded: &'a [(u64, &'a RunTables)]) -> PointRuns<'a> {
        let settings = &variant.points[place].settings;
        let runs: Vec<&RunTables> = seeded.iter().map(|(_, tables)| *tables).collect();
        let jains = runs.iter().map(|run| jain_by_round(run)).collect();
        PointRuns { variant, place, settings, seeded, runs, allowed: allowed(&variant.scheme, settings), jains }
    }

    /// Mean of a total over seeds.
    fn mean(&self, pick: impl Fn(&Totals) -> u64) -> f64 {
        let values: Vec<f64> = self.runs.iter().map(|run| pick(&run.totals) as f64).collect();
        stats::mean(&values).map_or(0.0, six_digits)
    }

    fn goodput(&self) -> Option<Interval> {
        let goodputs: Vec<f64> = self.runs.iter().map(|run| run.goodput_mbps()).collect();
        stats::bounded_interval(&goodputs, self.settings.line_rate() as f64 / 1e6).map(Interval::six_digits)
    }

    fn goodput_range(&self) -> Option<Range> {
        stats::range(&self.runs.iter().map(|run| run.goodput_mbps()).collect::<Vec<_>>())
    }

    fn least(&self) -> Option<Least> {
        let of_bursts = || Least::of(&mean_burst(&self.variant.scheme, self.settings, &self.runs)?);
        self.allowed.and_then(|allowed| Least::of(&allowed.round)).or_else(of_bursts)
    }

    fn qct_ms(&self) -> Spread {
        let queries = || self.runs.iter().flat_map(|run| &run.queries);
        let ended = queries().filter_map(|query| query.qct_ps).collect();
        spread_with_open(ended, queries().filter_map(|query| query.waited_ps).collect())
    }

    /// Mean of a figure over seeds; `None` if a run has none.
    fn of_all(&self, take: impl Fn(&Settings, &RunTables) -> Option<f64>) -> Option<Interval> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| take(self.settings, run)).collect();
        stats::mean_interval(&values?).map(Interval::six_digits)
    }

    fn ideal_mbps(&self) -> Option<f64> {
        let ideal = || ideal_mbps(&self.variant.scheme, self.settings, &self.runs);
        if self.allowed.is_some() { None } else { ideal().map(six_digits) }
    }

    fn unmeasured(&self) -> Vec<Counter> {
        let all: BTreeSet<Counter> = self.runs.iter().flat_map(|run| run.unmeasured.iter().copied()).collect();
        all.into_iter().collect()
    }

    fn has_no_plan(&self) -> bool {
        let period = self.settings.placements.picc.period.0;
        let moves_nothing = |run: &&RunTables| run.gathering.is_empty() && run.totals.measured_ps > period;
        self.variant.scheme.gathering.is_some() && self.runs.iter().all(moves_nothing)
    }

    fn jain(&self) -> Option<f64> {
        let (servers, clients) = (self.settings.servers(), self.settings.clients());
        let jains: Vec<f64> = self.runs.iter().filter_map(|run| jain(run, servers, clients)).collect();
        stats::mean(&jains).map(six_digits)
    }
}

/// Declares [`SummaryRow`]: its point, then its figures with their computation from a point's runs.
macro_rules! measures {
    ($(#[$meta:meta])* $name:ident of |$runs:ident| {
        $($(#[$kmeta:meta])* $key:ident: $ktype:ty = $where:expr,)*
    } {
        $($(#[doc = $doc:literal])+ $figure:ident: $type:ty, $unit:literal $(as $head:literal)? $(in $written:ident)? = $take:expr;)*
    }) => {
        figures! {
            $(#[$meta])* $name {
                $($(#[$kmeta])* $key: $ktype,)*
            } {
                $($(#[doc = $doc])+ $figure: $type, $unit $(as $head)? $(in $written)?;)*
            }
        }

        impl $name {
            /// The row of a point, or `None` if no run finished.
            pub(crate) fn of($runs: &PointRuns<'_>) -> Option<$name> {
                Some($name { $($key: $where,)* $($figure: $take,)* })
            }
        }
    };
}

measures! {
    /// One scheme at one point.
    #[derive(Clone, Debug, Default, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    SummaryRow of |p| {
        /// Label, or the canonical name.
        scheme: String = p.variant.label.clone(),
        /// Point of the sweep.
        #[cfg_attr(feature = "typescript", ts(type = "Record<string, unknown>"))]
        point: Point = p.variant.points[p.place].point.clone(),
        /// Index of the point in the sweep.
        #[serde(skip)]
        place: usize = p.place,
        /// Number of servers; for an any-to-any workload, of hosts other than the client.
        #[serde(skip)]
        servers: u32 = p.settings.servers(),
        /// Number of participating hosts.
        #[serde(skip)]
        hosts: u32 = p.settings.hosts(),
        /// Counters that the driver could not read in some run: their figures have no meaning.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "typescript", ts(type = "string[] | undefined"))]
        unmeasured: Vec<Counter> = p.unmeasured(),
        /// The scheme moves objects, and after a period had no plan in any run: an object was requested more often than any server of its
        /// rack can serve.
        #[serde(skip)]
        has_no_plan: bool = p.has_no_plan(),
    } {
        /// Number of clients.
        clients: u32, "count" = clients(p.settings);
        /// Finished runs, each with its own seed.
        seeds: usize, "count" = p.runs.len();
        /// Measured time of a run, mean over seeds.
        measured_ms: f64, "ms" = six_digits(p.mean(|t| t.measured_ps) / 1e9);
        /// Payload delivered in order per measured time: mean over seeds, with a 95 % CI between zero and line rate.
        goodput_mbps: Interval, "Mbit/s" = p.goodput()?;
        /// Goodput of single runs: with another seed, four of five are expected between the 10th and the 90th percentile. Absent for fewer
        /// than five seeds.
        goodput_range_mbps: Option<Range>, "Mbit/s" as "goodput of runs, Mbit/s" = p.goodput_range();
        /// Whether results differ between seeds; absent for one seed.
        seeds_differ: Option<bool>, "flag" in Json =
            (p.runs.len() > 1).then(|| p.runs.iter().any(|run| !same_results(run, p.runs[0])));
        /// Whether requests start at times of their own, however long others take, so that goodput is the offered load.
        open_loop: bool, "flag" in Json = p.settings.request_interval().is_some();
        /// Upper bound of goodput by a closed form (`fanin explain model`), exceeded only by random draws; absent for bursts, any-to-any
        /// workloads and with background traffic, which have `ideal_mbps`.
        allowed_mbps: Option<f64>, "Mbit/s" = p.allowed.map(|allowed| six_digits(allowed.mbps));
        /// Lower bound of a round's duration, by part; absent if unknown.
        least: Option<Least>, "object" = p.least();
        /// Completion times of queries or rounds over all seeds; unfinished ones count as longer than their waiting times. Absent if none
        /// started.
        qct_ms: Spread, "ms" in Bounds = p.qct_ms();
        /// Completion times of the workload's own flows over all seeds, without background Poisson flows and unfinished flows (see
        /// `slowdown`); absent if none finished.
        fct_ms: Spread, "ms" =
            spread_with_open(p.runs.iter().flat_map(|run| workload_fcts(run)).collect(), Vec::new());
        /// Retransmission timeouts (`timeouts` of `totals`) except those of background traffic, mean over seeds.
        timeouts: f64, "count" = p.mean(|t| t.timeouts - t.background_timeouts);
        /// Entries into fast recovery (`fast_retransmits` of `totals`), likewise.
        fast_retransmits: f64, "count" = p.mean(|t| t.fast_retransmits - t.background_fast_retransmits);
        /// Dropped packets (`drops` of `totals`), likewise.
        drops: f64, "count" = p.mean(|t| t.drops - t.background_drops);
        /// Packets lost by `faults.loss` or by hosts that were down, mean over seeds.
        lost: f64, "count" = lost(&p.runs);
        /// Marked packets (`marks` of `totals`), mean over seeds.
        marks: f64, "count" = p.mean(|t| t.marks);
        /// Distinct data segments delivered (`data_packets` of `totals`), mean over seeds.
        data_packets: f64, "count" = p.mean(|t| t.data_packets);
        /// Finished rounds or queries (`rounds` of `totals`), mean over seeds.
        rounds: f64, "count" = p.mean(|t| t.rounds);
        /// Unfinished rounds or queries at the run's end (`rounds_open` of `totals`), mean over seeds.
        rounds_open: f64, "count" = p.mean(|t| t.rounds_open);
        /// Times in which a waiting client received nothing (`stalls` of `totals`), mean over seeds.
        stalls: f64, "count" = p.mean(|t| t.stalls);
        /// Total duration of stalls in a run, mean over seeds.
        stalled_ms: f64, "ms" = six_digits(p.mean(|t| t.stalled_ps) / 1e9);
        /// Stalls by cause.
        stalls_by_cause: Causes, "object" = Causes::of(&p.runs);
        /// Time of rounds with a timeout, each counted up to the minimum timeout, in a run; mean over seeds.
        repair_ms: f64, "ms" = repair_ms(p.settings.least_timeout(&p.variant.scheme), &p.runs);
        /// The slowest rounds, up to 1 %, and goodput without them; absent if that is none.
        slowest: Option<Slowest>, "object" in Json = slowest(p.seeded, p.settings);
        /// Of the first six rounds of each run those up to the last that takes over three medians, likewise; absent if there are none.
        cold: Option<Slowest>, "object" in Json = cold(p.seeded, p.settings);
        /// Longest queue where the workload's traffic converges (`queue_max_bytes` of `totals`), over all seeds.
        queue_max_bytes: u64, "B" = p.runs.iter().map(|run| run.totals.queue_max_bytes).max().unwrap_or(0);
        /// Jain's fairness index (1: all equal), mean over seeds: of the servers' goodputs while they respond, of the goodputs of long
        /// flows, or of the speeds (1/slowdown) of any-to-any flows; absent if nothing was delivered, and for a job.
        jain: Option<f64>, "share" as "Jain" = p.jain();
        /// Jain's index of the servers' goodputs within a round: mean over a run's rounds and then over seeds, with a 95 % CI between 0 and
        /// 1; absent if no round with responses finished.
        jain_rounds: Option<Interval>, "share" as "Jain, a round" = mean_of_rounds(&p.jains);
        /// Smallest index of any round, over all seeds.
        jain_worst: Option<f64>, "share" as "Jain, worst round" =
            p.jains.iter().flatten().copied().reduce(f64::min).map(six_digits);
        /// Slowdown of listed and Poisson flows, as in `slowdown`; empty without such flows.
        slowdown: Vec<Slowdown>, "list" in Json = slowdowns(&p.runs);
        /// Ports by tier; empty unless measure.ports is on.
        tiers: Vec<Tier>, "list" in Json = tiers(&p.runs);
        /// Shared memories of switches; absent without any, or if measure.ports is off.
        memories: Option<Memories>, "object" in Json = memories(&p.runs);
        /// Pauses of lossless ports; absent if there were none.
        pauses: Option<Pauses>, "object" in Json = pauses(&p.runs, senders(p.settings));
        /// The background service; absent if there is none.
        service: Option<Service>, "object" in Json = service(&p.runs);
        /// End-to-end delay of data packets by class; empty unless measure.latency is on.
        latency: Vec<Latency>, "list" in Json = latencies(&p.runs);
        /// Background traffic and service together; absent if there is none.
        background: Option<Background>, "object" = background(p.settings, &p.runs);
        /// Time from the start of the first operation to the end of the last one of a job: all-reduces, all-to-alls, pulls, a trace, a shuffle
        /// or a MapReduce job; mean over seeds, with a 95 % CI. Absent for other workloads, and if an operation of some run did not end.
        job_ms: Option<Interval>, "ms" as "job, ms" = p.of_all(job_ms);
        /// Bus bandwidth of finished all-reduces, all-to-alls or a trace's collectives, as NCCL's tests report it; mean over seeds, with a 95 % CI. Absent for other
        /// workloads, and if no operation of some run finished.
        bus_gbytes_per_s: Option<Interval>, "GB/s" as "bus bandwidth, GB/s" = p.of_all(bus_gbytes_per_s);
        /// Goodput at which the busiest link would carry the runs' flows without a break, if all of them were there from the start; absent
        /// if `allowed_mbps` is there, and without finished flows.
        ideal_mbps: Option<f64>, "Mbit/s" in Json = p.ideal_mbps();
        /// Packets that receiving network cards dropped, mean over seeds.
        card_drops: f64, "count" in Json = card_drops(&p.runs);
        /// Bytes of frames on the client's link, without preambles and gaps, per what its rate carries in the measured time; mean over seeds,
        /// with a 95 % CI. Absent, like the next four, unless RDMA runs over ports that drop.
        wire_share: Option<Interval>, "share" in Json = p.of_all(queue_pairs::wire_share);
        /// Packets that ports and cards dropped per packet that hosts sent, likewise.
        lost_share: Option<Interval>, "share" in Json = p.of_all(queue_pairs::lost_share);
        /// Packets sent again for each lost one, likewise; absent also if some run lost none.
        resent_per_lost: Option<Interval>, "count" in Json = p.of_all(queue_pairs::resent_per_lost);
        /// Smallest share of a sending host in the delivered bytes, likewise.
        sender_share_min: Option<Interval>, "share" in Json = p.of_all(queue_pairs::sender_share_min);
        /// Congestion notifications per second of each queue pair that received any, likewise.
        cnps_per_qp_s: Option<Interval>, "1/s" in Json = p.of_all(queue_pairs::cnps_per_qp_s);
        /// Ranks of a trace; absent for other workloads.
        ranks: Option<Ranks>, "object" in Json = ranks(&p.runs);
    }
}

/// The first columns, in this order, which existing readers rely on; all others follow in the order above.
const FIRST: [&str; 25] = [
    "seeds",
    "goodput_mbps",
    "allowed_mbps",
    "qct_ms",
    "fct_ms",
    "timeouts",
    "fast_retransmits",
    "drops",
    "marks",
    "data_packets",
    "rounds",
    "rounds_open",
    "stalls",
    "stalled_ms",
    "jain",
    "queue_max_bytes",
    "background",
    "jain_rounds",
    "jain_worst",
    "clients",
    "measured_ms",
    "least",
    "lost",
    "repair_ms",
    "stalls_by_cause",
];

impl SummaryRow {
    /// Whether the driver could read a counter in every run.
    pub fn measures(&self, counter: Counter) -> bool {
        !self.unmeasured.contains(&counter)
    }

    /// Columns after the scheme, the number of servers and the other swept keys.
    pub fn columns() -> Vec<Part> {
        let parts = in_order(SummaryRow::FIGURES.iter().map(|figure| figure.parts()));
        parts.into_iter().flatten().filter(|part| part.column.is_some()).collect()
    }

    /// Values of the columns.
    pub fn cells(&self) -> Vec<Value> {
        let values = SummaryRow::FIGURES.iter().map(|figure| figure.parts()).zip(self.by_figure());
        let of_figure = in_order(values.map(|(parts, values)| parts.into_iter().zip(values)));
        of_figure.into_iter().flatten().filter(|(part, _)| part.column.is_some()).map(|(_, value)| value).collect()
    }

    /// Rounds started.
    pub fn begun(&self) -> f64 {
        self.rounds + self.rounds_open
    }

    /// A count per started round; a run without rounds counts as one.
    pub fn a_round(&self, count: f64) -> f64 {
        if self.begun() > 0.0 { count / self.begun() } else { count }
    }

    /// Whether pauses take a significant part of senders' time.
    pub fn is_held_back(&self) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| pauses.share >= HELD_BACK)
    }

    /// Whether the goodput's interval extends more than a quarter of its mean to either side.
    pub fn is_wide(&self) -> bool {
        self.half_width() > 0.25
    }

    /// Half the width of the goodput's interval over its mean.
    pub fn half_width(&self) -> f64 {
        let Interval { mean, lo, hi } = self.goodput_mbps;
        if hi > lo { (hi - lo) / 2.0 / mean } else { 0.0 }
    }
}

/// Reorders values by figure to the order of columns.
fn in_order<T>(by_figure: impl Iterator<Item = T>) -> Vec<T> {
    let place = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut all: Vec<(usize, T)> = SummaryRow::FIGURES.iter().map(|figure| place(figure.name)).zip(by_figure).collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, of)| of).collect()
}

/// Whether two runs have equal results, regardless of cost.
fn same_results(one: &RunTables, other: &RunTables) -> bool {
    (&one.totals, &one.flows, &one.queries) == (&other.totals, &other.flows, &other.queries)
}

/// Number of waiting clients.
fn clients(s: &Settings) -> u32 {
    if s.workload.kind == Kind::KeyValue { s.key_value.front_ends } else { s.clients() }
}

/// Number of hosts that send.
fn senders(s: &Settings) -> u32 {
    if s.workload.kind.many_to_one() { s.servers() } else { s.hosts() }
}

/// Mean number of packets dropped by receiving cards.
fn card_drops(runs: &[&RunTables]) -> f64 {
    let of = |run: &&RunTables| run.cards.iter().map(|card| card.drops).sum::<u64>() as f64;
    stats::mean(&runs.iter().map(of).collect::<Vec<_>>()).map_or(0.0, six_digits)
}

/// Mean number of packets lost by faults.
fn lost(runs: &[&RunTables]) -> f64 {
    let of = |run: &&RunTables| run.faults.iter().map(|row| row.lost_packets + row.crashed_packets).sum::<u64>() as f64;
    stats::mean(&runs.iter().map(of).collect::<Vec<_>>()).map_or(0.0, six_digits)
}

/// Time of rounds with a timeout, each counted up to the shortest wait for one.
fn repair_ms(least: Time, runs: &[&RunTables]) -> f64 {
    let of = |run: &&RunTables| {
        let own = run.totals.timeouts > run.totals.background_timeouts;
        let waited =
            run.queries.iter().filter(|q| own && q.timeouts > Some(0)).filter_map(|q| q.qct_ps.or(q.waited_ps));
        waited.map(|ps| ps.min(least.0)).sum::<u64>() as f64 / 1e9
    };
    stats::mean(&runs.iter().map(of).collect::<Vec<_>>()).map_or(0.0, six_digits)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fanin_tables::Row;

    use super::*;

    #[test]
    fn shares_no_names_with_totals() {
        let totals: Vec<&str> = Totals::COLUMNS.iter().map(|column| column.name).collect();
        let same: Vec<_> = SummaryRow::FIGURES.iter().filter(|figure| totals.contains(&figure.name)).collect();
        assert!(same.len() >= 9, "{same:?}");
        for figure in same {
            assert!(figure.doc.contains(&format!("(`{}` of `totals`)", figure.name)), "{}", figure.name);
        }
    }

    #[test]
    fn names_end_in_the_declared_unit() {
        let suffixes = [("_ms", "ms"), ("_mbps", "Mbit/s"), ("_bytes", "B"), ("_share", "share")];
        let named = [SummaryRow::FIGURES, Least::FIGURES, Background::FIGURES, Service::FIGURES, Slowest::FIGURES];
        let more = [Tier::FIGURES, Memories::FIGURES, Pauses::FIGURES, Latency::FIGURES];
        let mut seen = 0;
        for figure in named.into_iter().chain(more).flatten() {
            for (suffix, unit) in suffixes.into_iter().filter(|(suffix, _)| figure.name.ends_with(suffix)) {
                assert_eq!((suffix, figure.unit), (suffix, unit), "{}", figure.name);
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen} units");
    }

    #[test]
    fn figures_have_unique_names_and_stable_columns() {
        let names: BTreeSet<String> = SummaryRow::columns().into_iter().filter_map(|part| part.column).collect();
        let row = SummaryRow::default();
        assert_eq!((names.len(), row.cells().len()), (SummaryRow::columns().len(), SummaryRow::columns().len()));
        let known = |first: &str| SummaryRow::FIGURES.iter().any(|figure| *figure.name == *first);
        assert!(FIRST.iter().all(|first| known(first)));
        assert_eq!(SummaryRow::columns()[1].column.as_deref(), Some("goodput_mbps_mean"));
    }

    #[test]
    fn json_matches_the_catalogue() {
        let interval = Interval { mean: 2.0, lo: 1.0, hi: 3.0 };
        let [mean, p50, p95, p99, p999, max] = [4.5, 4.0, 5.0, 6.0, 7.0, 8.0].map(Some);
        let row = SummaryRow {
            goodput_mbps: interval,
            goodput_range_mbps: Some(Range { p10: 1.0, p50: 2.0, p90: 3.0 }),
            jain_rounds: Some(interval),
            qct_ms: Spread { mean, p50, p95, p99, p999, max, at_least: Some("p99") },
            least: Some(Least { whole_ms: 0.3, wire_ms: 0.1, ..Least::default() }),
            job_ms: Some(interval),
            bus_gbytes_per_s: Some(interval),
            background: Some(Background { drops: 9.0, ..Background::default() }),
            ..SummaryRow::default()
        };
        let json = serde_json::to_value(&row).unwrap();
        for (part, cell) in SummaryRow::columns().iter().zip(row.cells()) {
            let value = part
                .json
                .split('.')
                .fold(&json, |value, key| value.get(key).unwrap_or_else(|| panic!("{}", part.json)));
            match cell {
                Value::Text(text) => assert_eq!(value.as_str().unwrap_or_default(), text),
                Value::Whole(number) => assert_eq!(value.as_u64(), number),
                Value::Real(number) => assert_eq!(value.as_f64(), number),
            }
        }
    }
}
