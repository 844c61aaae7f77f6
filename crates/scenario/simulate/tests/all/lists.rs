//! Lists of flows: long-lived ones that start and stop, and lists beside other workloads.

use std::sync::Arc;

use crate::common::{but, run, run_as, spec};
use fanin_sim::Departures;
use fanin_spec::{FilePath, Flows, HostQueue, Kind, Optional, RunSpec, Settings, WarmUp};
use fanin_tables::{FlowKind, FlowRow, RunTables};
use fanin_units::{QueueSize, Time};

const LIST: &str = r#"
    schemes = ["dctcp"]
    [tcp]
    rto_min = "10 ms"
    delayed_ack = 1
    [switch]
    buffer = "1 MB"
    [workload]
    fragment = "20 KB"
    duration = "300 ms"
"#;

/// Two long-lived flows into host 0, the second only from 100 to 200 ms, and a third between other hosts.
const STOPPED: &str = "src,dst,bytes,start_us,stop_us\n1,0,,0,\n2,0,,100000,200000\n3,4,100000,5,\n";

fn listed(kind: Kind, text: &str, servers: u32, change: impl FnOnce(&mut Settings)) -> RunSpec {
    but(&spec(LIST, servers, 1), |s| {
        change(s);
        s.workload.kind = kind;
        s.workload.file = Optional(Some(FilePath("a.csv".into())));
        s.inputs.flows = Some(Arc::new(Flows::parse("a.csv", text).unwrap()));
    })
}

fn long(tables: &RunTables) -> Vec<&FlowRow> {
    tables.flows.iter().filter(|flow| flow.class == FlowKind::Long).collect()
}

fn mbps(row: &FlowRow, span: Time) -> f64 {
    row.delivered_bytes as f64 * 8.0 / (span.0 as f64 / 1e6)
}

#[test]
fn long_lived_flows_fill_the_link() {
    // A lone flow from a host no faster than the port fills its host's queue, and would take long to back off.
    let tables = run(&listed(Kind::Flows, STOPPED, 4, |s| s.host.queue = HostQueue::Switch));
    let rows = long(&tables);
    let phases: Vec<_> =
        rows.iter().map(|row| (row.round.unwrap(), row.from_host, row.start_ps / 1_000_000_000)).collect();
    assert_eq!(phases, [(0, 1, 0), (1, 1, 100), (1, 2, 100), (2, 1, 200)]);
    let phase = Time::from_millis(100);
    // 1,460 of 1,538 B on the wire.
    for alone in [rows[0], rows[3]] {
        assert!((935.0..949.5).contains(&mbps(alone, phase)), "{} Mbit/s", mbps(alone, phase));
    }
    let (one, other) = (mbps(rows[1], phase), mbps(rows[2], phase));
    assert!((920.0..949.5).contains(&(one + other)), "{one} and {other} Mbit/s");
    assert!((0.6..1.6).contains(&(one / other)), "{one} and {other} Mbit/s");
    let sum: u64 = tables.flows.iter().map(|flow| flow.delivered_bytes).sum();
    assert_eq!(tables.totals.payload_bytes, sum);
    assert_eq!(tables.totals.measured_ps, Time::from_millis(300).0);
}

#[test]
fn list_ends_with_its_last_flow() {
    let text = "src,dst,bytes,start_us,stop_us\n1,0,,0,5000\n3,4,1000,20,\n";
    assert_eq!(run(&listed(Kind::Flows, text, 4, |_| {})).totals.measured_ps, Time::from_millis(5).0);
}

#[test]
fn stopped_flows_close_and_add_up() {
    // Stops before the end of the handshake, in slow start, and with losses to repair.
    for stop in ["10", "60", "150", "1000", "9000"] {
        let text = format!("src,dst,bytes,start_us,stop_us\n1,0,,0,{stop}\n2,0,,0,{stop}\n4,3,2000000,0,\n");
        let spec = listed(Kind::Flows, &text, 4, |s| s.switch.buffer = QueueSize::Packets(8));
        // A run checks at its end that packets, bytes and messages are conserved.
        let (early, late) = (run(&spec), run_as(&spec, Departures::Lazy));
        assert_eq!((&early.totals, &early.flows), (&late.totals, &late.flows), "{stop}");
    }
}

#[test]
fn background_list_affects_only_shared_links() {
    let quiet = but(&spec(LIST, 2, 1), |s| s.fabric.hosts = Optional(Some(5)));
    let text = "src,dst,bytes,start_us,stop_us\n3,4,,0,\n4,3,50000,1000,\n";
    let beside = listed(Kind::Barrier, text, 2, |s| s.fabric.hosts = Optional(Some(5)));
    let (quiet, beside) = (run(&quiet), run(&beside));
    assert_eq!(quiet.queries, beside.queries);
    assert_eq!(quiet.totals.payload_bytes, beside.totals.payload_bytes);
    let [row] = long(&beside)[..] else { panic!("one long flow") };
    assert_eq!((row.from_host, row.to_host), (3, 4));
    let other = beside.flows.iter().find(|flow| flow.class == FlowKind::Background).unwrap();
    assert_eq!((other.from_host, other.payload_bytes), (4, Some(50_000)));
    assert_eq!(beside.totals.background_bytes, row.delivered_bytes + 50_000);
}

#[test]
fn warm_up_excludes_listed_bytes() {
    let text = "src,dst,bytes,start_us,stop_us\n3,4,,0,\n";
    let warmed = listed(Kind::Barrier, text, 2, |s| {
        s.fabric.hosts = Optional(Some(5));
        s.workload.warm_up = Optional(Some(WarmUp::For(Time::from_millis(200))));
        s.workload.duration = Time::from_millis(100);
    });
    let tables = run(&warmed);
    let [row] = long(&tables)[..] else { panic!("one long flow") };
    assert_eq!(row.start_ps, 0);
    let rate = mbps(row, Time(tables.totals.measured_ps));
    assert!((935.0..949.5).contains(&rate), "{rate} Mbit/s");
}
