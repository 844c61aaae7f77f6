//! Several concurrent clients, each with its own rounds.

use std::collections::BTreeSet;

use crate::common::{but, run, spec};
use fanin_spec::{RunSpec, Servers};
use fanin_tables::{QueryRow, RunTables};

const QUERIES: &str = r#"
    schemes = ["newreno"]
    [tcp]
    rto_min = "5 ms"
    [host]
    packet_jitter = "none"
    [workload]
    kind = "web-search"
    connections = "standing"
    fragment = "25 KB"
    queries = 5
"#;

fn with(clients: u32, servers: Servers, fan_in: u32) -> RunSpec {
    but(&spec(QUERIES, fan_in, 1), |s| (s.workload.clients, s.workload.servers) = (clients, servers))
}

fn queries_of(tables: &RunTables, client_host: u32) -> Vec<&QueryRow> {
    tables.queries.iter().filter(|query| query.client_host == client_host).collect()
}

/// The servers that respond to a client.
fn servers_of(tables: &RunTables, client_host: u32) -> BTreeSet<u32> {
    tables.flows.iter().filter(|flow| flow.to_host == client_host).map(|flow| flow.from_host).collect()
}

#[test]
fn clients_with_own_servers_are_independent() {
    let (alone, three) = (run(&with(1, Servers::Same, 4)), run(&with(3, Servers::Own, 4)));
    let took = |tables: &RunTables, host| queries_of(tables, host).iter().map(|q| q.qct_ps).collect::<Vec<_>>();
    for host in [0, 5, 10] {
        assert_eq!(took(&three, host), took(&alone, 0), "host {host}");
        assert_eq!(servers_of(&three, host), (host + 1..host + 5).collect());
    }
    assert_eq!(three.totals.payload_bytes, 3 * alone.totals.payload_bytes);
    assert_eq!((three.totals.rounds, three.totals.measured_ps), (15, alone.totals.measured_ps));
}

#[test]
fn clients_of_the_same_servers_share_their_links() {
    let (alone, four) = (run(&with(1, Servers::Same, 1)), run(&with(4, Servers::Same, 1)));
    for host in [0, 2, 3, 4] {
        assert_eq!(servers_of(&four, host), BTreeSet::from([1]));
    }
    // One server's link carries all responses. Round trips keep a single client below line rate, so four get more in total.
    let (one, all) = (alone.goodput_mbps(), four.goodput_mbps());
    assert!(all > one && all < 973.0, "{one} and {all} Mbit/s");
    assert_eq!(four.totals.payload_bytes, 4 * 5 * 25_000);
}

#[test]
fn all_hosts_can_be_clients_of_all_others() {
    let tables = run(&with(5, Servers::Others, 4));
    for host in 0..5 {
        assert_eq!(queries_of(&tables, host).len(), 5);
        assert_eq!(servers_of(&tables, host), (0..5).filter(|other| *other != host).collect());
    }
    let numbers: BTreeSet<u32> = tables.queries.iter().map(|query| query.round).collect();
    assert_eq!(numbers, (0..25).collect(), "a number is one query's");
    let last = tables.queries.iter().map(|q| q.start_ps + q.qct_ps.unwrap()).max();
    assert_eq!(last, Some(tables.totals.measured_ps), "it ends with the last of all");
}

#[test]
fn second_client_keeps_first_clients_draws() {
    let jittered = |clients| {
        run(&but(&with(clients, Servers::Own, 3), |s| {
            (s.workload.start_jitter, s.host.service_jitter) =
                (fanin_units::Time(100_000_000), fanin_units::Time(100_000_000));
        }))
    };
    let took = |tables: &RunTables, host| queries_of(tables, host).iter().map(|q| q.qct_ps).collect::<Vec<_>>();
    let (one, two) = (jittered(1), jittered(2));
    assert_eq!(took(&one, 0), took(&two, 0));
    assert_ne!(took(&two, 0), took(&two, 4), "and has draws of its own");
}

#[test]
fn queries_have_the_timeouts_of_their_client() {
    // The 24 responses of the first client overflow its port. The second client requests from two servers at once, which never overflows.
    // They share no servers.
    let harsh = |s: &mut fanin_spec::Settings| s.switch.buffer = fanin_units::QueueSize::Packets(20);
    let all = run(&but(&with(2, Servers::Own, 24), harsh));
    let sum: u64 = all.queries.iter().map(|query| query.timeouts.unwrap()).sum();
    assert!(sum > 0);
    assert_eq!(sum, all.totals.timeouts, "each is one query's");
    // With lossy background flows, the workload's timeouts are still those of its queries.
    let beside = run(&but(&with(1, Servers::Same, 8), |s| {
        harsh(s);
        s.workload.background = 4;
    }));
    let own: u64 = beside.queries.iter().map(|query| query.timeouts.unwrap()).sum();
    assert!(beside.totals.background_timeouts > 0);
    assert_eq!(own, beside.totals.timeouts - beside.totals.background_timeouts);
}

#[test]
fn warm_up_rounds_count_per_client() {
    let plain = with(3, Servers::Own, 2);
    let warmed = but(&plain, |s| s.workload.warm_up = fanin_spec::Optional(Some(fanin_spec::WarmUp::Rounds(2))));
    let (plain, warmed) = (run(&plain), run(&warmed));
    for host in [0, 3, 6] {
        assert_eq!(queries_of(&warmed, host).len(), queries_of(&plain, host).len());
    }
}
