//! Swift over TCP: windows below one packet.

use fanin_tables::RunTables;

use crate::common::{run, spec};

/// Long flows of 400 senders, measured when their first windows have left the queue.
fn long_flows(swift: &str) -> RunTables {
    let text = format!(
        "schemes = [\"swift\"]\n[link]\nrate = \"10 Gbit/s\"\ndelay = \"2 us\"\n[switch]\nbuffer = \"4 MB\"\n[tcp]\nrto_min = \"10 ms\"\n\
         initial_window = 2\n[swift]\n{swift}\n[workload]\nkind = \"long\"\nwarm_up = \"30 ms\"\nduration = \"30 ms\"\n[measure]\nports = true\n"
    );
    run(&spec(&text, 400, 1))
}

fn mean_queue(tables: &RunTables) -> f64 {
    let port = tables.ports.iter().find(|port| port.port == "switch>client").expect("the client's port");
    port.queue_mean_bytes.expect("measured") as f64
}

#[test]
fn windows_below_one_packet_keep_queues_short() {
    let (below, one) = (long_flows(""), long_flows("min_window = \"100 %\""));
    // 400 packets of 1,538 B wait with a packet each; the target of 123 us at most is a quarter of that.
    assert!(mean_queue(&one) > 500_000.0, "{}", mean_queue(&one));
    assert!(mean_queue(&below) < 200_000.0, "{}", mean_queue(&below));
    let goodput = |tables: &RunTables| tables.goodput_mbps();
    assert!(goodput(&below) > 0.95 * goodput(&one), "{} of {}", goodput(&below), goodput(&one));
    assert_eq!((below.totals.timeouts, below.totals.drops), (0, 0));
}
