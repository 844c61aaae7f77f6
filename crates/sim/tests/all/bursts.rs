//! Bursts into one client: replayed from a table and drawn from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{checked, run};
use fanin_spec::{Bursts, FilePath, Kind, Optional, RunSpec, Scheme, Settings};
use fanin_tables::RunTables;
use fanin_units::{QueueSize, Time};

fn bursts(table: &str, servers: u32, seed: u64) -> RunSpec {
    let mut s = Settings::default();
    s.workload.kind = Kind::Bursts;
    s.workload.bursts = Optional(Some(FilePath("bursts.csv".into())));
    s.workload.duration = Time::from_millis(50);
    s.inputs.bursts = Some(Arc::new(Bursts::parse("bursts.csv", table).unwrap()));
    s.switch.buffer = QueueSize::Bytes(1_000_000);
    checked(Scheme::parse("newreno").unwrap(), s, servers, seed)
}

/// Senders and bytes of each burst.
fn seen(tables: &RunTables) -> BTreeMap<u64, (BTreeSet<u32>, u64)> {
    let mut seen: BTreeMap<u64, (BTreeSet<u32>, u64)> = BTreeMap::new();
    for flow in &tables.flows {
        let burst = seen.entry(flow.round.unwrap()).or_default();
        assert!(burst.0.insert(flow.from_host), "a server sends once in a burst");
        burst.1 += flow.payload_bytes.unwrap();
    }
    seen
}

#[test]
fn measured_bursts_repeat_in_order() {
    // The period is 8 + 4 ms. Within 50 ms the first burst starts at 8, 20, 32 and 44, the second at 12, 24, 36 and 48 ms.
    let tables = run(&bursts("gap_us,fan_in,bytes\n8000,3,10000\n4000.5,1,7\n", 8, 1));
    let starts: Vec<u64> = tables.queries.iter().map(|query| query.start_ps / 1_000_000).collect();
    assert_eq!(starts, [8_000, 12_000, 20_000, 24_001, 32_001, 36_001, 44_001, 48_002]);
    for (number, (senders, bytes)) in seen(&tables) {
        assert_eq!((senders.len(), bytes), if number % 2 == 0 { (3, 10_000) } else { (1, 7) });
    }
    assert!(tables.queries.iter().all(|query| query.qct_ps.is_some()));
    assert_eq!(tables.totals.payload_bytes, 4 * 10_007);
}

#[test]
fn bursts_overlap_and_all_end() {
    // 1 MB per ms is eight times the link's rate.
    let tables = run(&bursts("gap_us,fan_in,bytes\n1000,20,1000000\n", 20, 1));
    assert_eq!(tables.queries.len(), 50);
    assert!(tables.queries[1].start_ps < tables.queries[0].qct_ps.unwrap());
    assert!(tables.queries.iter().all(|query| query.qct_ps.is_some()));
    assert!(tables.totals.measured_ps > Time::from_millis(400).0);
}

#[test]
fn drawn_bursts_match_the_table() {
    let table = "of,value,cdf\n\
        gap_us,50,0\ngap_us,150,1\n\
        fan_in,2,0.5\nfan_in,6,0.5\nfan_in,6,1\n\
        bytes,4000,1\n";
    let tables = run(&bursts(table, 10, 1));
    let n = tables.queries.len() as f64;
    // 50 ms over 100 us; the standard deviation of the sum of 500 gaps is 29 us * 22.
    assert!((470.0..530.0).contains(&n), "{n} bursts");
    let seen = seen(&tables);
    let narrow = seen.values().filter(|(senders, _)| senders.len() == 2).count() as f64;
    let wide = seen.values().filter(|(senders, _)| senders.len() == 6).count() as f64;
    assert_eq!(narrow + wide, n);
    assert!((0.42..0.58).contains(&(narrow / n)), "{narrow} of {n}");
    assert!(seen.values().all(|(_, bytes)| *bytes == 4_000));
    let servers: BTreeSet<u32> = tables.flows.iter().map(|flow| flow.from_host).collect();
    assert_eq!(servers, (1..=10).collect(), "each sends some time");
    assert_ne!(tables.queries, run(&bursts(table, 10, 2)).queries);
}
