//! ICTCP on a network: its windows fit the port while two segments per server do.

use std::sync::atomic::AtomicBool;

use crate::common::{but, run, spec};
use fanin_sim::TapPoint;
use fanin_simulate::tap;
use fanin_tables::RunTables;
use fanin_tcp::Segment;
use fanin_units::Time;

/// Barrier reads of `fragment` from each server, over 64 KiB of buffer.
fn barrier(scheme: &str, fragment: &str) -> String {
    format!("schemes = [\"{scheme}\"]\n[workload]\nfragment = \"{fragment}\"\nduration = \"2 s\"\n")
}

fn goodput(scheme: &str, servers: u32) -> f64 {
    run(&spec(&barrier(scheme, "256 KiB"), servers, 1)).goodput_mbps()
}

#[test]
fn sustains_goodput_where_newreno_collapses() {
    for servers in [12, 16, 20] {
        let (ictcp, newreno) = (goodput("newreno+ictcp", servers), goodput("newreno", servers));
        assert!(ictcp > 900.0 && newreno < 500.0, "{servers} servers: {ictcp} and {newreno} Mbit/s");
    }
}

/// A run of `ms` ms, and the largest window that the client offered.
fn offered(servers: u32, ms: u64) -> (RunTables, u32) {
    let spec = but(&spec(&barrier("newreno+ictcp", "256 KiB"), servers, 1), |s| {
        s.workload.duration = Time::from_millis(ms);
    });
    let point = TapPoint::Port("client>switch".into());
    let (tables, caught) = tap(&spec, &point, &AtomicBool::new(false)).unwrap().unwrap();
    (tables, caught.iter().map(|one| Segment::from(&one.packet).window).max().unwrap_or(0))
}

#[test]
fn minimum_windows_overflow_small_ports() {
    // A frame takes 1518 B of 65536: 43 of them, one on the wire, and those in between.
    let (fits, _) = offered(20, 2_000);
    assert_eq!(fits.totals.drops, 0, "40 segments and few more");
    // This happens within the first milliseconds of the first round, whose responses all start at once.
    let (overflows, window) = offered(24, 2);
    assert!(overflows.totals.drops > 0 && window == 2 * 1460, "48 segments");
}

#[test]
fn lone_server_gets_larger_windows() {
    let alone = run(&spec(&barrier("newreno+ictcp", "16 MB"), 1, 1));
    // ICTCP assigns 90 % of the link, less one segment's increase.
    assert!((700.0..960.0).contains(&alone.goodput_mbps()), "{} Mbit/s", alone.goodput_mbps());
    assert!(offered(1, 2_000).1 > 4 * 1460);
}

#[test]
fn one_packet_responses_are_unaffected() {
    for servers in [8, 64] {
        let tables = |scheme| run(&spec(&barrier(scheme, "1 KB"), servers, 1));
        assert_eq!(tables("newreno+ictcp"), tables("newreno"), "{servers} servers");
    }
}
