//! RDMA over lossless ports.

use std::sync::atomic::AtomicBool;

use fanin_sim::Departures;
use fanin_simulate::run_with;
use fanin_spec::{RunSpec, Scenario};
use fanin_tables::{PauseRow, RunTables};
use proptest::prelude::*;

use crate::common::run;

const ROCE: &str = include_str!("../../../../../scenarios/roce-incast.toml");

/// A run of the scenario with other settings.
fn spec(scheme: &str, fan_in: u32, seed: u64, settings: &[&str]) -> RunSpec {
    let sweep = format!("sweep.fan_in=[{fan_in}]");
    let mut scenario = Scenario::parse("roce-incast.toml", ROCE).unwrap();
    scenario.select("--schemes", &[scheme]).unwrap();
    for set in [sweep.as_str()].iter().chain(settings) {
        scenario.assign("--set", set).unwrap();
    }
    scenario.variants().unwrap()[0].at(0, seed).unwrap()
}

/// Completion times of the flows of some seeds, us, in order.
fn times(scheme: &str, fan_in: u32, seeds: u64) -> (Vec<f64>, Vec<RunTables>) {
    let runs: Vec<RunTables> = (1..=seeds).map(|seed| run(&spec(scheme, fan_in, seed, &[]))).collect();
    let flows = runs.iter().flat_map(|run| &run.flows);
    let mut times: Vec<f64> = flows.map(|flow| flow.fct_ps.expect("it ends") as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    (times, runs)
}

/// Median and largest flow times of Alibaba's ns-3 (commit 9f4be2a) with run.py's settings, us.
const NS3: [(&str, u32, f64, f64); 11] = [
    ("dcqcn", 8, 550.0, 559.0),
    ("dcqcn", 64, 2_616.0, 2_775.0),
    ("dcqcn-window", 8, 336.0, 336.0),
    ("dcqcn-window", 64, 2_603.0, 2_729.0),
    ("hpcc", 8, 343.0, 379.0),
    ("hpcc", 64, 2_858.0, 2_933.0),
    ("timely", 8, 340.0, 340.0),
    ("timely", 64, 2_680.0, 2_692.0),
    ("rdma-dctcp", 8, 336.0, 336.0),
    ("rdma-dctcp", 32, 1_321.0, 1_332.0),
    ("rdma-dctcp", 64, 2_514.0, 2_673.0),
];

#[test]
fn flow_times_are_those_of_ns_3() {
    for (scheme, fan_in, median, largest) in NS3 {
        let (times, runs) = times(scheme, fan_in, 3);
        let found = [times[times.len() / 2], times[times.len() - 1]];
        let off = [found[0] / median - 1.0, found[1] / largest - 1.0];
        assert!(off.iter().all(|off| off.abs() < 0.05), "{scheme} {fan_in}: {found:?}, not {median} and {largest}");
        assert!(runs.iter().all(|run| run.totals.drops + run.totals.timeouts == 0), "{scheme} {fan_in}");
    }
}

fn pauses(run: &RunTables) -> u64 {
    run.pauses.iter().map(|row| row.pauses).sum()
}

#[test]
fn pauses_are_as_many_as_in_ns_3() {
    // 207 with TIMELY and 64 senders, none with the others.
    let (_, runs) = times("timely", 64, 3);
    let mean = runs.iter().map(pauses).sum::<u64>() as f64 / 3.0;
    assert!((mean / 207.0 - 1.0).abs() < 0.15, "{mean} pauses");
    let causes = runs.iter().flat_map(|run| &run.pauses);
    assert!(causes.into_iter().all(|row| row.cause == "switch>client" && row.class == 3 && row.paused_ps > 0));
    for scheme in ["dcqcn", "dcqcn-window", "hpcc", "rdma-dctcp"] {
        assert_eq!(pauses(&run(&spec(scheme, 64, 1, &[]))), 0, "{scheme}");
    }
}

#[test]
fn marks_come_from_the_ramp_alone() {
    let marks = |settings: &[&str]| run(&spec("dcqcn", 32, 1, settings)).totals.marks;
    assert!(marks(&[]) > 1_000);
    assert_eq!(marks(&["ecn_ramp.k_min=20 MB", "ecn_ramp.k_max=30 MB"]), 0);
}

#[test]
fn cnp_interval_limits_notifications() {
    // Cuts once in 50 us at most leave higher rates, which pauses hold back.
    let slow = run(&spec("dcqcn", 64, 1, &["dcqcn.cnp_interval=50 us"]));
    assert!(pauses(&slow) > 0, "no pauses");
    assert_eq!(slow.totals.drops, 0);
}

#[test]
fn lossy_port_is_recovered_by_going_back() {
    // Random loss, which no pause prevents.
    let lossy = run(&spec("dcqcn-window", 8, 1, &["faults.loss=0.1 %"]));
    let (all, lost) = (lossy.totals, lossy.faults.iter().map(|row| row.lost_packets).sum::<u64>());
    assert!(lost > 3 && all.retransmits > 10 * lost, "{lost} lost, {} sent again", all.retransmits);
    assert_eq!(all.payload_bytes, 8 * 500_000);
}

const RACKS: [&str; 5] = [
    "fabric.kind=leaf-spine",
    "fabric.racks=2",
    "fabric.hosts_per_rack=32",
    "fabric.spines=1",
    "switch.shared_buffer=6 MB",
];

#[test]
fn pauses_spread_from_switch_to_switch() {
    // Two racks: 30 senders in the far one fill the client's port; the spines are paused, and their pauses reach the senders.
    let tables = run(&spec("timely", 60, 1, &RACKS));
    assert_eq!(tables.totals.drops, 0);
    let paused: Vec<&str> = tables.pauses.iter().map(|row| row.port.as_str()).collect();
    let between_switches = paused.iter().filter(|port| !port.contains("server")).count();
    assert!(between_switches > 0, "{paused:?}");
    assert_eq!(tables.totals.payload_bytes, 60 * 500_000);
    // The spine pauses a leaf while its own port is paused; all packets go to the client.
    let spread = |row: &PauseRow| row.spread > 0 && row.cause == "spine1>leaf1";
    assert!(tables.pauses.iter().any(spread), "{:?}", tables.pauses);
    assert!(tables.pauses.iter().all(|row| row.spread <= row.pauses && row.blocked_packets == 0));
    // One switch has no port that could be paused.
    let star = run(&spec("timely", 64, 1, &[]));
    assert!(star.pauses.iter().all(|row| row.spread == 0 && row.blocked_packets == 0));
}

#[test]
fn pauses_block_packets_to_other_ports() {
    let all = ["workload.kind=shuffle", "workload.fragment=200 KB"];
    let tables = run(&spec("timely", 40, 1, &[&RACKS[..], &all].concat()));
    let blocked = |row: &&PauseRow| row.blocked_packets > 0;
    let links: Vec<&str> = tables.pauses.iter().filter(blocked).map(|row| row.port.as_str()).collect();
    assert!(links.contains(&"server1>leaf1"), "{links:?}");
}

#[test]
fn eager_departures_change_nothing() {
    // Hosts alone could compute departures in advance, and pauses forbid that.
    let spec = spec("timely", 64, 1, &[]);
    let runs = [Departures::Eager, Departures::Lazy].map(|how| run_with(&spec, how, &AtomicBool::new(false)).unwrap());
    assert_eq!(runs[0].flows, runs[1].flows);
    assert_eq!(runs[0].pauses, runs[1].pauses);
}

#[test]
fn headroom_and_memory_are_checked() {
    let refused = |set: &[&str]| {
        let mut scenario = Scenario::parse("roce-incast.toml", ROCE).unwrap();
        set.iter().for_each(|set| scenario.assign("--set", set).unwrap());
        scenario.variants().unwrap_err().to_string()
    };
    // Two delays of 1 us carry 25,000 B; two frames of 1,090 B come on top, and the pause.
    let short = refused(&["pfc.headroom=20 kB"]);
    assert!(short.contains("27184 B"), "{short}");
    // Packets that arrive up to 1 us late fill another 12,500 B.
    let late = refused(&["pfc.headroom=30 kB", "host.packet_jitter=1 us"]);
    assert!(late.contains("39684 B"), "{late}");
    let full = refused(&["switch.shared_buffer=1 MB"]);
    assert!(full.contains("of the 256 links into switch"), "{full}");
}

proptest! {
    #![proptest_config(fanin_testing::cases(24))]
    #[test]
    fn lossless_networks_deliver_everything_and_drop_nothing(
        scheme in prop::sample::select(vec!["dcqcn", "dcqcn-window", "hpcc", "timely", "rdma-dctcp"]),
        racks in 1u32..4, hosts in 4u32..12, spines in 1u32..3, rate in 1u64..9, delay in 1u64..4,
        buffer in 3u64..20, fragment in 1u64..400, seed in 1u64..1_000,
    ) {
        let fabric = [
            "fabric.kind=leaf-spine".to_string(),
            format!("fabric.racks={racks}"),
            format!("fabric.hosts_per_rack={hosts}"),
            format!("fabric.spines={spines}"),
            format!("fabric.uplink_rate={} Gbit/s", 25 * rate),
            format!("link.delay={delay} us"),
            format!("switch.shared_buffer={buffer} MB"),
            format!("workload.fragment={fragment} KB"),
        ];
        let settings: Vec<&str> = fabric.iter().map(String::as_str).collect();
        let tables = run(&spec(scheme, racks * hosts - 1, seed, &settings));
        // A run checks that packets and bytes are conserved.
        prop_assert_eq!(tables.totals.drops, 0);
        prop_assert_eq!(tables.totals.payload_bytes, u64::from(racks * hosts - 1) * fragment * 1_000);
        prop_assert_eq!(tables.totals.retransmits, 0);
    }
}

/// A ring of switches with a host each, at 10 Gbit/s, whose host `n` sends 2 MB to host `n + hops`; only pauses hold senders back.
fn around(switches: u32, hops: u32, memory: &str) -> RunTables {
    let host = |at: u32| if at == 0 { "client".into() } else { format!("server{at}") };
    let of = |at: u32| format!("\"{} s{at}\", \"s{at} s{}\"", host(at), (at + 1) % switches);
    let edges: Vec<String> = (0..switches).map(of).collect();
    let scenario = format!(
        r#"
        schemes = ["dcqcn"]
        [link]
        rate = "10 Gbit/s"
        delay = "1 us"
        [fabric]
        kind = "edges"
        edges = [{}]
        [switch]
        shared_buffer = "{memory}"
        [ecn_ramp]
        k_min = "100 MB"
        k_max = "101 MB"
        [workload]
        kind = "flows"
        file = "list.csv"
        duration = "100 ms"
    "#,
        edges.join(", ")
    );
    let flow = |from: u32| format!("{from},{},2000000,0\n", (from + hops) % switches);
    let list = format!("src,dst,bytes,start_us\n{}", (0..switches).map(flow).collect::<String>());
    let read = |path: &str| Ok((path.to_string(), list.clone().into()));
    let scenario = Scenario::parse("ring.toml", &scenario).unwrap();
    run(&scenario.variants_with(&read).unwrap()[0].at(0, 1).unwrap())
}

#[test]
fn ring_of_switches_deadlocks_and_tells_its_cycle() {
    let tables = around(5, 2, "300 KB");
    // Each link between switches has two flows; all links fill, and each waits for the next one.
    assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_none()));
    assert_eq!(tables.deadlocks.len(), 1, "{:?}", tables.deadlocks);
    let deadlock = &tables.deadlocks[0];
    let links: Vec<&str> = deadlock.ports.split(' ').collect();
    assert_eq!(links.len(), 5);
    for (at, link) in links.iter().enumerate() {
        let ends = |link: &str| link.split_once('>').map(|(from, to)| (from.to_string(), to.to_string())).unwrap();
        assert_eq!(ends(link).1, ends(links[(at + 1) % 5]).0, "{links:?}");
    }
    assert!(deadlock.since_ps < 2_000_000_000, "{deadlock:?}");
    // The cause taken away: flows that take one hop, or memory that never fills.
    for tables in [around(5, 1, "300 KB"), around(5, 2, "40 MB")] {
        assert!(tables.deadlocks.is_empty() && tables.flows.iter().all(|flow| flow.fct_ps.is_some()));
        assert_eq!(tables.totals.drops, 0);
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(16))]
    #[test]
    fn rings_drain_or_tell_a_deadlock(switches in 3u32..9, hops in 1u32..5, kilobytes in 150u64..2_000) {
        let tables = around(switches, 1 + (hops - 1) % (switches / 2), &format!("{kilobytes} KB"));
        let drained = tables.flows.iter().all(|flow| flow.fct_ps.is_some());
        prop_assert!(drained == tables.deadlocks.is_empty(), "{:?}", tables.deadlocks);
        prop_assert_eq!(tables.totals.drops, 0);
    }
}
