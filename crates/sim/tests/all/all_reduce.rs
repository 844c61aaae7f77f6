//! Ring all-reduces: traffic, duration, and waiting.

use crate::common::{but, run, spec};
use fanin_spec::{Connections, Optional, RunSpec};
use fanin_tables::FlowKind;
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
