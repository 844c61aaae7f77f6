//! Watching does not change a run, and its events match the tables.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::common::{run, spec};
use fanin_simulate::watch;
use fanin_spec::{Scenario, Watch};
use fanin_tables::RunTables;
use fanin_units::Time;

const COLLAPSE: &str = r#"
    schemes = ["newreno"]
    [tcp]
    sack = false
    [workload]
    fragment = "64 KiB"
    start_jitter = "50 us"
    duration = "300 ms"
"#;

fn watched(step: Time) -> RunTables {
    let all = Watch { step, from: Time::ZERO, to: Time::NEVER, servers: vec![0, 1, 2, 23] };
    watch(&spec(COLLAPSE, 24, 1), all, &AtomicBool::new(false)).unwrap_or_else(|failure| panic!("{failure:?}"))
}

#[test]
fn watching_does_not_change_tables() {
    let (plain, seen) = (run(&spec(COLLAPSE, 24, 1)), watched(Time::from_micros(100)));
    assert_eq!((plain.totals, plain.flows, plain.ports), (seen.totals, seen.flows, seen.ports));
}

#[test]
fn prefetching_keeps_the_tables() {
    let large = "schemes = [\"newreno\"]\n[workload]\nkind = \"one-shot\"\nfragment = \"8 KiB\"\nduration = \"10 s\"";
    let of = spec(large, 2_000, 1);
    // A watched run does not prefetch.
    let all = Watch { step: Time::from_micros(100), from: Time::ZERO, to: Time::NEVER, servers: vec![0] };
    let (plain, seen) =
        (run(&of), watch(&of, all, &AtomicBool::new(false)).unwrap_or_else(|failure| panic!("{failure:?}")));
    assert!(plain.totals.drops > 0 && plain.totals.data_packets > 4_000);
    assert_eq!((plain.totals, plain.flows, plain.ports), (seen.totals, seen.flows, seen.ports));
}

#[test]
fn every_drop_and_timeout_is_seen() {
    let seen = watched(Time::from_micros(100));
    let count = |what: &str| seen.events.iter().filter(|event| event.what == what).count() as u64;
    assert!(seen.totals.timeouts > 0, "nothing collapsed");
    assert_eq!(count("drop"), seen.totals.drops);
    assert_eq!(count("timeout"), seen.totals.timeouts);
    assert_eq!(count("fast_retransmit"), seen.totals.fast_retransmits);
    assert_eq!(count("round_end"), seen.totals.rounds);
}

#[test]
fn samples_include_longest_queue() {
    let seen = watched(Time::from_micros(100));
    let longest = seen.samples.iter().filter(|s| s.series == "queue").filter_map(|s| s.value_bytes).max();
    assert_eq!(longest, Some(seen.totals.queue_max_bytes));
    let mut of: Vec<&str> = seen.samples.iter().filter(|s| s.series == "cwnd").map(|s| s.of.as_str()).collect();
    of.sort_unstable();
    of.dedup();
    assert_eq!(of, ["server1", "server2", "server24", "server3"]);
    assert!(seen.samples.is_sorted_by_key(|s| s.time_ps));
}

#[test]
fn series_have_at_most_one_sample_per_step() {
    let step = Time::from_micros(500);
    let seen = watched(step);
    let queue: Vec<u64> = seen.samples.iter().filter(|s| s.series == "queue").map(|s| s.time_ps / step.0).collect();
    assert!(queue.is_sorted_by(|a, b| a < b));
}

#[test]
fn queue_samples_are_valid_until_next() {
    let step = Time::from_micros(100);
    let seen = watched(step);
    let queue: Vec<_> = seen.samples.iter().filter(|s| s.series == "queue").collect();
    let pauses: Vec<_> = queue.windows(2).filter(|pair| pair[1].time_ps - pair[0].time_ps > 2 * step.0).collect();
    assert!(!pauses.is_empty(), "nobody waited for a timeout");
    assert!(pauses.iter().all(|pair| pair[0].value_bytes == Some(0)), "a queue that holds something moves");
}

#[test]
fn rounds_end_at_the_times_of_queries() {
    let seen = watched(Time::from_micros(100));
    let ends: Vec<u64> = seen.events.iter().filter(|e| e.what == "round_end").map(|e| e.time_ps).collect();
    let queries: Vec<u64> = seen.queries.iter().filter_map(|q| q.qct_ps.map(|ps| q.start_ps + ps)).collect();
    assert!(!ends.is_empty());
    assert_eq!(ends, queries);
}

#[test]
fn threshold_and_use_add_up() {
    let all = Watch { step: Time::from_micros(1), from: Time::ZERO, to: Time::NEVER, servers: vec![0] };
    let plain = spec(
        "schemes = [\"newreno\"]\n[switch]\nshared_buffer = \"100 KB\"\n[workload]\nfragment = \"64 KiB\"\nduration = \"50 ms\"\n",
        8,
        1,
    );
    let seen = watch(&plain, all, &AtomicBool::new(false)).expect("it ends");
    let series = |kind: &str| -> BTreeMap<u64, u64> {
        seen.samples.iter().filter(|s| s.series == kind).filter_map(|s| Some((s.time_ps, s.value_bytes?))).collect()
    };
    let (thresholds, held) = (series("threshold"), series("memory"));
    assert!(thresholds.len() > 100 && held.len() > 100);
    // A step shows the minimum threshold and the maximum use, both at one instant.
    let both = thresholds.iter().filter_map(|(time, threshold)| Some(threshold + held.get(time)?));
    assert!(both.clone().count() > 100 && both.clone().all(|sum| sum == 100_000));
    assert_eq!(held.values().max(), Some(&seen.totals.queue_max_bytes));
    let queues = series("queue");
    assert!(queues.iter().all(|(time, queue)| held.get(time).is_none_or(|held| queue <= held)));
}

/// A list of flows fills one port, which makes requests at another drop: both share their switch's memory.
const SQUEEZED: &str = r#"
    schemes = ["newreno"]
    [link]
    rate = "10 Gbit/s"
    [switch]
    shared_buffer = "256 KB"
    alpha = 1
    [tcp]
    rto_min = "10 ms"
    [workload]
    fragment = "16 KiB"
    file = "flows.csv"
    duration = "50 ms"
    [sweep]
    fan_in = [8]
"#;

#[test]
fn drops_report_packet_and_memory_user() {
    let flows = "src,dst,bytes,start_us,stop_us\n6,1,,0,\n7,1,,0,\n8,1,,0,\n";
    let scenario = Scenario::parse("squeezed.toml", SQUEEZED).unwrap();
    let variants = scenario.variants_with(&|_| Ok(("flows.csv".into(), flows.into()))).unwrap();
    let spec = variants[0].run(8, 1).unwrap();
    let all = Watch { step: Time::from_micros(10), from: Time::ZERO, to: Time::NEVER, servers: vec![0] };
    let seen = watch(&spec, all, &AtomicBool::new(false)).unwrap_or_else(|failure| panic!("{failure:?}"));
    let timers = seen.events.iter().filter(|e| e.what == "timeout" || e.what == "probe");
    let lost = timers.filter_map(|timer| {
        let own = |e: &&fanin_tables::EventRow| e.what == "drop" && e.of == timer.at && e.to == timer.to;
        seen.events.iter().filter(own).find(|e| e.seq == timer.seq && e.packet == "data")
    });
    let lost: Vec<_> = lost.collect();
    assert!(!lost.is_empty(), "no timer sends a lost packet again");
    for drop in &lost {
        assert_eq!((drop.at.as_str(), drop.to.as_str(), drop.why.as_str()), ("switch>client", "client", "full"));
        let [held, shared] = [drop.holder_bytes, drop.shared_bytes].map(|bytes| bytes.expect("a shared memory"));
        assert!(held * 4 > shared && held <= shared, "{held} of {shared}");
        let own = drop.queue_bytes.expect("a port's queue");
        assert!((drop.holder == "switch>client") == (own == held), "{drop:?}");
    }
    assert!(lost.iter().any(|drop| drop.holder == "switch>server1"), "the list's port held more than the client's");
}
