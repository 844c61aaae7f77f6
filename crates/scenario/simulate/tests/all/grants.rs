//! Grants on a network: no drops whatever the number of servers, turns, probes of closed windows, and lone flows.

use std::sync::atomic::AtomicBool;

use crate::common::{but, run, spec};
use fanin_sim::TapPoint;
use fanin_simulate::tap;
use fanin_tables::RunTables;
use fanin_tcp::{Flags, Segment};
use fanin_units::Time;

/// Barrier reads of `fragment` from each server for half a second, over 64 KiB of buffer, with further settings of TCP.
fn barrier(scheme: &str, fragment: &str, tcp: &str) -> String {
    format!("schemes = [\"{scheme}\"]\n[tcp]\n{tcp}\n[workload]\nfragment = \"{fragment}\"\nduration = \"500 ms\"\n")
}

fn reads(scheme: &str, servers: u32, tcp: &str) -> RunTables {
    run(&spec(&barrier(scheme, "64 KiB", tcp), servers, 1))
}

#[test]
fn sustains_goodput_where_ictcp_collapses() {
    let [grants, ictcp] = ["newreno+grants", "newreno+ictcp"].map(|scheme| reads(scheme, 64, ""));
    assert!(ictcp.totals.timeouts > 0 && ictcp.goodput_mbps() < 700.0, "{} Mbit/s", ictcp.goodput_mbps());
    assert!(grants.goodput_mbps() > 900.0, "{} Mbit/s", grants.goodput_mbps());
    assert_eq!((grants.totals.timeouts, grants.totals.drops), (0, 0));
}

#[test]
fn every_loss_detection_and_delayed_acks_go_on() {
    for tcp in ["sack = false", "rack = true\ntail_loss_probe = true", "delayed_ack = 1", "profile = \"linux\""] {
        for scheme in ["newreno+grants", "cubic+grants", "dctcp+grants"] {
            for servers in [2, 12, 80] {
                let tables = reads(scheme, servers, tcp);
                assert_eq!(tables.totals.timeouts, 0, "{scheme}, {servers} servers, {tcp}");
                assert!(tables.goodput_mbps() > 800.0, "{scheme}, {servers}, {tcp}: {}", tables.goodput_mbps());
            }
        }
    }
}

#[test]
fn lone_server_has_the_rate_of_its_congestion_control() {
    let lone = |scheme| run(&spec(&barrier(scheme, "16 MB", ""), 1, 1)).goodput_mbps();
    let [grants, newreno] = ["newreno+grants", "newreno"].map(lone);
    assert!(grants >= 0.97 * newreno, "{grants} and {newreno} Mbit/s");
}

/// Segments that the client sends to its servers in a short run.
fn sent(servers: u32) -> Vec<Segment> {
    let spec = but(&spec(&barrier("newreno+grants", "64 KiB", ""), servers, 1), |s| {
        s.workload.duration = Time::from_millis(30);
    });
    let point = TapPoint::Port("client>switch".into());
    let (_, caught) = tap(&spec, &point, &AtomicBool::new(false)).unwrap().unwrap();
    caught.iter().map(|one| Segment::from(&one.packet)).collect()
}

#[test]
fn windows_close_only_beyond_the_budgets_segments() {
    let closed = |servers| sent(servers).iter().filter(|segment| segment.window == 0).count();
    assert_eq!(closed(4), 0);
    assert!(closed(64) > 0);
}

#[test]
fn right_edges_never_move_back() {
    for servers in [3, 64] {
        let spec = but(&spec(&barrier("newreno+grants", "64 KiB", ""), servers, 1), |s| {
            s.workload.duration = Time::from_millis(30);
        });
        for server in [1, servers] {
            let point = TapPoint::Port(format!("switch>server{server}"));
            let (_, caught) = tap(&spec, &point, &AtomicBool::new(false)).unwrap().unwrap();
            let segments = caught.iter().map(|one| Segment::from(&one.packet));
            let edges: Vec<u32> = segments
                .filter(|segment| segment.flags.any(Flags::ACK) && !segment.flags.any(Flags::SYN))
                .map(|segment| segment.ack.wrapping_add(segment.window))
                .collect();
            assert!(edges.len() > 10 && edges.is_sorted(), "{servers} servers, server {server}");
        }
    }
}

#[test]
fn small_responses_keep_their_rate() {
    for servers in [8, 32] {
        let [grants, newreno] =
            ["newreno+grants", "newreno"].map(|scheme| run(&spec(&barrier(scheme, "1 KB", ""), servers, 1)));
        let ratio = grants.goodput_mbps() / newreno.goodput_mbps();
        assert!((0.95..1.05).contains(&ratio), "{servers} servers: {ratio}");
    }
}

#[test]
fn slow_servers_hold_back_no_others_for_long() {
    // Each server takes up to 50 ms, so that grants to slow ones are unused for longer than a period.
    let text = barrier("newreno+grants", "64 KiB", "") + "[host]\nservice_jitter = \"50 ms\"\n";
    let tables = run(&spec(&text, 48, 1));
    assert!(tables.totals.rounds >= 5, "{} rounds", tables.totals.rounds);
    assert_eq!(tables.totals.timeouts, 0);
}
