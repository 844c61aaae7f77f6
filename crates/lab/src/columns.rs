//! The columns of tables as they are written: what leads the rows of a run, and the summary with its nested figures
//! flattened.

use fanin_spec::{Cause, Column, ColumnType};

use crate::stats::Interval;
use crate::{Slowdown, SummaryRow};

const FAN_IN_DOC: &str = "The number of servers; of a workload between any hosts, of those besides the client.";

/// What leads every row of a run's tables: the run.
pub const OF_A_RUN: [Column; 3] = [
    Column { name: "scheme", kind: ColumnType::Text, doc: "The scheme's label, else its name." },
    Column { name: "fan_in", kind: ColumnType::U64, doc: FAN_IN_DOC },
    Column { name: "seed", kind: ColumnType::U64, doc: "The run's seed." },
];

/// A column of the summary.
#[derive(Clone, Copy, Debug)]
pub struct SummaryColumn {
    /// The name in CSV and Parquet.
    pub name: &'static str,
    /// Where it stands in a row of the JSON object, if it is not called the same there.
    pub json: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// How it is taken from a row.
    pub take: Take,
    /// Whether it is a share, from 0 to 1.
    pub share: bool,
    /// Of a share that the report's table of points shows: its head there.
    pub head: Option<&'static str>,
}

/// How a figure is taken from a row.
#[derive(Clone, Copy, Debug)]
pub enum Take {
    /// A text.
    Text(fn(&SummaryRow) -> &str),
    /// A whole number.
    Whole(fn(&SummaryRow) -> u64),
    /// A number, or nothing.
    Real(fn(&SummaryRow) -> Option<f64>),
}

const fn column(name: &'static str, json: &'static str, doc: &'static str, take: Take) -> SummaryColumn {
    SummaryColumn { name, json, doc, take, share: false, head: None }
}

/// A column of shares, with its head in the report.
const fn share(head: &'static str, column: SummaryColumn) -> SummaryColumn {
    SummaryColumn { share: true, head: Some(head), ..column }
}

/// The columns of an interval of shares, whose mean the report shows.
const fn shares(head: &'static str, columns: [SummaryColumn; 3]) -> [SummaryColumn; 3] {
    let [mean, lo, hi] = columns;
    [share(head, mean), SummaryColumn { share: true, ..lo }, SummaryColumn { share: true, ..hi }]
}

/// The columns of one time's spread.
macro_rules! spread {
    ($field:ident, $what:literal) => {
        [
            spread!($field, mean, concat!("Mean of ", $what, ".")),
            spread!($field, p50, concat!("Median of ", $what, ".")),
            spread!($field, p95, concat!("95th percentile of ", $what, ".")),
            spread!($field, p99, concat!("99th percentile of ", $what, ".")),
            spread!($field, p999, concat!("99.9th percentile of ", $what, ".")),
            spread!($field, max, concat!("Largest of ", $what, ".")),
        ]
    };
    ($field:ident, $mark:ident, $doc:expr) => {
        column(
            concat!(stringify!($field), "_", stringify!($mark)),
            concat!(stringify!($field), ".", stringify!($mark)),
            $doc,
            Take::Real(|r| r.$field.$mark),
        )
    };
}

/// The columns of a mean over seeds with its 95 % interval.
macro_rules! interval {
    ($field:ident, $mean:literal, $lo:literal) => {
        [
            interval!($field, mean; $mean),
            interval!($field, lo; $lo),
            interval!($field, hi; "Upper end of it."),
        ]
    };
    ($field:ident, $mark:ident; $doc:literal) => {
        column(
            concat!(stringify!($field), "_", stringify!($mark)),
            concat!(stringify!($field), ".", stringify!($mark)),
            $doc,
            Take::Real(|r| Option::<Interval>::from(r.$field).map(|interval| interval.$mark)),
        )
    };
}

const WHERE: [SummaryColumn; 3] = [
    column("scheme", "scheme", "The scheme's label, else its name.", Take::Text(|r| &r.scheme)),
    column("fan_in", "point.fan_in", FAN_IN_DOC, Take::Whole(|r| r.servers.into())),
    column("seeds", "seeds", "Runs that finished, each with a seed of its own.", Take::Whole(|r| r.seeds as u64)),
];

const HOW_LONG: [SummaryColumn; 2] = [
    column("clients", "clients", "Clients that ask, each in rounds of its own.", Take::Whole(|r| r.clients.into())),
    column(
        "measured_ms",
        "measured_ms",
        "The measured time of a run, mean over seeds.",
        Take::Real(|r| Some(r.measured_ms)),
    ),
];

/// Two columns of one cause of stalls.
macro_rules! cause {
    ($cause:ident, $word:literal, $what:literal) => {
        [
            column(
                concat!("stalls_", $word),
                concat!("stalls_by_cause.", $word, ".count"),
                concat!("Of the stalls, those for ", $what, "."),
                Take::Real(|r| Some(r.stalls_by_cause.get(Cause::$cause).count)),
            ),
            column(
                concat!("stalled_", $word, "_ms"),
                concat!("stalls_by_cause.", $word, ".ms"),
                "How long these took together in a run.",
                Take::Real(|r| Some(r.stalls_by_cause.get(Cause::$cause).ms)),
            ),
        ]
    };
}

const CAUSES: [[SummaryColumn; 2]; 9] = [
    cause!(Rto, "rto", "a retransmission timeout"),
    cause!(Probe, "probe", "a probe for a lost tail"),
    cause!(Reordering, "reordering", "RACK's patience with what may only be out of order"),
    cause!(Syn, "syn", "a SYN or SYN-ACK sent again"),
    cause!(DelayedAck, "delayed_ack", "an ACK that was kept back"),
    cause!(ZeroWindow, "zero_window", "a closed receive window, which no receiver here has"),
    cause!(InjectedLoss, "injected_loss", "a packet that `faults.loss` lost"),
    cause!(Host, "host", "a host that crashed or is slow"),
    cause!(Application, "application", "an application that had nothing to send"),
];

const TROUBLE: [SummaryColumn; 2] = [
    column(
        "lost",
        "lost",
        "Packets that `faults.loss` lost, and those of hosts that were down, mean over seeds.",
        Take::Real(|r| Some(r.lost)),
    ),
    column(
        "repair_ms",
        "repair_ms",
        "How long rounds with a timeout took in a run, each up to the least timeout, mean over seeds.",
        Take::Real(|r| Some(r.repair_ms)),
    ),
];

const GOODPUT: [SummaryColumn; 3] = interval!(
    goodput_mbps,
    "Payload delivered in order over the measured time: mean over seeds.",
    "Lower end of its 95 % interval over seeds, which lies between nothing and line rate."
);
const ALLOWED: [SummaryColumn; 1] = [column(
    "allowed_mbps",
    "allowed_mbps",
    "The goodput that a closed form allows (`fanin explain model`, allowed), which no run beats but by what is drawn; absent where no bound is known: of bursts, where flows go between any hosts, beside other traffic.",
    Take::Real(|r| r.allowed_mbps),
)];
const LEAST: [SummaryColumn; 5] = [
    column(
        "least_whole_ms",
        "least.whole_ms",
        "What a round of the first client takes at the least by that form, a burst on average; absent where that is not known, as those below.",
        Take::Real(|r| r.least.map(|least| least.whole_ms)),
    ),
    column(
        "least_wire_ms",
        "least.wire_ms",
        "Of it, packets on the wire.",
        Take::Real(|r| r.least.map(|least| least.wire_ms)),
    ),
    column(
        "least_round_trips_ms",
        "least.round_trips_ms",
        "Of it, ways there and back, handshakes and slow start.",
        Take::Real(|r| r.least.map(|least| least.round_trips_ms)),
    ),
    column(
        "least_work_ms",
        "least.work_ms",
        "Of it, what servers need and are put off.",
        Take::Real(|r| r.least.map(|least| least.work_ms)),
    ),
    column(
        "least_requests_ms",
        "least.requests_ms",
        "Of it, the requests before the last one.",
        Take::Real(|r| r.least.map(|least| least.requests_ms)),
    ),
];

const QCT: [SummaryColumn; 6] = spread!(
    qct_ms,
    "the completion times of queries or rounds, all seeds' together, those that were cut off as longer than they had waited; absent where none was begun"
);
const AT_LEAST: [SummaryColumn; 1] = [column(
    "qct_ms_at_least",
    "qct_ms.at_least",
    "The first of p50, p95, p99, p999 and max of these that is a lower bound only, as those above it and the mean are; empty where none is.",
    Take::Text(|r| r.qct_ms.at_least.unwrap_or_default()),
)];
const FCT: [SummaryColumn; 6] = spread!(
    fct_ms,
    "the completion times of the workload's own flows (Poisson flows beside it apart), all seeds' together; absent where none ended"
);

const COUNTS: [SummaryColumn; 11] = [
    column(
        "timeouts",
        "timeouts",
        "Retransmission timeouts of the workload that fired, mean over seeds.",
        Take::Real(|r| Some(r.timeouts)),
    ),
    column(
        "fast_retransmits",
        "fast_retransmits",
        "Its entries into fast recovery, mean over seeds.",
        Take::Real(|r| Some(r.fast_retransmits)),
    ),
    column(
        "drops",
        "drops",
        "Its packets that were dropped at all ports, mean over seeds.",
        Take::Real(|r| Some(r.drops)),
    ),
    column("marks", "marks", "Packets marked at all ports, mean over seeds.", Take::Real(|r| Some(r.marks))),
    column(
        "data_packets",
        "data_packets",
        "Distinct data segments delivered, mean over seeds.",
        Take::Real(|r| Some(r.data_packets)),
    ),
    column("rounds", "rounds", "Rounds or queries completed, mean over seeds.", Take::Real(|r| Some(r.rounds))),
    column(
        "rounds_open",
        "rounds_open",
        "Rounds or queries that the run's end cut off, mean over seeds.",
        Take::Real(|r| Some(r.rounds_open)),
    ),
    column(
        "stalls",
        "stalls",
        "Times in which nothing came to the client for over ten round trips though a round was open, mean over seeds.",
        Take::Real(|r| Some(r.stalls)),
    ),
    column(
        "stalled_ms",
        "stalled_ms",
        "How long these took together in a run, mean over seeds.",
        Take::Real(|r| Some(r.stalled_ms)),
    ),
    share(
        "Jain",
        column(
            "jain",
            "jain",
            "Jain's index, from 0 to 1 where all are equal, mean over seeds: over the servers' goodputs while they answer, over \
         what long flows moved, over the speeds of flows between any hosts; absent where nothing was delivered.",
            Take::Real(|r| r.jain),
        ),
    ),
    column(
        "queue_max_bytes",
        "queue_max_bytes",
        "The longest queue at the port to the client, or of a flows or poisson workload at any switch port, over all seeds; the packet on the wire does not count.",
        Take::Whole(|r| r.queue_max_bytes),
    ),
];

const FAIRNESS_OVER_TIME: [SummaryColumn; 3] = shares(
    "Jain, a round",
    interval!(
        jain_rounds,
        "Jain's index over the servers' goodputs within a round, mean over a run's rounds and then over seeds: fairness over time, where `jain` is over the whole run; absent where no round of answers ended.",
        "Lower end of its 95 % interval over seeds, which lies between 0 and 1."
    ),
);
const LEAST_FAIR: [SummaryColumn; 1] = [share(
    "Jain, worst round",
    column("jain_worst", "jain_worst", "The least of any round, over all seeds.", Take::Real(|r| r.jain_worst)),
)];

const BACKGROUND: [SummaryColumn; 4] = [
    column(
        "background_goodput_mbps",
        "background.goodput_mbps",
        "Payload delivered of what runs beside the workload, over the measured time: mean over seeds; absent where nothing does, as those below.",
        Take::Real(|r| r.background.map(|b| b.goodput_mbps)),
    ),
    column(
        "background_timeouts",
        "background.timeouts",
        "Its timeouts, mean over seeds.",
        Take::Real(|r| r.background.map(|b| b.timeouts)),
    ),
    column(
        "background_fast_retransmits",
        "background.fast_retransmits",
        "Its entries into fast recovery, mean over seeds.",
        Take::Real(|r| r.background.map(|b| b.fast_retransmits)),
    ),
    column(
        "background_drops",
        "background.drops",
        "Its packets that were dropped at all ports, mean over seeds.",
        Take::Real(|r| r.background.map(|b| b.drops)),
    ),
];

/// Every column of the summary, in its order.
pub fn of_the_summary() -> impl Iterator<Item = &'static SummaryColumn> {
    const ALL: [&[SummaryColumn]; 14] = [
        &WHERE,
        &GOODPUT,
        &ALLOWED,
        &QCT,
        &AT_LEAST,
        &FCT,
        &COUNTS,
        &BACKGROUND,
        &FAIRNESS_OVER_TIME,
        &LEAST_FAIR,
        &HOW_LONG,
        &LEAST,
        &TROUBLE,
        CAUSES.as_flattened(),
    ];
    ALL.into_iter().flatten()
}

/// A column of the slowdowns, behind the scheme and the number of servers.
#[derive(Clone, Copy, Debug)]
pub struct SlowdownColumn {
    /// The name in CSV, Parquet, and the JSON object.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// How it is taken from a bucket of sizes.
    pub take: TakeSlowdown,
}

/// How a figure is taken from a bucket of sizes.
#[derive(Clone, Copy, Debug)]
pub enum TakeSlowdown {
    /// A text.
    Text(fn(&Slowdown) -> &str),
    /// A whole number, or nothing.
    Whole(fn(&Slowdown) -> Option<u64>),
    /// A number, or nothing.
    Real(fn(&Slowdown) -> Option<f64>),
}

/// Every column of the slowdowns, in its order.
pub const OF_SLOWDOWNS: [SlowdownColumn; 8] = {
    const fn column(name: &'static str, doc: &'static str, take: TakeSlowdown) -> SlowdownColumn {
        SlowdownColumn { name, doc, take }
    }
    use TakeSlowdown::{Real, Text, Whole};
    [
        column("sizes", "The flows' sizes, for people; all sizes come first.", Text(|s| s.sizes)),
        column("over_bytes", "Flows of more payload than this.", Whole(|s| Some(s.over_bytes))),
        column("up_to_bytes", "And of no more than this; absent where there is no bound.", Whole(|s| s.up_to_bytes)),
        column("flows", "Flows that ended, all seeds' together.", Whole(|s| Some(s.flows))),
        column("unfinished", "Flows that had not ended as the run did.", Whole(|s| Some(s.unfinished))),
        column(
            "mean",
            "Mean of their times over the least time alone in the network (`ideal_ps` of `flows`); absent where none ended.",
            Real(|s| s.mean),
        ),
        column("p50", "Median of it.", Real(|s| s.p50)),
        column("p99", "99th percentile of it.", Real(|s| s.p99)),
    ]
};
