//! Packet jitter of hosts: no flow starves because of its phase, and nothing else changes.

use fanin_spec::{PacketJitter, Settings};
use fanin_tables::RunTables;
use fanin_units::{Rate, Time};

use crate::common::{but, run, spec};

/// Two flows over a port as fast as their hosts' links.
const PAIR: &str = r#"
schemes = ["newreno"]
[link]
rate = "10 Gbit/s"
delay = "5 us"
[switch]
buffer = "256 KiB"
[workload]
kind = "long"
duration = "2 s"
"#;

/// Ratio of the two flows' packets, the larger over the smaller.
fn unevenness(tables: &RunTables) -> f64 {
    let sent = |name: &str| tables.ports.iter().find(|port| port.port == name).expect("it sent").packets as f64;
    let (first, second) = (sent("server1>switch"), sent("server2>switch"));
    (first / second).max(second / first)
}

fn with(jitter: PacketJitter) -> impl Fn(&mut Settings) {
    move |settings| settings.host.packet_jitter = jitter
}

#[test]
fn flow_starves_without_jitter() {
    let two = but(&spec(PAIR, 2, 1), with(PacketJitter::None));
    assert!(unevenness(&run(&two)) > 1_000.0);
}

#[test]
fn jitter_lets_flows_share_any_port() {
    for rate in [10_000, 9_900, 9_700] {
        for seed in 1..4 {
            let two = but(&spec(PAIR, 2, seed), |s| s.link.client_rate.0 = Some(Rate(rate * 1_000_000)));
            let uneven = unevenness(&run(&two));
            assert!(uneven < 4.0, "{rate} Mbit/s, seed {seed}: {uneven}");
        }
    }
}

/// A rack that responds to its client in rounds.
const RACK: &str = r#"
schemes = ["cubic"]
[link]
rate = "25 Gbit/s"
delay = "5 us"
[switch]
buffer = "256 KiB"
[workload]
kind = "barrier"
fragment = "256 KiB"
duration = "2 s"
"#;

#[test]
fn jitter_evens_rounds_across_port_rates() {
    let rounds = |gbps: u64| {
        let of = |seed| but(&spec(RACK, 16, seed), |s| s.link.client_rate.0 = Some(Rate(gbps * 1_000_000_000)));
        (1..21).map(|seed| run(&of(seed)).queries.len()).sum::<usize>() as f64
    };
    let found = [20, 23, 25].map(|gbps| (gbps, rounds(gbps)));
    for pair in found.windows(2) {
        assert!((pair[1].1 / pair[0].1 - 1.0).abs() < 0.2, "{found:?}");
    }
}

#[test]
fn zero_jitter_equals_none() {
    let short = but(&spec(PAIR, 2, 1), |s| s.workload.duration = Time::from_millis(20));
    let none = run(&but(&short, with(PacketJitter::None)));
    assert_eq!(none, run(&but(&short, with(PacketJitter::UpTo(Time::ZERO)))));
    assert_ne!(none, run(&short));
}

#[test]
fn jitter_depends_on_the_seed_only() {
    let short = |seed| but(&spec(PAIR, 2, seed), |s| s.workload.duration = Time::from_millis(20));
    assert_eq!(run(&short(1)), run(&short(1)));
    assert_ne!(run(&short(1)).ports, run(&short(2)).ports);
}

#[test]
fn transmission_jitter_uses_slowest_link() {
    let two = but(&spec(PAIR, 2, 1), |s| s.link.client_rate.0 = Some(Rate(100_000_000)));
    let fabric = two.settings.network().expect("a star");
    assert_eq!(two.settings.packet_jitter(&fabric), Time(1_538 * 8 * 10_000));
}
