//! Measuring ports does not change a run, and its results agree with independent counts.

use std::sync::atomic::AtomicBool;

use crate::common::{but, run, spec, specs};
use fanin_simulate::watch;
use fanin_spec::{RunSpec, Watch};
use fanin_tables::{PortRow, RunTables};
use fanin_units::Time;
use proptest::prelude::*;

fn measured(plain: &RunSpec) -> RunTables {
    run(&but(plain, |settings| settings.measure.ports = true))
}

/// A shuffle ends with its last flow.
fn end(tables: &RunTables) -> u64 {
    tables.flows.iter().map(|flow| flow.start_ps + flow.fct_ps.expect("every flow ends")).max().expect("flows")
}

/// Every discipline that drops or marks, on two racks with a link that fails and another that slows down.
const RACKS: &str = r#"
    schemes = ["newreno", "dctcp", "newreno+red+ecn", "newreno+codel"]
    [fabric]
    kind = "leaf-spine"
    racks = 2
    hosts_per_rack = 4
    spines = 2
    changes = ["4 ms leaf1 spine1 down", "9 ms leaf1 spine1 up", "2 ms server5 leaf2 200 Mbit/s"]
    [switch]
    buffer = "30 packets"
    [tcp]
    rto_min = "10 ms"
    [workload]
    kind = "shuffle"
    fragment = "200 KB"
    start_jitter = "1 ms"
    duration = "100 s"
"#;

#[test]
fn measuring_ports_keeps_the_tables() {
    for plain in specs(RACKS, 7, 1) {
        let (without, with) = (run(&plain), measured(&plain));
        let bare = |row: PortRow| PortRow { queue_mean_bytes: None, queue_p99_bytes: None, busy_ppm: None, ..row };
        let ports = with.ports.into_iter().map(bare).collect();
        let same = RunTables { ports, port_series: Vec::new(), engine: without.engine, ..with };
        assert_eq!(same, without, "{}", plain.label);
    }
}

#[test]
fn measures_ports_in_watched_runs() {
    let plain = spec(STAR, 5, 1);
    let all = Watch { step: Time::from_micros(100), from: Time::ZERO, to: Time::NEVER, servers: vec![0] };
    let seen = watch(&plain, all, &AtomicBool::new(false)).expect("it ends");
    let unseen = run(&plain);
    assert!(!seen.samples.is_empty());
    assert_eq!((seen.ports, seen.port_series), (unseen.ports, unseen.port_series));
}

#[test]
fn drops_and_marks_of_ports_add_up() {
    for plain in specs(RACKS, 7, 1) {
        let tables = measured(&plain);
        let sum = |pick: fn(&PortRow) -> u64| tables.ports.iter().map(pick).sum::<u64>();
        assert_eq!(sum(PortRow::drops), tables.totals.drops);
        assert_eq!(sum(|p| p.marks), tables.totals.marks);
        assert!(tables.totals.drops + tables.totals.marks > 0, "{}", plain.label);
    }
}

#[test]
fn parts_add_up_to_the_run_at_every_port() {
    for plain in specs(RACKS, 7, 1) {
        let tables = measured(&plain);
        let end = end(&tables);
        for port in &tables.ports {
            let parts = || tables.port_series.iter().filter(|part| part.port == port.port);
            assert_eq!(parts().map(|part| part.queue_max_bytes).max(), Some(port.queue_max_bytes), "{}", port.port);
            let mean = parts().map(|part| part.queue_mean_bytes * part.span_ps.min(end - part.time_ps)).sum::<u64>()
                as f64
                / end as f64;
            assert!((mean - port.queue_mean_bytes.expect("measured") as f64).abs() <= 1.0, "{}: {mean}", port.port);
            assert!(parts().count() <= 200 && parts().all(|part| part.busy_ppm <= 1_000_000));
        }
    }
}

const STAR: &str = r#"
    schemes = ["newreno"]
    [host]
    packet_jitter = "none"
    [tcp]
    sack = false
    [switch]
    buffer = "10 MB"
    [workload]
    kind = "shuffle"
    fragment = "146 KB"
    start_jitter = "2 ms"
    duration = "100 s"
    [measure]
    ports = true
    latency = true
"#;

proptest! {
    #![proptest_config(fanin_testing::cases(12))]

    /// Little's law: the mean queue in bytes equals bytes per second times the mean wait. Nothing is lost, so time beyond transmission and
    /// propagation is waiting, at the host and at the switch.
    #[test]
    fn mean_queue_satisfies_littles_law(servers in 2u32..12, seed: u64) {
        let spec = spec(STAR, servers, seed);
        let tables = run(&spec);
        prop_assert_eq!(tables.totals.drops, 0);
        let waited: u64 = tables.ports.iter().map(|port| port.queue_mean_bytes.unwrap_or(0)).sum();
        let link = &spec.settings.link;
        let packet_of = |what: &str| if what == "data" { spec.settings.full_packet().0 as u32 } else { 40 };
        let byte_ps: f64 = tables.latency.iter().map(|row| {
            let packet = packet_of(&row.what);
            let least = 2 * (link.rate.time_for(link.framing.on_wire(packet).into()).0 + link.delay.0);
            row.packets as f64 * f64::from(link.framing.frame(packet)) * (row.mean_ps as f64 - least as f64)
        }).sum();
        let end = end(&tables);
        let expected = byte_ps / end as f64;
        prop_assert!((waited as f64 - expected).abs() < 0.01 * expected + 30.0, "{waited} B, and {expected} by Little");
    }

    #[test]
    fn link_is_busy_for_the_time_of_its_bytes(servers in 2u32..12, seed: u64) {
        let spec = spec(STAR, servers, seed);
        let tables = run(&spec);
        let end = end(&tables);
        for port in &tables.ports {
            // The last packets may still wait or be in flight.
            let bytes = |ppm: u64| ppm as f64 / 1e6 * end as f64 / spec.settings.link.rate.time_for(1).0 as f64;
            let unsent = port.wire_bytes as f64 - bytes(port.busy_ppm.expect("measured"));
            let under_way = tables.totals.in_flight_packets as f64 * 1_538.0;
            prop_assert!(-bytes(1) <= unsent && unsent <= under_way + bytes(1), "{}: {unsent} B", port.port);
        }
    }
}

#[test]
fn memory_use_is_sum_of_ports() {
    let shared = STAR.replace("buffer = \"10 MB\"", "shared_buffer = \"100 KB\"\nreserved = \"2 KB\"");
    let shared = spec(&shared.replace("ports = true", "ports = false"), 5, 1);
    let tables = measured(&shared);
    let [memory] = &tables.memories[..] else { panic!("one switch: {:?}", tables.memories) };
    assert_eq!((&*memory.switch, memory.shared_bytes), ("switch", 100_000 - 6 * 2_000));
    let at_switch = || tables.ports.iter().filter(|port| port.tier == "switch down");
    let largest = at_switch().map(|port| port.queue_max_bytes.saturating_sub(2_000)).max().expect("ports");
    assert!((largest..=memory.shared_bytes).contains(&memory.used_max_bytes), "{memory:?}, one port held {largest}");
    assert_eq!(memory.refused_packets, at_switch().map(|port| port.drops_full).sum::<u64>());
    let most = tables.memory_series.iter().map(|part| part.used_max_bytes).max();
    assert_eq!(most, Some(memory.used_max_bytes));
    let (end, parts) = (end(&tables), &tables.memory_series);
    let sum: u64 = parts.iter().map(|part| part.used_mean_bytes * part.span_ps.min(end - part.time_ps)).sum();
    let mean = sum as f64 / end as f64;
    assert!((mean - memory.used_mean_bytes as f64).abs() <= 1.0, "{mean} in parts, {memory:?}");
    assert!(memory.refused_packets > 0 && memory.used_mean_bytes > 0);
    // Without measurement, nothing changes.
    let unseen = run(&shared);
    assert_eq!((unseen.totals, unseen.flows), (tables.totals, tables.flows));
    assert!(unseen.memories.is_empty() && unseen.holders.is_empty());
}
