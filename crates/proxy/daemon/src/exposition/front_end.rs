//! All metrics of a front end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use prometheus_client::metrics::MetricType;

use super::incast;
use fanin_proxy_core::server_error::ServerError;
use fanin_proxy_observe::exposition::process;
use fanin_proxy_observe::exposition::{Family, family, gauge};
use fanin_proxy_observe::exposition::{Source, build_info};
use fanin_proxy_observe::metrics::{
    Class, Counters, Distribution, Metric, MetricKind, Multigets, ServerFigures, Sizes, hot_keys,
};
use fanin_proxy_state::shared::{PoolState, Shared};

/// A front end's metrics.
#[derive(Debug)]
pub struct FrontEndMetrics {
    shared: Arc<Shared>,
    event_loop: &'static str,
    stop: Arc<AtomicBool>,
}

/// Number of reported tenants with most clients; with most requests, memory, and failed logins.
const TENANTS: usize = 20;

/// Names of counters whose name in `stats` is memcached's, or short.
const NAMES: [(&str, &str); 14] = [
    ("server_failures", "server_connections_failed"),
    ("curr_connections", "clients"),
    ("total_connections", "clients_accepted"),
    ("rejected_connections", "clients_rejected"),
    ("clients_cut_off", "clients_closed"),
    ("clients_idle", "clients_closed"),
    ("clients_unfinished", "clients_closed"),
    ("moving_found", "migration_found"),
    ("moving_fell_back", "migration_fell_back"),
    ("moving_copied", "migration_copied"),
    ("turns", "loop_iterations"),
    ("naps", "loop_delays"),
    ("stalls", "loop_stalls"),
    ("log_full", "log_dropped_batches"),
];

impl FrontEndMetrics {
    /// Metrics of a front end with this event loop, until `stop` is set.
    pub fn new(shared: Arc<Shared>, event_loop: &'static str, stop: Arc<AtomicBool>) -> FrontEndMetrics {
        FrontEndMetrics { shared, event_loop, stop }
    }
    fn general(&self) -> Vec<Family> {
        let mut iterations = family(
            "fanin_loop_iteration_seconds",
            "Time of a loop iteration, which is the longest that an event waits",
            MetricType::Histogram,
        );
        let times = self.threads().filter_map(|counters| counters.iterations.as_ref());
        iterations.distribution(&[], Distribution::of_times(times));
        let stalled =
            self.threads().filter_map(|counters| counters.pulse.stall()).map(|stall| stall.lasts).max().unwrap_or(0);
        let mut reloads = family("fanin_reloads", "Reloads of the settings", MetricType::Counter);
        reloads.number(&[], (self.shared.edition_number() - 1) as f64);
        let mut unwritten = family("fanin_log_unwritten", "Log rows that could not be written", MetricType::Counter);
        unwritten.number(&[], self.shared.unwritten() as f64);
        vec![
            build_info(self.event_loop),
            reloads,
            unwritten,
            gauge("fanin_threads", "Threads", self.shared.threads.len() as f64),
            gauge(
                "fanin_ready",
                "Whether clients are accepted and served: 0 while it drains, or while a thread is stalled",
                f64::from(u8::from(self.readiness().is_ok())),
            ),
            gauge(
                "fanin_loop_stalled_seconds",
                "Time for which a loop iteration of over a second has lasted so far; 0 if there is none",
                stalled as f64 / 1e9,
            ),
            gauge("fanin_clients_limit", "Maximum number of clients", self.shared.most_clients() as f64),
            gauge(
                "fanin_memory_bytes",
                "Memory for clients, servers and the data between them",
                self.shared.memory.held() as f64,
            ),
            gauge("fanin_memory_limit_bytes", "Its limit", self.shared.memory.most as f64),
            iterations,
        ]
    }

    /// The counters of `stats`, since start.
    fn counters(&self) -> Vec<Family> {
        let mut families: Vec<Family> = Vec::new();
        for (Metric { name, kind, help }, value) in self.shared.since_start() {
            let (exposed, label) = match name.strip_prefix("errors_") {
                Some(cause) => ("errors", Some(("cause", cause))),
                None => {
                    let exposed = NAMES.iter().find(|(own, _)| *own == name).map_or(name, |(_, exposed)| exposed);
                    (exposed, (exposed == "clients_closed").then_some(("cause", name.trim_start_matches("clients_"))))
                }
            };
            let help = if label.is_some() { "By cause" } else { help };
            let (exposed, kind) = (
                format!("fanin_{exposed}"),
                if kind == MetricKind::Gauge { MetricType::Gauge } else { MetricType::Counter },
            );
            if families.last().is_none_or(|last| last.name != exposed) {
                families.push(family(&exposed, help, kind));
            }
            if let Some(last) = families.last_mut() {
                last.number(label.as_slice(), value as f64);
            }
        }
        families
    }

    /// The tenants with most clients, requests, memory, and failed logins.
    fn of_tenants(&self) -> Vec<Family> {
        let mut clients = family("fanin_tenant_clients", "Clients of the largest tenants", MetricType::Gauge);
        let mut requests = family("fanin_tenant_requests", "Requests of the largest tenants", MetricType::Counter);
        let mut closed = family(
            "fanin_tenant_clients_closed",
            "Clients of the largest tenants that were refused or closed because they took too much or too long",
            MetricType::Counter,
        );
        let mut memory =
            family("fanin_tenant_memory_bytes", "Memory of the largest tenants' clients", MetricType::Gauge);
        let mut logins =
            family("fanin_tenant_failed_logins", "Wrong passwords of the largest tenants", MetricType::Counter);
        for one in self.shared.tenants.largest(TENANTS) {
            let of = [("tenant", &one.name[..])];
            clients.number(&of, one.clients as f64);
            requests.number(&of, one.requests as f64);
            closed.number(&of, one.closed as f64);
            memory.number(&of, one.memory as f64);
            logins.number(&of, one.guesses as f64);
        }
        vec![clients, requests, closed, memory, logins]
    }

    /// The most requested keys, at most this many.
    fn hot_keys(&self, most: usize) -> Family {
        let mut hot = family(
            "fanin_hot_key_share",
            "Share of the most requested keys among all requested keys, over the last minutes",
            MetricType::Gauge,
        );
        let sketches: Vec<_> = self.threads().filter_map(|counters| counters.hot_keys.as_ref()).collect();
        for ((pool, key), share) in hot_keys::hottest(&sketches, most) {
            hot.number(&[("pool", &pool), ("key", &key.escape_ascii().to_string())], share);
        }
        hot
    }

    fn threads(&self) -> impl Iterator<Item = &Counters> {
        self.shared.threads.iter().map(|counters| &**counters)
    }
}

impl Source for FrontEndMetrics {
    fn readiness(&self) -> Result<(), String> {
        if self.stop.load(Relaxed) {
            return Err("draining".to_owned());
        }
        let stalled =
            |(number, thread): (usize, &Counters)| Some(format!("thread {number}: {}", thread.pulse.stall()?));
        self.threads().enumerate().find_map(stalled).map_or(Ok(()), Err)
    }

    fn families(&self) -> Vec<Family> {
        let edition = self.shared.edition();
        let mut families = self.general();
        families.extend(self.counters());
        families.extend(of_pools(&edition.pools));
        families.extend(incast::families(&edition.pools));
        families.extend(of_servers(&edition.pools));
        families.extend(self.of_tenants());
        families.push(self.hot_keys(edition.settings.metrics.as_ref().map_or(0, |metrics| metrics.hot_keys)));
        families.extend(process::families(self.shared.started));
        families
    }
}

/// Metrics of pools.
fn of_pools(pools: &[Arc<PoolState>]) -> Vec<Family> {
    let mut requests =
        family("fanin_request_seconds", "Time from a request to the end of its response", MetricType::Histogram);
    let mut widths =
        family("fanin_multiget_servers", "Servers of a multiget, each with one batch", MetricType::Histogram);
    let mut keys = family("fanin_multiget_keys", "Keys of a multiget", MetricType::Histogram);
    let mut limits =
        family("fanin_multiget_limit", "Concurrency limit at the end of a multiget", MetricType::Histogram);
    let mut waits =
        family("fanin_batch_wait_seconds", "Time that a batch waits for the concurrency limit", MetricType::Histogram);
    for state in pools {
        let (pool, threads) = (&state.settings.name, &state.figures);
        for (class, command) in Class::ALL {
            let times = threads.iter().filter_map(|figures| figures.latencies(class).all());
            requests.distribution(&[("pool", pool), ("command", command)], Distribution::of_times(times));
        }
        let pool = [("pool", &pool[..])];
        let figures = || threads.iter().filter_map(|figures| figures.multigets.as_ref());
        let sizes = |of: fn(&Multigets) -> &Sizes| Sizes::distribution(figures().map(of));
        widths.distribution(&pool, sizes(|figures| &figures.servers));
        keys.distribution(&pool, sizes(|figures| &figures.keys));
        limits.distribution(&pool, sizes(|figures| &figures.limits));
        waits.distribution(&pool, Distribution::of_times(figures().map(|figures| &figures.waits)));
    }
    vec![requests, widths, keys, limits, waits]
}

/// Metrics of servers.
fn of_servers(pools: &[Arc<PoolState>]) -> Vec<Family> {
    let mut up = family("fanin_server_up", "Whether a server responds", MetricType::Gauge);
    let mut responses = family(
        "fanin_server_response_seconds",
        "Time from a request to a server to the end of its response",
        MetricType::Histogram,
    );
    let mut outstanding =
        family("fanin_server_outstanding", "Requests without a response, once a second", MetricType::Gauge);
    let mut rtt =
        family("fanin_server_rtt_seconds", "Longest smoothed round-trip time of TCP to a server", MetricType::Gauge);
    let mut retransmits =
        family("fanin_server_retransmits", "Segments that TCP sent to a server again", MetricType::Counter);
    let mut failures = family("fanin_server_failures", "Failed connections to a server by cause", MetricType::Counter);
    let mut refused = family(
        "fanin_server_busy_requests",
        "Requests refused because too many waited for a server",
        MetricType::Counter,
    );
    let mut in_use =
        family("fanin_server_in_use", "Whether a server has its keys; if not, others answer for it", MetricType::Gauge);
    let servers = pools.iter().flat_map(|pool| {
        let servers = pool.settings.servers.iter().zip(&pool.servers);
        servers.map(move |(server, state)| (pool, &server.weighted.name[..], state))
    });
    for (pool, server, state) in servers {
        let of = [("pool", &pool.settings.name[..]), ("server", server)];
        up.number(&of, f64::from(u8::from(state.is_up())));
        in_use.number(&of, f64::from(u8::from(pool.uses(state))));
        let figures = || state.all_figures().iter();
        let sum = |of: fn(&ServerFigures) -> u64| figures().map(of).sum::<u64>() as f64;
        responses.distribution(&of, Distribution::of_times(figures().filter_map(|figures| figures.responses.as_ref())));
        outstanding.number(&of, sum(|figures| figures.outstanding.get()));
        refused.number(&of, sum(|figures| figures.refused.get()));
        retransmits.number(&of, sum(|figures| figures.retransmits.get()));
        rtt.number(&of, figures().map(|figures| figures.rtt.get()).max().unwrap_or(0) as f64 / 1e9);
        for (cause, name) in ServerError::ALL {
            let count: u64 = figures().map(|figures| figures.failures(cause).get()).sum();
            failures.number(&[of[0], of[1], ("cause", name)], count as f64);
        }
    }
    vec![up, in_use, responses, outstanding, refused, rtt, retransmits, failures]
}
