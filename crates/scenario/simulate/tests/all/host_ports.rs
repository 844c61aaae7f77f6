//! The transmit queue of a host, `host.queue`.

use crate::common::{run, spec};
use fanin_tables::{PortRow, RunTables};

/// One long flow from a host whose own link is the bottleneck, so that the queue builds up at the host.
fn scenario(scheme: &str, host: &str, more: &str) -> String {
    format!(
        r#"
        schemes = ["{scheme}"]
        [link]
        rate = "1 Gbit/s"
        client_rate = "10 Gbit/s"
        [host]
        {host}
        [workload]
        kind = "long"
        duration = "500 ms"
        [switch]
        buffer = "50 packets"
        {more}
    "#
    )
}

fn tables(scheme: &str, host: &str, more: &str) -> RunTables {
    run(&spec(&scenario(scheme, host, more), 1, 1))
}

/// The sender's port, the only one with a queue.
fn sender(scheme: &str, host: &str, more: &str) -> PortRow {
    let tables = tables(scheme, host, more);
    let port = tables.ports.into_iter().find(|port| port.port == "server1>switch").expect("the flow crosses it");
    assert_eq!(
        (port.drops(), port.marks),
        (tables.totals.drops, tables.totals.marks),
        "{scheme}: all at the sender's port"
    );
    port
}

/// A full frame in an Ethernet buffer.
const FRAME: u64 = 1518;
const CODEL: &str = "[codel]\ntarget = \"200 us\"\ninterval = \"2 ms\"";
const RED: &str = "[red]\nmin_th = \"10 packets\"\nmax_th = \"30 packets\"";

/// Drops due to a full buffer, early drops, drops of packets that were not ECN-capable, and marks.
fn fates(port: &PortRow) -> [u64; 4] {
    [port.drops_full, port.drops_early, port.drops_not_ect, port.marks]
}

#[test]
fn plain_host_never_drops_or_marks() {
    for (scheme, more) in [("newreno", ""), ("dctcp", ""), ("newreno+codel", CODEL), ("newreno+red+ecn", RED)] {
        let port = sender(scheme, "", more);
        assert_eq!(fates(&port), [0; 4], "{scheme}");
        assert!(port.queue_max_bytes > 50 * FRAME, "{scheme}: a queue of {} B", port.queue_max_bytes);
        assert_eq!(sender(scheme, "queue = \"plain\"", more), port, "{scheme}: plain is the default");
    }
}

#[test]
fn switch_queue_in_host_drops_bursts() {
    let port = sender("newreno", "queue = \"switch\"", "");
    let [full, rest @ ..] = fates(&port);
    assert!(full > 0);
    assert_eq!((rest, port.queue_max_bytes), ([0; 3], 50 * FRAME));
}

#[test]
fn host_buffer_overrides_the_switchs() {
    let port = sender("newreno", "queue = \"switch\"\nbuffer = \"20 packets\"", "");
    assert_eq!(port.queue_max_bytes, 20 * FRAME);
}

#[test]
fn codel_and_red_act_in_the_host() {
    for (law, more) in [("codel", CODEL), ("red", RED)] {
        let [_, early, not_ect, marks] = fates(&sender(&format!("newreno+{law}"), "queue = \"switch\"", more));
        assert!(early > 0, "{law}");
        assert_eq!((not_ect, marks), (0, 0), "{law}");
        let with_ecn = sender(&format!("newreno+{law}+ecn"), "queue = \"switch\"", more);
        assert!(with_ecn.marks > 0, "{law}+ecn");
    }
}

#[test]
fn dctcps_threshold_marks_in_the_host() {
    let port = sender("dctcp", "queue = \"switch\"", "[ecn_threshold]\nk = \"20 packets\"");
    let [full, early, not_ect, marks] = fates(&port);
    assert!(marks > 0);
    assert_eq!([full, early, not_ect], [0; 3]);
}

#[test]
fn host_assigns_no_m21_windows() {
    // A host that sends to seven others would count seven flows; the switch counts the flows to one host.
    let shuffle = |host: &str| {
        run(&spec(
            &format!(
                r#"
        schemes = ["newreno+m21"]
        [host]
        {host}
        [workload]
        kind = "shuffle"
        fragment = "50 KB"
        start_jitter = "5 ms"
    "#
            ),
            7,
            1,
        ))
    };
    // Without M21, the switch's discipline differs in its buffer alone.
    assert_eq!(shuffle("queue = \"switch\""), shuffle("buffer = \"64 KiB\""));
}
