//! Collective operations: traffic, duration, and waiting.

use std::sync::Arc;

use crate::common::{but, run, spec};
use fanin_spec::{Algorithm, Connections, FilePath, Kind, Matrix, Optional, RunSpec};
use fanin_tables::{FlowKind, RunTables};
use fanin_units::{Bytes, Time};

const RING: &str = r#"
    schemes = ["dctcp"]
    [link]
    rate = "10 Gbit/s"
    delay = "1 us"
    [host]
    packet_jitter = "none"
    [switch]
    buffer = "1 MB"
    [workload]
    kind = "all-reduce"
    fragment = "8 MB"
    queries = 3
    duration = "60 s"
"#;

fn ring(hosts: u32) -> RunSpec {
    spec(RING, hosts - 1, 1)
}

#[test]
fn hosts_send_their_parts_twice() {
    let tables = run(&ring(4));
    // 8 MB in 4 parts: 3 steps of sums and 3 of copies, 3 times.
    for from in 0..4 {
        let sent: Vec<_> = tables.flows.iter().filter(|flow| flow.from_host == from).collect();
        assert!(sent.iter().all(|flow| flow.class == FlowKind::Part && flow.to_host == (from + 1) % 4));
        assert_eq!(sent.iter().filter_map(|flow| flow.payload_bytes).collect::<Vec<_>>(), [2_000_000; 18]);
    }
    assert_eq!(tables.totals.payload_bytes, 3 * 4 * 6 * 2_000_000);
}

#[test]
fn all_reduce_nears_link_time() {
    let tables = run(&ring(4));
    // 6 parts of 2 MB over each link: 9.6 ms of payload at 10 Gbit/s, by 1538/1460 with headers and framing.
    let least = 9_600_000_000.0 * 1538.0 / 1460.0;
    let times: Vec<f64> = tables.queries.iter().filter_map(|query| query.qct_ps).map(|ps| ps as f64).collect();
    assert_eq!(times.len(), 3);
    // Handshakes and slow start delay only the first.
    assert!(times.iter().all(|&took| took > least), "{times:?} of at least {least}");
    assert!(times[1..].iter().all(|&took| took < 1.05 * least), "{times:?} of at least {least}");
}

#[test]
fn late_vector_delays_the_ring() {
    let late = but(&ring(5), |s| s.workload.start_jitter = Time::from_millis(50));
    let tables = run(&late);
    let first = |from: u32| tables.flows.iter().find(|flow| flow.from_host == from).expect("a part").start_ps;
    let latest = (0..5).map(first).max().expect("hosts");
    assert!(tables.queries[0].qct_ps.expect("it ends") > latest, "a sum needs everybody");
    for host in 0..5 {
        let sent = tables.flows.iter().filter(|flow| flow.from_host == host);
        let came: Vec<u64> = tables
            .flows
            .iter()
            .filter(|flow| flow.to_host == host)
            .filter_map(|flow| Some(flow.start_ps + flow.fct_ps?))
            .collect();
        for (step, flow) in sent.take(8).enumerate().skip(1) {
            assert!(flow.start_ps >= came[step - 1], "host {host}, step {step}");
        }
    }
}

#[test]
fn uneven_parts_add_up() {
    for connections in [Connections::Standing, Connections::New] {
        let odd = but(&ring(3), |s| {
            s.workload.fragment = Optional(Some(Bytes(10_001)));
            s.workload.connections = connections;
        });
        let tables = run(&odd);
        // Each of the two steps moves every part once.
        assert_eq!(tables.totals.payload_bytes, 3 * 4 * 10_001, "{connections:?}");
        assert!(tables.queries.iter().all(|query| query.qct_ps.is_some()));
    }
}

/// Durations of a run's operations, in ps.
fn times(tables: &RunTables) -> Vec<f64> {
    tables.queries.iter().map(|query| query.qct_ps.expect("it ends") as f64).collect()
}

#[test]
fn other_algorithms_near_link_time() {
    let of = |hosts, algorithm| {
        run(&but(&ring(hosts), |s| {
            (s.workload.algorithm, s.workload.chunk) = (algorithm, Bytes(100_000));
        }))
    };
    // Over each link of 8 hosts 4 + 2 + 1 MB twice: 11.2 ms of payload at 10 Gbit/s.
    let halving = of(8, Algorithm::HalvingDoubling);
    assert_eq!(halving.totals.payload_bytes, 3 * 8 * 14_000_000);
    let least = 11.2e9 * 1538.0 / 1460.0;
    assert!(times(&halving)[1..].iter().all(|&took| (least..1.05 * least).contains(&took)), "{:?}", times(&halving));
    // Two trees of 4 MB: 7 links each, both ways. A host that is inside one tree receives 2 x 4 MB on the way up and 4 MB from its parent;
    // in the other tree it is a leaf, with 4 MB: 16 MB, 12.8 ms. The root has less. Connections
    // share a link unevenly, so that some chunks wait.
    let trees = of(8, Algorithm::Tree);
    assert_eq!(trees.totals.payload_bytes, 3 * 2 * 7 * 2 * 4_000_000);
    let least = 12.8e9 * 1538.0 / 1460.0;
    assert!(times(&trees)[1..].iter().all(|&took| (least..1.4 * least).contains(&took)), "{:?}", times(&trees));
}

#[test]
fn trees_beat_rings_with_small_vectors() {
    let small = |algorithm| {
        let spec = but(&ring(32), |s| {
            s.workload.fragment = Optional(Some(Bytes(3_200)));
            s.workload.algorithm = algorithm;
        });
        times(&run(&spec))[2]
    };
    // A ring takes 62 steps of at least 2 us, a tree 2 x 6 levels, halving-doubling 10 steps.
    let (ring, tree, halving) = (small(Algorithm::Ring), small(Algorithm::Tree), small(Algorithm::HalvingDoubling));
    assert!(ring > 62.0 * 2.0e6 && 2.0 * tree < ring && 2.0 * halving < ring, "{ring} {tree} {halving}");
}

const MATRIX: &str = "operation,src,dst,bytes\n0,0,1,500000\n0,1,0,100000\n0,2,2,7\n1,2,0,300000\n1,3,0,300000\n";

fn by_matrix(queries: u32) -> RunSpec {
    but(&ring(4), |s| {
        (s.workload.kind, s.workload.queries) = (Kind::AllToAll, queries);
        s.workload.fragment = Optional(None);
        s.workload.matrix = Optional(Some(FilePath("matrix.csv".into())));
        s.inputs.matrix = Some(Arc::new(Matrix::parse("matrix.csv", MATRIX).unwrap()));
    })
}

#[test]
fn matrices_are_used_in_turn() {
    let tables = run(&by_matrix(3));
    let sent: Vec<_> =
        tables.flows.iter().map(|flow| (flow.from_host, flow.to_host, flow.payload_bytes.unwrap())).collect();
    let first = [(0, 1, 500_000), (1, 0, 100_000)];
    assert_eq!(sent, [&first[..], &[(2, 0, 300_000), (3, 0, 300_000)], &first].concat());
    // 500 kB over one link, then 600 kB into one.
    let least = [0.4e9, 0.48e9, 0.4e9];
    for (took, least) in times(&tables).into_iter().zip(least) {
        assert!((1.05 * least..1.4 * least).contains(&took), "{took} of {least}");
    }
}

#[test]
fn all_to_all_limits_peers() {
    let all = but(&ring(8), |s| {
        (s.workload.kind, s.workload.queries) = (Kind::AllToAll, 1);
        s.workload.fragment = Optional(Some(Bytes(1_000_000)));
    });
    let one = but(&all, |s| s.workload.in_flight = Optional(Some(1)));
    let (all, one) = (run(&all), run(&one));
    assert_eq!((all.flows.len(), all.totals.payload_bytes), (56, 56_000_000));
    assert_eq!((one.flows.len(), one.totals.payload_bytes), (56, 56_000_000));
    let start = |tables: &RunTables, from: u32| -> Vec<(u32, u64)> {
        tables.flows.iter().filter(|flow| flow.from_host == from).map(|flow| (flow.to_host, flow.start_ps)).collect()
    };
    assert!(start(&all, 5).iter().all(|&(_, at)| at == 0));
    // From the next host on, one after another.
    let peers = start(&one, 5);
    assert_eq!(peers.iter().map(|&(to, _)| to).collect::<Vec<_>>(), [6, 7, 0, 1, 2, 3, 4]);
    assert!(peers.windows(2).all(|pair| pair[1].1 >= pair[0].1 + 800_000_000), "{peers:?}");
}
