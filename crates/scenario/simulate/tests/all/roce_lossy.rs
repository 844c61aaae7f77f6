//! RDMA over ports that drop, and receiving cards that drain slowly.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use fanin_sim::Watch;
use fanin_simulate::watch;
use fanin_spec::{RunSpec, Scenario};
use fanin_tables::RunTables;
use fanin_units::Time;
use proptest::prelude::*;

use crate::common::run;

const LOSSY: &str = include_str!("../../../../../scenarios/roce-lossy.toml");

/// A short run of the scenario with other settings.
fn spec(fan_in: u32, seed: u64, settings: &[&str]) -> RunSpec {
    let mut scenario = Scenario::parse("roce-lossy.toml", LOSSY).unwrap();
    let sweep = format!("sweep.fan_in=[{fan_in}]");
    let short = ["workload.warm_up=10 ms", "workload.duration=10 ms", sweep.as_str()];
    for set in short.iter().chain(settings) {
        scenario.assign("--set", set).unwrap();
    }
    scenario.variants().unwrap()[0].at(0, seed).unwrap()
}

/// Without the card, its window, and notifications: senders keep the rates of their links.
const BARE: [&str; 3] = ["host.nic.drain=none", "rdma.window=auto", "workload.warm_up=none"];

/// A run with its events.
fn watched(spec: &RunSpec) -> RunTables {
    let all = Watch { step: Time::from_millis(1), from: Time::ZERO, to: Time::NEVER, servers: Vec::new() };
    watch(spec, all, &AtomicBool::new(false)).unwrap()
}

fn in_cards(run: &RunTables) -> u64 {
    run.cards.iter().map(|card| card.drops).sum()
}

#[test]
fn two_senders_pay_the_tax_of_the_hardware() {
    // Measured: 73.9 Gbit/s, 1.65 % lost, 15.6 packets sent again for each, half for each sender.
    let run = run(&spec(2, 1, &[]));
    let goodput = run.goodput_mbps() / 1e3;
    assert!((62.8..85.0).contains(&goodput), "{goodput} Gbit/s");
    let lost = in_cards(&run) + run.totals.drops;
    assert!((8.0..30.0).contains(&(run.totals.retransmits as f64 / lost as f64)), "{lost} lost");
    let of_first: u64 = run.queue_pairs.iter().filter(|row| row.from_host == 1).map(|row| row.delivered_bytes).sum();
    let share = of_first as f64 / run.totals.payload_bytes as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
    assert_eq!((run.queue_pairs.len(), run.totals.drops, run.pauses.len()), (8, 0, 0));
    // The card drains 98.06 of the 99.5 Gbit/s that the link carries in frames.
    let [arrived, dropped] = [run.cards[0].packets, run.cards[0].drops].map(|packets| packets as f64);
    assert!((dropped / arrived / (1.0 - 98.06 / 99.52) - 1.0).abs() < 0.1, "{dropped} of {arrived}");
}

#[test]
fn card_that_drains_as_fast_as_packets_come_loses_none() {
    let run = run(&spec(2, 1, &["host.nic.drain=none"]));
    assert!(run.cards.is_empty() && run.totals.drops + run.totals.retransmits == 0);
    assert!(run.goodput_mbps() > 97_900.0, "{}", run.goodput_mbps());
}

#[test]
fn write_of_two_bytes_takes_two_microseconds() {
    let settings = ["workload.kind=barrier", "workload.fragment=2 B", "workload.request=0 B", "rdma.message=0 B"];
    let more = ["host.packet_jitter=none", "workload.warm_up=none", "workload.duration=1 ms", "workload.streams=1"];
    let run = run(&spec(1, 1, &[settings, more].concat()));
    let took = run.queries[0].qct_ps.expect("it ends") as f64 / 1e6;
    // Measured: 2.08 us.
    assert!((took / 2.08 - 1.0).abs() < 0.02, "{took} us");
}

#[test]
fn buffer_fills_by_the_excess() {
    // Measured: time to the first drop times excess is 5.39, 5.04 and 5.05 MB at these rates.
    for excess in [4.76, 9.74, 19.68] {
        let port = format!("link.client_rate={} Mbit/s", 100_000 - (excess * 1e3) as u64);
        let settings = [&BARE[..], &[port.as_str(), "workload.duration=12 ms", "workload.streams=1"]].concat();
        let watched = watched(&spec(1, 1, &settings));
        let first = watched.events.iter().find(|event| event.what == "drop").expect("the buffer is too small");
        let filled = first.time_ps as f64 / 1e12 * excess * 1e9 / 8.0;
        assert!((filled / 5.2e6 - 1.0).abs() < 0.07, "{filled} B at {excess} Gbit/s");
    }
}

#[test]
fn losses_of_constant_streams_are_the_excess_and_are_spread() {
    // Eight hosts at 13 Gbit/s into 100 Gbit/s through a small buffer.
    let edges = r#"fabric.edges=["client switch", "server1..8 switch 13 Gbit/s"]"#;
    let more = ["fabric.kind=edges", edges, "workload.streams=1", "switch.buffer=100 KB", "workload.warm_up=2 ms"];
    let settings = [&BARE[..2], &more, &["host.packet_jitter=3 us", "workload.duration=30 ms"]].concat();
    let watched = watched(&spec(8, 1, &settings));
    let mut of: BTreeMap<&str, u64> = BTreeMap::new();
    for event in watched.events.iter().filter(|event| event.what == "drop") {
        *of.entry(event.of.as_str()).or_default() += 1;
    }
    let (least, most) = (*of.values().min().unwrap(), *of.values().max().unwrap());
    assert!(of.len() == 8 && most - least < most / 4, "{of:?}");
    let sent: u64 = watched.ports.iter().filter(|row| row.tier == "host up").map(|row| row.data_packets).sum();
    let share = watched.totals.drops as f64 / sent as f64;
    assert!((share - 4.0 / 104.0).abs() < 0.003, "{share} lost");
}

#[test]
fn selective_repeat_sends_only_what_is_lost() {
    let run = run(&spec(2, 1, &["rdma.recovery=selective-repeat"]));
    let lost = in_cards(&run) + run.totals.drops;
    let ratio = run.totals.retransmits as f64 / lost as f64;
    assert!((0.9..1.1).contains(&ratio), "{ratio} packets sent again for each lost one");
    assert!(run.goodput_mbps() > 94_000.0, "{}", run.goodput_mbps());
}

#[test]
fn card_notifies_although_no_switch_marks() {
    let notified = |run: &RunTables| run.queue_pairs.iter().map(|row| row.notifications).sum::<u64>();
    let run = |settings: &[&str]| run(&spec(2, 1, settings));
    let [with, without] = [run(&[]), run(&["host.nic.notify_at=none"])];
    assert_eq!((with.totals.marks, notified(&without), without.cards[0].marks), (0, 0, 0));
    // At most one in 3.5 ms for each of eight queue pairs.
    assert!((16..=24).contains(&notified(&with)) && with.cards[0].marks > 1_000, "{}", notified(&with));
}

#[test]
fn switch_without_pauses_shares_its_memory_as_that_of_tcp() {
    let memory = ["host.nic.drain=none", "rdma.window=auto", "switch.shared_buffer=1 MB", "switch.alpha=1"];
    let run = run(&spec(4, 1, &memory));
    assert!(run.totals.drops > 0 && run.pauses.is_empty());
    assert!((495_000..505_000).contains(&run.totals.queue_max_bytes), "{}", run.totals.queue_max_bytes);
}

proptest! {
    #![proptest_config(fanin_testing::cases(24))]

    /// Every run checks that packets and bytes are conserved.
    #[test]
    fn bytes_are_conserved_whatever_is_lost(
        fan_in in 1..6u32,
        seed in 1..1_000u64,
        buffer in 8..400u32,
        ingress in 5..300u32,
        drain in 20..99u32,
        window in prop::option::of(1..64u32),
        recovery in prop::sample::select(vec!["go-back-n", "selective-repeat"]),
        notify in any::<bool>(),
    ) {
        let settings = [
            format!("switch.buffer={buffer} KB"),
            format!("host.nic.buffer={ingress} KB"),
            format!("host.nic.drain={drain} Gbit/s"),
            format!("host.nic.notify_at={}", if notify { "4 KB" } else { "none" }),
            format!("rdma.window={}", window.map_or("auto".into(), |packets| format!("{packets} packets"))),
            format!("rdma.recovery={recovery}"),
            "workload.kind=one-shot".into(),
            "workload.fragment=200 KB".into(),
            "workload.warm_up=none".into(),
            "workload.duration=10 s".into(),
            "workload.streams=1".into(),
            "rdma.local_ack_timeout=6".into(),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let run = run(&spec(fan_in, seed, &settings));
        prop_assert!(run.flows.iter().all(|flow| flow.fct_ps.is_some()), "every flow ends");
    }
}
