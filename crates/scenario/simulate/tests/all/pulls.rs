//! Pulls: their ends, and limits of a client.

use std::sync::Arc;

use crate::common::{but, checked, run};
use fanin_spec::{FilePath, Kind, Optional, PacketJitter, Pulls, RunSpec, Scheme, Settings};
use fanin_tables::FlowKind;
use fanin_units::{Bytes, QueueSize, Rate, Time};

/// A run of a table's lines between 5 hosts at 10 Gbit/s.
fn pulls(lines: &str) -> RunSpec {
    let mut s = Settings::default();
    (s.link.rate, s.link.delay) = (Rate(10_000_000_000), Time::from_micros(1));
    s.host.packet_jitter = PacketJitter::None;
    s.switch.buffer = QueueSize::Bytes(1_000_000);
    s.workload.kind = Kind::Pulls;
    s.workload.pulls = Optional(Some(FilePath("pulls.csv".into())));
    let table = format!("pull,start_us,src,dst,bytes\n{lines}");
    s.inputs.pulls = Some(Arc::new(Pulls::parse("pulls.csv", &table).unwrap()));
    checked(Scheme::parse("dctcp").unwrap(), s, 4, 1)
}

/// One host pulls from three, then another one from the first.
const TABLE: &str = "7,100,1,0,1000000\n7,100,2,0,1000000\n7,100,3,0,1000000\n2,50.5,0,4,125000\n";

#[test]
fn pulls_end_with_their_last_answer() {
    let tables = run(&pulls(TABLE));
    let rows: Vec<_> = tables.queries.iter().map(|query| (query.round, query.client_host, query.start_ps)).collect();
    assert_eq!(rows, [(0, 4, 50_500_000), (1, 0, 100_000_000)]);
    assert!(tables.flows.iter().all(|flow| flow.class == FlowKind::Pull));
    assert_eq!(tables.totals.payload_bytes, 3_125_000);
    // 3 MB into one link: 2.4 ms of payload, with headers 2.53 ms, with a handshake and slow start.
    let took = tables.queries[1].qct_ps.unwrap() as f64;
    assert!((2.53e9..2.9e9).contains(&took), "{took}");
}

#[test]
fn limits_queue_a_clients_requests() {
    let starts = |requests: Option<u32>, bytes: Option<u64>| -> Vec<u64> {
        let spec = but(&pulls(TABLE), |s| {
            s.workload.in_flight = Optional(requests);
            s.workload.bytes_in_flight = Optional(bytes.map(Bytes));
        });
        let tables = run(&spec);
        assert!(tables.queries.iter().all(|query| query.qct_ps.is_some()));
        let into_0 = tables.flows.iter().filter(|flow| flow.to_host == 0);
        into_0.map(|flow| flow.start_ps / 100_000_000).collect()
    };
    // In tenths of a millisecond: an answer of 1 MB takes 8 to 10 of them alone, 16 to 20 with another one.
    let all = starts(None, None);
    assert_eq!(all, [1, 1, 1]);
    assert_eq!(starts(None, Some(3_000_000)), all);
    let one = starts(Some(1), None);
    assert!(one[1] >= one[0] + 8 && one[2] >= one[1] + 8, "{one:?}");
    // A single request is always allowed.
    assert_eq!(starts(None, Some(1)), one);
    let two = starts(None, Some(2_500_000));
    assert_eq!((two[0], two[1]), (1, 1));
    assert_eq!(starts(Some(2), None), two);
    assert!(two[2] >= 17, "{two:?}");
}
