//! Switches with shared memory: the share of congested ports, and that more memory never harms a lone port.

use std::sync::Arc;

use crate::common::{checked, run, spec};
use fanin_spec::{FilePath, Flows, Kind, Optional, PacketJitter, Ratio, RunSpec, Scheme, Settings, Switch};
use fanin_units::{Bytes, Rate, Time};
use proptest::prelude::*;

/// The share alpha/(1 + k alpha) of a memory.
fn each(memory: u64, alpha: Ratio, k: u32) -> f64 {
    let alpha = alpha.as_f64();
    memory as f64 * alpha / (1.0 + f64::from(k) * alpha)
}

/// A rack of 10 Gbit/s whose servers send a whole window of a thousand segments at once.
fn rack(memory: u64, alpha: Ratio) -> Settings {
    let mut s = Settings::default();
    s.link.rate = Rate(10_000_000_000);
    s.link.delay = Time::from_micros(1);
    s.tcp.initial_window = 1_000;
    s.switch.shared_buffer = Optional(Some(Bytes(memory)));
    s.switch.alpha = alpha;
    s.workload.kind = Kind::OneShot;
    s.workload.fragment = Optional(Some(Bytes(584_000)));
    s
}

fn newreno(settings: Settings, fan_in: u32) -> RunSpec {
    checked(Scheme::parse("newreno").unwrap(), settings, fan_in, 1)
}

/// `k` receivers, each with its own senders, which send for a millisecond; each group starts `apart` after the one before.
fn groups(mut s: Settings, k: u32, senders: u32, apart: Time) -> RunSpec {
    let lines = (0..k).flat_map(|to| (0..senders).map(move |n| (k + to * senders + n, to)));
    let list: String =
        lines.map(|(from, to)| format!("{from},{to},1460000,{}\n", u64::from(to) * apart.0 / 1_000_000)).collect();
    s.workload.kind = Kind::Flows;
    s.workload.fragment = Optional(None);
    s.workload.file = Optional(Some(FilePath("a.csv".into())));
    s.inputs.flows = Some(Arc::new(Flows::parse("a.csv", &format!("src,dst,bytes,start_us\n{list}")).unwrap()));
    s.workload.duration = Time::from_millis(1);
    let hosts = k * (senders + 1);
    newreno(s, hosts - 1)
}

fn alphas() -> impl Strategy<Value = Ratio> {
    prop_oneof![(2u32..33).prop_map(|n| Ratio::of(n, 8)), (1u32..9).prop_map(|n| Ratio::of(n, 1))]
}

/// The most segments that each server may send at once without a loss.
fn absorbed(settings: &Settings, fan_in: u32) -> u64 {
    let (mut fits, mut lost) = (0, 129);
    while lost - fits > 1 {
        let segments = (fits + lost) / 2;
        let mut s = settings.clone();
        s.workload.fragment = Optional(Some(Bytes(segments * s.tcp.mss.0)));
        match run(&newreno(s, fan_in)).totals.drops {
            0 => fits = segments,
            _ => lost = segments,
        }
    }
    fits
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..fanin_testing::cases(12) })]

    #[test]
    fn lone_port_reaches_its_fixed_point(
        memory in 100_000u64..500_000, alpha in alphas(), fan_in in 4u32..12,
    ) {
        let tables = run(&newreno(rack(memory, alpha), fan_in));
        let (longest, alone) = (tables.totals.queue_max_bytes as f64, each(memory, alpha, 1));
        prop_assert!(tables.totals.drops > 0);
        prop_assert!((longest - alone).abs() <= 1_518.0, "{} of {}", longest, alone);
    }

    #[test]
    fn equal_ports_reach_their_fixed_point(
        memory in 100_000u64..400_000, alpha in alphas(), k in 2u32..7, senders in 3u32..5,
    ) {
        let mut s = rack(memory, alpha);
        // No jitter, so that equal ports stay equal.
        s.host.packet_jitter = PacketJitter::None;
        let tables = run(&groups(s, k, senders, Time::ZERO));
        let queues: Vec<f64> = tables.ports.iter().filter(|port| port.drops_full > 0).map(|port| port.queue_max_bytes as f64).collect();
        prop_assert_eq!(queues.len(), k as usize, "not all overflow");
        for queue in &queues {
            prop_assert!((queue - each(memory, alpha, k)).abs() <= 1_518.0, "{:?} of {}", queues, each(memory, alpha, k));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 16, ..fanin_testing::cases(100) })]

    #[test]
    fn absorbed_burst_is_monotonic(
        memory in 20_000u64..90_000, alpha in alphas(), fan_in in 2u32..5, more in 1u64..50_000, times in 2u32..5,
        (reserved, headroom, gbits) in (0u64..1_000, 0u64..5_000, 1u64..40),
    ) {
        let mut s = rack(memory, alpha);
        s.link.rate = Rate(gbits * 1_000_000_000);
        (s.switch.reserved, s.switch.headroom) = (Bytes(reserved), Bytes(headroom));
        let burst = absorbed(&s, fan_in);
        let larger = Settings { switch: Switch { shared_buffer: Optional(Some(Bytes(memory + more))), ..s.switch.clone() }, ..s.clone() };
        prop_assert!(absorbed(&larger, fan_in) >= burst, "{more} B more absorb less than {burst}");
        let bolder = Ratio::of((alpha.as_f64() * 8.0) as u32 * times, 8);
        let bolder = Settings { switch: Switch { alpha: bolder, ..s.switch.clone() }, ..s };
        prop_assert!(absorbed(&bolder, fan_in) >= burst, "{times} times alpha absorb less than {burst}");
    }
}

#[test]
fn refusals_report_memory_users() {
    // With an alpha of 8 the client's port comes to hold eight ninths. 300 us later a second port finds little left.
    let mut s = rack(500_000, Ratio::of(8, 1));
    s.measure.ports = true;
    let tables = run(&groups(s, 2, 8, Time::from_micros(300)));
    let [memory] = &tables.memories[..] else { panic!("one switch: {:?}", tables.memories) };
    let of = |port: &'static str| tables.holders.iter().filter(move |row| row.port == port);
    let refused = |port: &str| tables.ports.iter().find(|row| row.port == port).map(|row| row.drops_full);
    for port in ["switch>client", "switch>server1"] {
        assert!(of(port).all(|row| Some(row.refused_packets) == refused(port)), "{port}");
        let held: u64 = of(port).map(|row| row.held_mean_bytes).sum();
        assert!((400_000..=memory.used_max_bytes).contains(&held), "{held} B in all as {port} found no room");
    }
    // At the end the two share the memory equally; at first the client's port has most of it.
    let most = of("switch>server1").next().expect("some are refused");
    assert_eq!(most.holder, "switch>client");
    assert!((230_000..450_000).contains(&most.held_mean_bytes), "{most:?}");
}

#[test]
fn only_switches_have_shared_memory() {
    let scenario = r#"
        schemes = ["newreno"]
        [fabric]
        kind = "leaf-spine"
        racks = 2
        hosts_per_rack = 5
        spines = 1
        uplink_rate = "100 Gbit/s"
        [link]
        rate = "10 Gbit/s"
        [switch]
        shared_buffer = "300 KB"
        [tcp]
        initial_window = 1000
        [workload]
        kind = "one-shot"
        fragment = "1 MB"
    "#;
    let tables = run(&spec(scenario, 9, 1));
    let longest = |of: &dyn Fn(&str) -> bool| {
        let ports = tables.ports.iter().filter(|port| of(&port.port));
        ports.map(|port| port.queue_max_bytes).max().unwrap_or(0)
    };
    // The excess waits at hosts, and only the client's rack loses packets.
    assert!(longest(&|port| port.starts_with("server")) > 900_000);
    assert!((148_000..152_000).contains(&longest(&|port| port.ends_with(">client"))));
    assert!(tables.ports.iter().all(|port| port.drops_full == 0 || port.port.ends_with(">client")));
}

#[test]
fn per_rate_settings_apply_to_ports() {
    let run_with = |ports: &str| {
        let scenario = format!(
            r#"
            schemes = ["dctcp"]
            [link]
            rate = "10 Gbit/s"
            client_rate = "1 Gbit/s"
            [switch]
            ports = [{ports}]
            [ecn_threshold]
            k = "20 packets"
            [workload]
            kind = "one-shot"
            fragment = "100 KB"
        "#
        );
        run(&spec(&scenario, 4, 1)).totals
    };
    let of_all = run_with("");
    assert!(of_all.marks > 0 && of_all.queue_max_bytes > 20 * 1_518);
    let other_rate = run_with("\"10 Gbit/s: k 1000 packets, buffer 2 packets\"");
    assert_eq!((other_rate.marks, other_rate.queue_max_bytes), (of_all.marks, of_all.queue_max_bytes));
    assert_eq!(run_with("\"1 Gbit/s: k 1000 packets\"").marks, 0);
    assert!(run_with("\"1 Gbit/s: buffer 10 packets\"").queue_max_bytes <= 10 * 1_518);
}
