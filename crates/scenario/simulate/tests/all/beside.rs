//! Background traffic is counted separately from the workload.

use crate::common::{run, spec};

const READS: &str = r#"
    schemes = ["newreno"]
    [link]
    rate = "1 Gbit/s"
    delay = "5 us"
    [switch]
    buffer = "64 KiB"
    [tcp]
    rto_min = "5 ms"
    [workload]
    fragment = "16 KiB"
    duration = "200 ms"
"#;

#[test]
fn lone_workload_has_no_background_counts() {
    let totals = run(&spec(READS, 16, 1)).totals;
    assert!(totals.drops > 0);
    assert_eq!((totals.background_bytes, totals.background_drops, totals.background_timeouts), (0, 0, 0));
}

#[test]
fn background_flows_are_counted_separately() {
    let totals = run(&spec(&READS.replace("duration", "background = 2\nduration"), 4, 1)).totals;
    // Together they fill the client's link and no more.
    let mbps = |bytes: u64| bytes as f64 * 8.0 / (totals.measured_ps as f64 / 1e6);
    let (own, others) = (mbps(totals.payload_bytes), mbps(totals.background_bytes));
    assert!(others > 200.0 && own + others < 973.0, "{own} and {others} Mbit/s");
    assert!(totals.background_drops > 0 && totals.background_drops < totals.drops);
    assert!(totals.background_timeouts <= totals.timeouts);
}

#[test]
fn background_losses_are_not_the_workloads() {
    // An occasional small read beside a service that overloads its own hosts.
    let quiet = READS.replace("duration", "in_flight = 1\nduration")
        + "\n[service]\nqueries_per_s = 2000\nfan_out = 12\nanswer = \"64 KB\"\n";
    let totals = run(&spec(&quiet, 16, 1)).totals;
    assert!(totals.background_timeouts > 0 && totals.background_bytes > 0);
    assert!(totals.background_drops * 10 > totals.drops * 9, "{totals:?}");
}
