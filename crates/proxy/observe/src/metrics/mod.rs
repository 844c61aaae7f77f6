//! Metrics: counters and latencies of threads, and the list of all figures that a front end reports.
//!
//! A figure is a typed value with its name, kind and help text. How it is written is up to a formatter: `stats_format` writes memcached's
//! `stats`.

mod counter;
mod counters;
mod histogram;
pub mod hot_keys;
mod pool_figures;
mod server_figures;
mod sizes;
mod stats_format;

pub use counter::Counter;
pub use counters::{COUNTERS, Counters, MULTIGET_CLASSES};
pub use histogram::{Distribution, Native, percentiles};
pub use pool_figures::{Class, Multigets, PoolFigures};
pub use server_figures::{ServerFigures, Tcp};
pub use sizes::Sizes;
pub use stats_format::stats_text;

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A number that only grows, until a reset.
    Counter,
    /// A number that grows and shrinks.
    Gauge,
    /// A text.
    Text,
}

/// Description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: MetricKind,
    /// One sentence for people.
    pub help: &'static str,
}

impl Metric {
    /// A metric.
    pub const fn new(name: &'static str, kind: MetricKind, help: &'static str) -> Metric {
        Metric { name, kind, help }
    }
}

/// The part of a front end to which a figure refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// All of it.
    All,
    /// Multigets of at least this many keys, and fewer than twice as many.
    Multigets(u64),
    /// A pool.
    Pool(&'a str),
    /// Requests of a pool.
    Requests {
        /// The pool.
        pool: &'a str,
        /// Kind of request.
        kind: &'static str,
        /// Percentile, such as `p99`.
        percentile: &'static str,
    },
    /// A server.
    Server(&'a str),
}

/// Value of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a str),
    /// A time in microseconds.
    Micros(u64),
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure<'a> {
    /// The metric.
    pub metric: Metric,
    /// The part of the front end.
    pub subject: Subject<'a>,
    /// The value.
    pub value: Value<'a>,
}

/// Metrics besides [`COUNTERS`].
#[expect(missing_docs, reason = "each has its description")]
pub mod list {
    use super::Metric;
    use super::MetricKind::{Counter, Gauge, Text};

    pub const PID: Metric = Metric::new("pid", Gauge, "Process id.");
    pub const UPTIME: Metric = Metric::new("uptime", Counter, "Seconds since start.");
    pub const VERSION: Metric = Metric::new("version", Text, "Version of the program.");
    pub const TIME: Metric = Metric::new("time", Gauge, "Unix time in seconds.");
    pub const POINTER_SIZE: Metric = Metric::new("pointer_size", Gauge, "Size of a pointer in bits.");
    pub const RUSAGE_USER: Metric = Metric::new("rusage_user", Counter, "CPU time of the process in user mode.");
    pub const RUSAGE_SYSTEM: Metric = Metric::new("rusage_system", Counter, "CPU time of the process in the kernel.");
    pub const MAX_CONNECTIONS: Metric = Metric::new("max_connections", Gauge, "Maximum number of clients.");
    pub const BYTES: Metric = Metric::new("bytes", Gauge, "Memory for clients, servers and the data between them.");
    pub const LIMIT_MAXBYTES: Metric = Metric::new("limit_maxbytes", Gauge, "Limit of that memory.");
    pub const CMD_GET: Metric = Metric::new("cmd_get", Counter, "Keys of gets, meta gets among them.");
    pub const CMD_SET: Metric = Metric::new("cmd_set", Counter, "Requests that store a value.");
    pub const PROXY_REQUESTS: Metric = Metric::new("proxy_conn_requests", Counter, "Requests of clients.");
    pub const PROXY_ERRORS: Metric = Metric::new("proxy_conn_errors", Counter, "Requests failed because of a server.");
    pub const PROXY_ACTIVE: Metric = Metric::new("proxy_req_active", Gauge, "Requests without a complete response.");
    pub const PROXY_RELOADS: Metric = Metric::new("proxy_config_reloads", Counter, "Reloads of the settings.");
    pub const PROXY_SERVERS: Metric = Metric::new("proxy_backend_total", Gauge, "Number of servers.");
    pub const PROXY_FAILED: Metric = Metric::new("proxy_backend_failed", Counter, "Failed connections to servers.");
    pub const THREADS: Metric = Metric::new("threads", Gauge, "Number of threads.");
    pub const EVENT_LOOP: Metric = Metric::new("event_loop", Text, "Implementation of the event loops.");
    pub const LOG_UNWRITTEN: Metric = Metric::new("log_unwritten", Counter, "Log rows that could not be written.");
    pub const PLAN_RELOADS: Metric = Metric::new("plan_reloads", Counter, "Plans read again.");
    pub const PLAN_REFUSED: Metric = Metric::new("plan_refused", Counter, "Plans refused when read again.");
    pub const MULTIGETS: Metric = Metric::new("multigets", Counter, "Multigets by their number of keys.");
    pub const PLAN_KEYS: Metric = Metric::new("plan_keys", Gauge, "Keys in the pool's plan.");
    pub const PLAN_STAGE: Metric = Metric::new("plan_stage", Text, "Stage in which all threads are.");
    pub const PLAN_DIGEST: Metric =
        Metric::new("plan_digest", Text, "Digest of the plan, equal for front ends that execute the same plan.");
    pub const INCAST_BASIS: Metric =
        Metric::new("incast_basis", Text, "Whether the incast prediction is for observed or for assumed multigets.");
    pub const INCAST_KEYS: Metric = Metric::new("incast_keys", Gauge, "Keys of a multiget in the prediction.");
    pub const INCAST_SERVERS: Metric = Metric::new("incast_servers", Gauge, "Servers of a multiget in the prediction.");
    pub const INCAST_VALUE: Metric =
        Metric::new("incast_value_bytes", Gauge, "Size of a value in the prediction, its line included.");
    pub const INCAST_COLLAPSE: Metric = Metric::new(
        "incast_collapse_servers",
        Gauge,
        "Servers from which multigets without a limit collapse by prediction; 0: none up to the pool's.",
    );
    pub const INCAST_LIMIT: Metric = Metric::new(
        "incast_limit",
        Gauge,
        "Most servers of a multiget at once because of the prediction; 0: no limit.",
    );
    pub const INCAST_UNLIMITED: Metric =
        Metric::new("incast_unlimited_us", Gauge, "Predicted mean time of a multiget without a limit.");
    pub const INCAST_EXPECTED: Metric =
        Metric::new("incast_expected_us", Gauge, "Predicted mean time of a multiget with the pool's limit.");
    pub const INCAST_OBSERVED: Metric =
        Metric::new("incast_observed_us", Gauge, "Observed mean time of the last 50 multigets or more.");
    pub const INCAST_MULTIGETS: Metric =
        Metric::new("incast_multigets", Counter, "Multigets that are compared with the prediction.");
    pub const INCAST_SLOW: Metric = Metric::new(
        "incast_slow",
        Counter,
        "Multigets that took over ten round trips longer than their bytes take on the link.",
    );
    pub const INCAST_RETRANSMITS: Metric =
        Metric::new("incast_retransmits", Counter, "Segments that TCP sent to the pool's servers again.");
    pub const LATENCY: Metric = Metric::new("us", Gauge, "Latency of requests in microseconds, over 30 to 60 seconds.");
    pub const FAILURE: Metric =
        Metric::new("failure", Text, "Reason why a server is down, if its connection was refused.");
    pub const SERVER: Metric = Metric::new("state", Text, "State of the connection to a server.");
}
