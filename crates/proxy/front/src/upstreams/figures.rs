//! Figures of `stats`: those of the front end, its pools and its servers.

use std::sync::atomic::Ordering::Relaxed;

use fanin_units::Time;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use super::Upstreams;
use super::pool::Pool;
use crate::context::Context;
use fanin_proxy_core::clock::Nanos;
use fanin_proxy_net::Net;
use fanin_proxy_observe::metrics::{Class, Figure, MULTIGET_CLASSES, Metric, Subject, Value, list, percentiles};
use fanin_proxy_state::incast::Predicted;
use fanin_proxy_state::shared::PoolState;

impl<S> Upstreams<S> {
    /// All figures, in the order of `stats`.
    pub fn figures<'a, N: Net<Socket = S>>(&'a self, context: &'a Context<N>) -> Vec<Figure<'a>> {
        let (shared, now) = (&context.shared, context.now);
        let number = |metric, number| Figure { metric, subject: Subject::All, value: Value::Number(number) };
        let word = |metric, text| Figure { metric, subject: Subject::All, value: Value::Text(text) };
        let threads = &shared.threads;
        let mut figures = vec![
            number(list::PID, std::process::id().into()),
            number(list::UPTIME, now / 1_000_000_000),
            number(list::TIME, shared.started + now / 1_000_000_000),
            word(list::VERSION, concat!(env!("CARGO_PKG_VERSION"), "-fanin")),
            number(list::POINTER_SIZE, usize::BITS.into()),
        ];
        figures.extend(cpu_times());
        figures.extend([
            number(list::MAX_CONNECTIONS, shared.most_clients() as u64),
            number(list::THREADS, threads.len() as u64),
            word(list::EVENT_LOOP, context.net.name()),
            number(list::BYTES, shared.memory.held() as u64),
            number(list::LIMIT_MAXBYTES, shared.memory.most as u64),
        ]);
        let counted: Vec<(Metric, u64)> = shared.since_reset().collect();
        figures.extend(counted.iter().map(|(metric, value)| number(*metric, *value)));
        figures.extend(self.of_memcached(&counted, shared.edition_number() - 1));
        figures.push(number(list::LOG_UNWRITTEN, shared.unwritten()));
        let plans = &shared.plans;
        if plans.edition() > 0 {
            figures.push(number(list::PLAN_RELOADS, plans.reloads.load(Relaxed)));
            figures.push(number(list::PLAN_REFUSED, plans.refused.load(Relaxed)));
        }
        for class in 1..MULTIGET_CLASSES {
            let count: u64 = threads.iter().map(|counters| counters.multigets(class)).sum();
            if count > 0 {
                figures.push(Figure { subject: Subject::Multigets(1 << class), ..number(list::MULTIGETS, count) });
            }
        }
        for pool in self.current() {
            figures_of_pool(pool, now, &mut figures);
        }
        for server in self.current_servers() {
            let of_server = |metric, text| Figure { subject: Subject::Server(&server.label), ..word(metric, text) };
            figures.push(of_server(list::SERVER, server.state()));
            figures.extend(server.refusal().map(|refusal| of_server(list::FAILURE, refusal)));
        }
        figures
    }

    /// Figures of memcached and its proxy under their names, from the counters.
    fn of_memcached<'a>(&self, counted: &[(Metric, u64)], reloads: u64) -> [Figure<'a>; 8] {
        let number = |metric, number| Figure { metric, subject: Subject::All, value: Value::Number(number) };
        let sum = |of: &dyn Fn(&str) -> bool| -> u64 {
            counted.iter().filter(|(metric, _)| of(metric.name)).map(|(_, value)| value).sum()
        };
        [
            number(list::CMD_GET, sum(&|name| ["get_keys", "meta_gets"].contains(&name))),
            number(list::CMD_SET, sum(&|name| name == "stores")),
            number(list::PROXY_REQUESTS, sum(&|name| name == "requests")),
            number(list::PROXY_ERRORS, sum(&|name| name.starts_with("errors_") && name != "errors_refused")),
            number(list::PROXY_ACTIVE, sum(&|name| name == "requests_active")),
            number(list::PROXY_RELOADS, reloads),
            number(list::PROXY_SERVERS, self.current_servers().count() as u64),
            number(list::PROXY_FAILED, sum(&|name| name == "server_failures")),
        ]
    }
}

/// A pool's plan, prediction and latencies.
fn figures_of_pool<'a>(pool: &'a Pool, now: Nanos, figures: &mut Vec<Figure<'a>>) {
    let name = &pool.shared.settings.name;
    if let (Some(plan_state), Some(plan)) = (pool.plan_state(), &pool.shared.plan) {
        let mut add = |metric: Metric, value| {
            figures.push(Figure { metric, subject: Subject::Pool(name), value });
        };
        add(list::PLAN_KEYS, Value::Number(plan_state.moves.len() as u64));
        add(list::PLAN_STAGE, Value::Text(plan.settled().word()));
        add(list::PLAN_DIGEST, Value::Text(plan_state.moves.digest.get(..12).unwrap_or_default()));
    }
    figures.extend(incast_figures(&pool.shared));
    for (kind, gets) in [("get", true), ("change", false)] {
        let of_kind = Class::ALL.into_iter().filter(|(class, _)| class.is_get() == gets);
        let classes: Vec<Class> = of_kind.map(|(class, _)| class).collect();
        let threads = pool.shared.figures.iter();
        let latencies = threads.flat_map(|figures| classes.iter().map(|class| figures.latencies(*class)));
        let found = percentiles(latencies, now, &[500, 900, 990, 999]);
        for (percentile, nanos) in ["p50", "p90", "p99", "p999"].into_iter().zip(found) {
            let subject = Subject::Requests { pool: name, kind, percentile };
            figures.push(Figure { metric: list::LATENCY, subject, value: Value::Number(nanos / 1000) });
        }
    }
}

/// A pool's incast prediction, and its multigets as observed.
fn incast_figures(pool: &PoolState) -> Vec<Figure<'_>> {
    let Some(state) = &pool.incast else { return Vec::new() };
    let mut figures = Vec::new();
    let mut add = |metric, value| {
        figures.push(Figure { metric, subject: Subject::Pool(&pool.settings.name), value });
    };
    let micros = |time: Time| Value::Number(time.0 / 1_000_000);
    if let Some(Predicted { workload, observed, prediction }) = state.predicted() {
        add(list::INCAST_BASIS, Value::Text(if observed { "observed" } else { "assumed" }));
        add(list::INCAST_KEYS, Value::Number(workload.keys.into()));
        add(list::INCAST_SERVERS, Value::Number(workload.servers.into()));
        add(list::INCAST_VALUE, Value::Number(workload.value.into()));
        add(list::INCAST_COLLAPSE, Value::Number(prediction.collapse.unwrap_or(0).into()));
        add(list::INCAST_LIMIT, Value::Number(prediction.limit.unwrap_or(0).into()));
        add(list::INCAST_UNLIMITED, micros(prediction.unlimited));
        add(list::INCAST_EXPECTED, micros(prediction.expected));
    }
    if let Some(observed) = state.observed() {
        add(list::INCAST_OBSERVED, micros(observed.took));
    }
    let (multigets, slow) = state.counts();
    add(list::INCAST_MULTIGETS, Value::Number(multigets));
    add(list::INCAST_SLOW, Value::Number(slow));
    add(list::INCAST_RETRANSMITS, Value::Number(pool.retransmits()));
    figures
}

/// CPU times of the process.
fn cpu_times<'a>() -> impl Iterator<Item = Figure<'a>> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
    let micros = |time: TimeVal| Value::Micros((time.tv_sec() * 1_000_000 + time.tv_usec()) as u64);
    usage.into_iter().flat_map(move |usage| {
        [(list::RUSAGE_USER, usage.user_time()), (list::RUSAGE_SYSTEM, usage.system_time())]
            .map(|(metric, time)| Figure { metric, subject: Subject::All, value: micros(time) })
    })
}
