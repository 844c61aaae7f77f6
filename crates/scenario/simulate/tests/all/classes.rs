//! Traffic classes: schedulers, buffers and PFC by class, and TCP beside RDMA.

use fanin_spec::{RunSpec, Scenario};
use fanin_tables::{ClassRow, RunTables};

use crate::common::run;

/// The spec of a scenario's scheme at a fan-in, with other settings.
fn spec(text: &str, fan_in: u32, settings: &[&str]) -> RunSpec {
    let mut scenario = Scenario::parse("classes.toml", text).unwrap_or_else(|problem| panic!("{problem}"));
    let sweep = format!("sweep.fan_in=[{fan_in}]");
    for set in settings.iter().chain([&sweep.as_str()]) {
        scenario.assign("--set", set).unwrap_or_else(|problem| panic!("{problem}"));
    }
    let variants = scenario.variants().unwrap_or_else(|problem| panic!("{problem}"));
    variants[0].at(0, 1).expect("a point")
}

/// A class at the client's port.
fn at_client(run: &RunTables, class: u64) -> &ClassRow {
    let row = run.classes.iter().find(|row| row.port == "switch>client" && row.class == class);
    row.unwrap_or_else(|| panic!("no class {class} in {:?}", run.classes))
}

/// Senders of RDMA in a lossless class, and of TCP in one that drops.
const MIXED: &str = "\
schemes = [\"dcqcn\"]
[link]
rate = \"10 Gbit/s\"
delay = \"2 us\"
[switch]
shared_buffer = \"4 MB\"
[workload]
kind = \"long\"
background = 8
warm_up = \"5 ms\"
duration = \"20 ms\"
[tcp]
rto_min = \"5 ms\"
[classes]
queues = [\"3: dwrr 50, lossless, dscp 26\", \"0: dwrr 50, buffer 100 KB, dscp 0\", \"6: strict, buffer 100 KB\"]
workload = \"dscp 26\"
background = 0
control = 6
background_scheme = \"newreno\"
";

#[test]
fn lossless_class_loses_nothing_beside_a_full_lossy_one() {
    let run = run(&spec(MIXED, 8, &[]));
    let (lossless, lossy) = (at_client(&run, 3), at_client(&run, 0));
    assert_eq!(lossless.drops, 0);
    assert!(lossy.drops > 10 && lossy.queue_max_bytes > 95_000, "{lossy:?}");
    assert!(run.queue_pairs.is_empty(), "they have no losses");
    let all: u64 = run.classes.iter().filter(|row| row.class == 3).map(|row| row.drops).sum();
    assert_eq!((all, run.totals.drops), (0, run.classes.iter().map(|row| row.drops).sum()));
    // Both have as much to send as their shares.
    for row in [lossless, lossy] {
        assert!((0.49..0.51).contains(&(row.share_ppm as f64 / 1e6)), "{row:?}");
    }
}

#[test]
fn pauses_stop_the_lossless_class_alone() {
    // 32 senders with a rate of their own far above their share fill the switch.
    let run = run(&spec(MIXED, 32, &["dcqcn.profile=ns-3", "switch.shared_buffer=2 MB", "workload.duration=5 ms"]));
    assert!(!run.pauses.is_empty() && run.pauses.iter().all(|row| row.class == 3), "{:?}", run.pauses);
    let paused: Vec<&ClassRow> = run.classes.iter().filter(|row| row.pauses > 0).collect();
    assert!(!paused.is_empty() && paused.iter().all(|row| row.class == 3 && row.paused_ps > 0));
    assert_eq!(at_client(&run, 3).drops, 0);
    let share = at_client(&run, 0).share_ppm as f64 / 1e6;
    assert!((0.49..0.51).contains(&share), "{share}");
}

#[test]
fn lossless_classes_pause_apart() {
    let queues = "classes.queues=[\"3: dwrr 50, lossless\", \"4: dwrr 50, lossless\", \"6: strict, buffer 100 KB\"]";
    let settings = ["classes.background=4", "classes.workload=3", "classes.background_scheme=none", queues];
    let full = ["switch.shared_buffer=2 MB", "workload.background=32"];
    let more = ["dcqcn.profile=ns-3", "workload.duration=5 ms"];
    let run = run(&spec(MIXED, 32, &[&settings[..], &full, &more].concat()));
    let pauses = |class| run.pauses.iter().filter(|row| row.class == class).map(|row| row.pauses).sum::<u64>();
    assert!(pauses(3) > 0 && pauses(4) > 0, "{:?}", run.pauses);
    assert_eq!(run.totals.drops, 0);
    // A link carries one of the two, so that only its own class is paused there.
    let paused = |row: &&ClassRow| row.pauses > 0;
    assert!(run.classes.iter().filter(paused).all(|row| row.packets > 0 || row.drops > 0));
}

#[test]
fn tcp_in_the_background_of_rdma_is_tcp() {
    let run = run(&spec(MIXED, 4, &[]));
    // Losses of TCP are repaired by TCP: nobody else retransmits.
    assert!(run.totals.background_fast_retransmits > 0 && run.totals.background_bytes > 10_000_000);
    assert_eq!(run.totals.timeouts, run.totals.background_timeouts);
}

/// Two classes of TCP, both with more to send than the client's port carries.
const TCP: &str = "\
schemes = [\"newreno\"]
[link]
rate = \"10 Gbit/s\"
delay = \"2 us\"
[tcp]
rto_min = \"2 ms\"
rto_initial = \"2 ms\"
[workload]
kind = \"long\"
background = 16
warm_up = \"10 ms\"
duration = \"100 ms\"
[classes]
queues = [\"1: dwrr 70, buffer 300 KB\", \"0: dwrr 30, buffer 300 KB\"]
workload = 1
background = 0
";

#[test]
fn dwrr_shares_by_weight_within_two_percent() {
    for (weights, due) in [([70, 30], 0.7), ([1, 1], 0.5), ([1, 9], 0.1), ([99, 1], 0.99)] {
        let [own, other] = weights;
        let queues = format!("classes.queues=[\"1: dwrr {own}, buffer 300 KB\", \"0: dwrr {other}, buffer 300 KB\"]");
        let run = run(&spec(TCP, 16, &[queues.as_str()]));
        let share = at_client(&run, 1).share_ppm as f64 / 1e6;
        assert!((share / due - 1.0).abs() < 0.02, "{share} instead of {due}");
    }
}

#[test]
fn classes_are_work_conserving() {
    // The other class has nothing to send: the client's port is as busy as without classes.
    let alone = |settings: &[&str]| run(&spec(TCP, 16, &[&["workload.background=0"], settings].concat()));
    let run = alone(&["classes.queues=[\"1: dwrr 1, buffer 300 KB\", \"0: dwrr 99, buffer 300 KB\"]"]);
    let row = at_client(&run, 1);
    assert_eq!((row.share_ppm, run.classes.iter().filter(|row| row.class == 0).count()), (1_000_000, 0));
    let carried = row.wire_bytes as f64 * 8.0 / (10e9 * 0.1);
    assert!(carried > 0.99, "{carried} of the link");
}

#[test]
fn strict_class_takes_what_it_needs_first() {
    let strict = "classes.queues=[\"1: strict, buffer 300 KB\", \"0: dwrr 30, buffer 300 KB\"]";
    let run = run(&spec(TCP, 16, &[strict]));
    let (first, rest) = (at_client(&run, 1), at_client(&run, 0));
    assert!(first.share_ppm > 990_000, "{first:?} before {rest:?}");
}

#[test]
fn one_class_is_as_none() {
    for scheme in ["newreno", "newreno+red", "newreno+codel", "dctcp", "newreno+m21", "newreno+ictcp", "newreno+grants"]
    {
        let text = format!(
            "schemes = [\"{scheme}\"]\n[link]\nrate = \"10 Gbit/s\"\n[tcp]\nrto_min = \"5 ms\"\n[workload]\nfragment = \
             \"64 KiB\"\nduration = \"60 ms\"\nbackground = 2\n"
        );
        let plain = run(&spec(&text, 12, &[]));
        let mut classed = run(&spec(&text, 12, &["classes.queues=[\"0: dwrr 7\"]"]));
        assert!(!std::mem::take(&mut classed.classes).is_empty());
        classed.engine = plain.engine;
        assert!(classed == plain, "{scheme}: {:?} instead of {:?}", classed.totals, plain.totals);
    }
}

#[test]
fn usual_classes_of_rdma_are_as_without() {
    for (scheme, fan_in) in [("dcqcn", 32), ("hpcc", 16), ("timely", 64)] {
        let text = include_str!("../../../../../scenarios/roce-incast.toml");
        let mut scenario = Scenario::parse("roce-incast.toml", text).unwrap();
        scenario.select("--schemes", &[scheme]).unwrap();
        scenario.assign("--set", &format!("sweep.fan_in=[{fan_in}]")).unwrap();
        let plain = run(&scenario.variants().unwrap()[0].at(0, 1).unwrap());
        let queues = "classes.queues=[\"3: dwrr 1, lossless\", \"7: strict, buffer 10 MB\"]";
        for set in [queues, "classes.workload=3", "classes.control=7"] {
            scenario.assign("--set", set).unwrap();
        }
        let classed = run(&scenario.variants().unwrap()[0].at(0, 1).unwrap());
        // Hosts' ports have classes, too, so that an acknowledgement may overtake the packet that closes a flow in the same instant.
        assert_eq!(classed.flows, plain.flows, "{scheme}");
        assert_eq!((&classed.pauses, classed.totals), (&plain.pauses, plain.totals), "{scheme}");
    }
}

#[test]
fn failed_link_loses_the_packets_of_all_classes() {
    let down = "fabric.changes=[\"15 ms switch client down\", \"20 ms switch client up\"]";
    let run = run(&spec(TCP, 8, &[down, "workload.warm_up=none", "workload.duration=40 ms"]));
    let port = run.ports.iter().find(|row| row.port == "switch>client").unwrap();
    assert!(port.drops_down > 100, "{port:?}");
}
