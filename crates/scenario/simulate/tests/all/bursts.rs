//! Bursts into one client: replayed from a table and drawn from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::common::{checked, run};
use fanin_spec::{Bursts, FilePath, Kind, Optional, RunSpec, Scheme, Settings, Share};
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

/// A run with a generator whose bursts are clustered by this share.
fn generated(clustering: Share) -> RunTables {
    let mut s = Settings::default();
    s.workload.kind = Kind::Bursts;
    s.workload.duration = Time::from_millis(1_000);
    s.switch.buffer = QueueSize::Bytes(1_000_000);
    s.bursts.spacing = Optional(Some(Time::from_millis(2)));
    (s.bursts.width, s.bursts.height) = (Time::from_micros(100), 4);
    (s.bursts.clustering, s.bursts.cluster_gap) = (clustering, Time::from_micros(200));
    run(&checked(Scheme::parse("newreno").unwrap(), s, 8, 1))
}

#[test]
fn generated_bursts_have_their_means() {
    let tables = generated(Share::of(0, 1));
    let seen = seen(&tables);
    let count = seen.len() as f64;
    // One in 2 ms, with a standard deviation of 22 in 500.
    assert!((430.0..570.0).contains(&count), "{count}");
    let fan_in = seen.values().map(|(senders, _)| senders.len() as f64).sum::<f64>() / count;
    assert!((3.7..4.3).contains(&fan_in) && seen.values().all(|(senders, _)| senders.len() <= 7), "{fan_in}");
    // 1 Gbit/s carries 12.5 kB in 100 us.
    let bytes = seen.values().map(|(_, bytes)| *bytes as f64).sum::<f64>() / count;
    assert!((10_500.0..14_500.0).contains(&bytes), "{bytes}");
}

#[test]
fn clustered_bursts_follow_closely() {
    let starts: Vec<u64> = generated(Share::of(1, 2)).queries.iter().map(|query| query.start_ps).collect();
    // Half of the gaps have a mean of 0.2 ms, half of 2 ms: 1.1 ms.
    assert!((780..1_040).contains(&starts.len()), "{}", starts.len());
    let close = starts.windows(2).filter(|pair| pair[1] - pair[0] < 200_000_000).count() as f64;
    // Of the short gaps 63 % are below their mean, of the long ones 10 %.
    assert!((0.31..0.42).contains(&(close / starts.len() as f64)), "{close} of {}", starts.len());
}
