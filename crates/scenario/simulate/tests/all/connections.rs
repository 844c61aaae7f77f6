//! Connections of requests and responses: persistent or new.

use std::sync::atomic::AtomicBool;

use crate::common::{but, run, spec};
use fanin_sim::TapPoint;
use fanin_simulate::tap;
use fanin_spec::{Connections, Kind, Optional, RunSpec};
use fanin_tables::RunTables;
use fanin_transport::Bits;
use fanin_units::Bytes;

const QUERIES: &str = r#"
    schemes = ["newreno"]
    [workload]
    kind = "web-search"
    fragment = "20 KB"
    queries = 6
"#;

const JOB: &str = r#"
    schemes = ["newreno"]
    [workload]
    kind = "mapreduce"
    duration = "600 s"
    [mapreduce]
    input = "4 MB"
    maps = 12
    reduces = 3
    parallel_fetches = 8
    fetches_per_node = 4
    heartbeat = "20 ms"
    task_start = "5 ms"
"#;

fn over(spec: &RunSpec, connections: Connections) -> RunSpec {
    but(spec, |settings| settings.workload.connections = connections)
}

/// Number of connections that sent at least one SYN in a run.
fn opened(spec: &RunSpec) -> usize {
    let hosts = 0..=spec.fan_in;
    let name = |host| if host == 0 { "client".to_string() } else { format!("server{host}") };
    let caught = hosts.flat_map(|host| {
        let (_, caught) = tap(spec, &TapPoint::Host(name(host)), &AtomicBool::new(false)).unwrap().expect("a host");
        caught
    });
    caught.map(|one| one.connection).collect::<std::collections::BTreeSet<_>>().len()
}

fn query_times(tables: &RunTables) -> Vec<u64> {
    tables.queries.iter().filter_map(|query| query.qct_ps).collect()
}

#[test]
fn persistent_web_search_equals_barrier() {
    let queries = over(&spec(QUERIES, 5, 1), Connections::Standing);
    let rounds = but(&queries, |s| s.workload.kind = Kind::Barrier);
    let (queries, rounds) = (query_times(&run(&queries)), query_times(&run(&rounds)));
    assert_eq!(queries.len(), 6);
    assert_eq!(queries, rounds[..6]);
}

#[test]
fn barrier_over_new_connections_equals_web_search() {
    let queries = spec(QUERIES, 5, 1);
    let rounds = over(&but(&queries, |s| s.workload.kind = Kind::Barrier), Connections::New);
    let (queries, rounds) = (query_times(&run(&queries)), query_times(&run(&rounds)));
    assert_eq!(queries.len(), 6);
    assert_eq!(queries, rounds[..6]);
}

#[test]
fn persistent_connections_save_the_handshake() {
    // One packet each, so that no window matters.
    let new = but(&spec(QUERIES, 5, 1), |s| s.workload.fragment = Optional(Some(Bytes(1_000))));
    let standing = query_times(&run(&over(&new, Connections::Standing)));
    // A round trip of 100 us.
    for (one, other) in query_times(&run(&new)).into_iter().zip(standing) {
        assert!(one >= other + 100_000_000, "{one} ps and {other} ps");
    }
}

#[test]
fn counts_new_and_persistent_connections() {
    let new = spec(QUERIES, 5, 1);
    assert_eq!((opened(&new), opened(&over(&new, Connections::Standing))), (30, 5));
}

#[test]
fn fetches_share_persistent_connections() {
    let new = spec(JOB, 6, 1);
    let standing = over(&new, Connections::Standing);
    let [(few, some), (all, many)] = [&standing, &new].map(|spec| (opened(spec), run(spec)));
    // The host that wants data opens the connection: at most one per ordered pair of hosts.
    assert!(few <= 6 * 5 && few < all, "{few} and {all} connections");
    for tables in [&some, &many] {
        assert!(tables.queries[0].qct_ps.is_some(), "the job ends");
        assert!(
            tables.flows.iter().all(|flow| flow.fct_ps.is_some() && Some(flow.delivered_bytes) == flow.payload_bytes)
        );
    }
    assert_eq!(some.totals.payload_bytes, some.flows.iter().filter_map(|flow| flow.payload_bytes).sum::<u64>());
}

/// Connection numbers at the client: those of the workload, or those of the background.
fn places(scenario: &str, beside: bool) -> Vec<u32> {
    let (_, caught) =
        tap(&spec(scenario, 5, 1), &TapPoint::Host("client".into()), &AtomicBool::new(false)).unwrap().expect("a host");
    let opened = caught.iter().filter(|one| one.from_opener && one.packet.bits.any(Bits::OPENS));
    let of = opened.map(|one| one.connection).filter(|connection| (connection.owner().number() > 0) == beside);
    of.map(|connection| connection.place()).collect()
}

#[test]
fn reused_slots_get_new_connection_numbers() {
    assert_eq!(places(QUERIES, false), (0..30).collect::<Vec<_>>());
}

#[test]
fn background_keeps_connection_numbers() {
    let crowded = format!("{QUERIES}    load = \"80 %\"\n    sizes = \"hadoop\"\n");
    assert!(!places(&crowded, true).is_empty(), "nothing runs beside it");
    assert_eq!(places(&crowded, false), places(QUERIES, false));
}
