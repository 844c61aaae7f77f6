//! A query service as background: its targets, its times, and its isolation.

use std::sync::atomic::AtomicBool;

use crate::common::{run, spec};
use fanin_simulate::watch;
use fanin_spec::Watch;
use fanin_tables::{FlowKind, RunTables};
use fanin_units::Time;

const LONG: &str = r#"
    schemes = ["newreno"]
    [link]
    rate = "1 Gbit/s"
    delay = "5 us"
    [tcp]
    rto_initial = "10 ms"
    rto_min = "10 ms"
    [workload]
    kind = "long"
    duration = "100 ms"
    [service]
    queries_per_s = 1000
    fan_out = 3
    answer = "2 KB"
"#;

fn tables(text: &str, seed: u64) -> RunTables {
    run(&spec(text, 8, seed))
}

#[test]
fn queries_arrive_at_their_rate() {
    let queries: Vec<_> = (0..5).flat_map(|seed| tables(LONG, seed).service).collect();
    // 500 are expected, with a standard deviation of 22.
    assert!((400..600).contains(&queries.len()), "{}", queries.len());
    for host in 0..=8 {
        assert!(queries.iter().any(|query| query.from_host == host), "none from host {host}");
    }
    assert!(queries.iter().all(|query| query.from_host <= 8 && query.start_ps < 100_000_000_000));
}

#[test]
fn query_ends_with_its_last_response() {
    let queries = tables(LONG, 1).service;
    // SYN, SYN-ACK, request, response: four times 10 us of delay, and the two segments of a response on two links.
    let least = 4 * 10_000_000 + 2 * 16_000_000;
    let ended: Vec<u64> = queries.iter().filter_map(|query| query.qct_ps).collect();
    assert!(ended.len() > queries.len() / 2, "{} of {}", ended.len(), queries.len());
    assert!(ended.iter().all(|&time| time > least), "{:?}", ended.iter().min());
    let cut_off = queries.iter().filter(|query| query.qct_ps.is_none());
    assert!(cut_off.clone().all(|query| query.start_ps > 50_000_000_000), "{:?}", cut_off.collect::<Vec<_>>());
}

#[test]
fn service_is_separate_from_the_workload() {
    let with = tables(LONG, 1);
    let alone = tables(&LONG.replace("queries_per_s = 1000", "queries_per_s = \"none\""), 1);
    assert!(alone.service.is_empty() && !with.service.is_empty());
    assert_eq!(with.flows.len(), alone.flows.len());
    assert!(with.flows.iter().all(|flow| flow.class == FlowKind::Long));
}

#[test]
fn watched_window_is_of_own_connection() {
    let all = Watch { step: Time::from_micros(100), from: Time::ZERO, to: Time::NEVER, servers: (0..8).collect() };
    let seen = watch(&spec(LONG, 8, 1), all, &AtomicBool::new(false)).expect("it ends");
    let mut places: Vec<_> =
        seen.samples.iter().filter(|row| row.series == "cwnd").map(|row| (row.time_ps, row.of.clone())).collect();
    let samples = places.len();
    places.sort_unstable();
    places.dedup();
    assert!(samples > 100);
    assert_eq!(places.len(), samples, "a server that has two windows at once");
}

#[test]
fn poisson_flows_run_beside_a_service() {
    let text = LONG.replace("duration", "load = 0.05\n    sizes = \"web-search\"\n    duration");
    let tables = tables(&text, 1);
    assert!(tables.flows.iter().any(|flow| flow.class == FlowKind::Background));
    assert!(tables.service.iter().any(|query| query.qct_ps.is_some()));
    assert_eq!(run(&spec(&text, 8, 1)), tables, "the same again");
}
