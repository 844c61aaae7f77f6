//! Hosts with several links: where flows go, what they reach together, and what failures do.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::common::{run, run_as, schemes, spec};
use fanin_model::most_goodput_mbps;
use fanin_sim::{Departures, TapPoint};
use fanin_simulate::{one_core, tap, watch};
use fanin_spec::{Kind, Scenario, Watch};
use fanin_tables::{PortRow, RunTables, Totals};
use fanin_units::{Bytes, Rate, Time};
use proptest::prelude::*;

/// A network whose hosts are all on each of these switches.
fn planes(switches: &[&str], more: &str) -> String {
    let edges: Vec<String> =
        switches.iter().flat_map(|s| [format!("client {s}"), format!("server1..16 {s}")]).collect();
    format!("[fabric]\nkind = \"edges\"\nedges = {edges:?}\n{more}\n")
}

const LONG: &str =
    "[switch]\nbuffer = \"1 MiB\"\n[workload]\nkind = \"long\"\nwarm_up = \"50 ms\"\nduration = \"150 ms\"\n";

fn long(scheme: &str, network: &str, fan_in: u32) -> RunTables {
    run(&spec(&format!("schemes = [\"{scheme}\"]\n{network}{LONG}"), fan_in, 1))
}

fn port<'a>(tables: &'a RunTables, name: &str) -> Option<&'a PortRow> {
    tables.ports.iter().find(|port| port.port == name)
}

fn data_packets(tables: &RunTables, name: &str) -> u64 {
    port(tables, name).map_or(0, |port| port.data_packets)
}

#[test]
fn two_links_double_the_goodput_of_many_flows() {
    // Sixteen flows keep both links of the client busy: twice 1,460 B in 1,538 B at 1 Gbit/s.
    let [one, two, three] = [&["a"][..], &["a", "b"], &["a", "b", "c"]].map(|s| long("dctcp", &planes(s, ""), 16));
    let line = most_goodput_mbps(Rate(1_000_000_000), Bytes(1_460), Bytes(78));
    for (tables, links) in [(&one, 1.0), (&two, 2.0), (&three, 3.0)] {
        let mbps = tables.goodput_mbps();
        assert!(mbps <= links * line && mbps > 0.98 * links * line, "{mbps} of {links} times {line} Mbit/s");
    }
    for name in ["a>client", "b>client"] {
        assert!(data_packets(&two, name) > data_packets(&one, "a>client") / 10 * 9, "{name}");
    }
}

#[test]
fn a_flow_alone_has_one_link() {
    let line = most_goodput_mbps(Rate(1_000_000_000), Bytes(1_460), Bytes(78));
    let tables = long("dctcp", &planes(&["a", "b"], ""), 1);
    assert!(tables.goodput_mbps() <= line && tables.goodput_mbps() > 0.98 * line, "{}", tables.goodput_mbps());
    let used: Vec<&str> =
        ["server1>a", "server1>b"].into_iter().filter(|name| data_packets(&tables, name) > 0).collect();
    assert_eq!(used.len(), 1, "{used:?}");
}

#[test]
fn flows_are_not_reordered() {
    // One switch is ten times as far. Without loss, duplicate ACKs would be due to reordering alone.
    let edges = ["client a", "server1..16 a", "client b 250 us", "server1..16 b 250 us"];
    let workload =
        "[switch]\nbuffer = \"4 MiB\"\n[workload]\nkind = \"barrier\"\nfragment = \"64 KiB\"\nduration = \"100 ms\"\n";
    for jitter in ["none", "20 us"] {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[fabric]\nkind = \"edges\"\nedges = {edges:?}\n[host]\npacket_jitter = \"{jitter}\"\n{workload}"
        );
        let Totals { drops, fast_retransmits, timeouts, rounds, .. } = run(&spec(&scenario, 16, 1)).totals;
        assert_eq!((drops, fast_retransmits, timeouts), (0, 0, 0), "{jitter}");
        assert!(rounds > 5, "{rounds} rounds");
    }
    let scenario = format!("schemes = [\"newreno\"]\n[fabric]\nkind = \"edges\"\nedges = {edges:?}\n{workload}");
    let tables = run(&spec(&scenario, 16, 1));
    for server in 1..=16 {
        let by = ["a", "b"].map(|switch| data_packets(&tables, &format!("server{server}>{switch}")));
        assert!(by.contains(&0) && by != [0, 0], "server{server}: {by:?}");
    }
    assert!(["a>client", "b>client"].iter().all(|name| data_packets(&tables, name) > 0));
}

#[test]
fn flows_leave_a_failed_link_and_return() {
    let tables = |changes: &str| {
        let faults = "[tcp]\nrto_min = \"5 ms\"\nrto_initial = \"5 ms\"\n";
        let workload = "[workload]\nkind = \"long\"\nwarm_up = \"50 ms\"\nduration = \"100 ms\"\n";
        let network = planes(&["a", "b"], &format!("changes = [{changes}]"));
        run(&spec(&format!("schemes = [\"dctcp\"]\n{network}{faults}{workload}"), 16, 1))
    };
    let whole = tables("");
    // Down before the measured time: one link carries all, and none of it arrives by the other.
    let failed = tables("\"30 ms client b down\"");
    let share = failed.goodput_mbps() / whole.goodput_mbps();
    assert!((0.48..0.52).contains(&share), "{share}");
    assert_eq!((data_packets(&failed, "b>client"), failed.totals.drops), (0, 0));
    // A link of a server fails: its flow goes on over the other.
    let server = tables("\"30 ms server1 a down\", \"30 ms server2 b down\"");
    assert!(server.goodput_mbps() > 0.95 * whole.goodput_mbps(), "{}", server.goodput_mbps());
    assert_eq!([data_packets(&server, "server1>a"), data_packets(&server, "server2>b")], [0, 0]);
    assert!(["server1>b", "server2>a"].iter().all(|name| data_packets(&server, name) > 0));
    let healed = tables("\"10 ms client b down\", \"30 ms client b up\"");
    for name in ["server1>a", "server1>b", "server2>a", "server2>b"] {
        assert_eq!(data_packets(&healed, name) > 0, data_packets(&whole, name) > 0, "{name}");
    }
    assert!(healed.goodput_mbps() > 0.95 * whole.goodput_mbps(), "{}", healed.goodput_mbps());
}

#[test]
fn bonds_have_numbered_ports() {
    let edges = ["client s", "client s", "server1..16 s"];
    let network = format!("[fabric]\nkind = \"edges\"\nedges = {edges:?}\n");
    let tables = long("dctcp", &network, 16);
    let line = most_goodput_mbps(Rate(1_000_000_000), Bytes(1_460), Bytes(78));
    assert!(tables.goodput_mbps() > 1.96 * line, "{} of twice {line} Mbit/s", tables.goodput_mbps());
    assert!(["s>client", "s>client#2"].iter().all(|name| data_packets(&tables, name) > 0));
    let failed = long("dctcp", &format!("{network}changes = [\"10 ms client s#2 down\"]\n"), 16);
    assert_eq!(data_packets(&failed, "s>client#2"), 0);
    assert!(failed.goodput_mbps() > 0.98 * line && failed.goodput_mbps() <= line, "{}", failed.goodput_mbps());
}

#[test]
fn rdma_and_ultra_ethernet_use_both_links() {
    let with = |scheme: &str, switches: &[&str]| {
        let memory = if scheme == "dcqcn" { "shared_buffer = \"8 MiB\"" } else { "buffer = \"1 MiB\"" };
        let workload = "[workload]\nkind = \"long\"\nwarm_up = \"5 ms\"\nduration = \"20 ms\"\n";
        let link = "[link]\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n";
        let scenario =
            format!("schemes = [\"{scheme}\"]\n{}{link}[switch]\n{memory}\n{workload}", planes(switches, ""));
        run(&spec(&scenario, 16, 1))
    };
    for scheme in ["dcqcn", "nscc"] {
        let [one, two] = [&["a"][..], &["a", "b"]].map(|switches| with(scheme, switches));
        let times = two.goodput_mbps() / one.goodput_mbps();
        assert!((1.9..2.1).contains(&times), "{scheme}: {times} times {} Mbit/s", one.goodput_mbps());
        assert_eq!(two.totals.drops, 0, "{scheme}");
        assert_eq!(two.totals.retransmits > 0, one.totals.retransmits > 0, "{scheme}");
    }
    // A packet takes a path of its own: one flow has both links.
    let alone = long("nscc", &planes(&["a", "b"], ""), 1);
    assert!(["server1>a", "server1>b"].iter().all(|name| data_packets(&alone, name) > 0));
}

#[test]
fn pauses_stop_one_link_of_a_host() {
    // Bursts into the client fill one switch or both; each pauses the links into it.
    let workload = "[workload]\nkind = \"barrier\"\nfragment = \"1 MB\"\nduration = \"30 ms\"\n";
    let link = "[link]\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n[switch]\nshared_buffer = \"2 MB\"\n";
    let scenario = format!("schemes = [\"dcqcn\"]\n{}{link}{workload}", planes(&["a", "b"], ""));
    let tables = run(&spec(&scenario, 16, 1));
    assert!(!tables.pauses.is_empty() && tables.totals.drops == 0 && tables.deadlocks.is_empty());
    for pause in &tables.pauses {
        let ends = |name: &str| name.split_once('>').map(|(from, to)| (from.to_string(), to.to_string())).unwrap();
        assert_eq!(ends(&pause.port).1, ends(&pause.cause).0, "{pause:?}");
    }
}

#[test]
fn crashed_host_stops_all_its_links() {
    let faults = "[faults]\nhosts = [\"20 ms client crashes\", \"40 ms client returns\"]\n";
    let scenario = |faults: &str| {
        let workload = "[workload]\nkind = \"long\"\nduration = \"35 ms\"\n";
        format!("schemes = [\"dctcp\"]\n{}{faults}{workload}", planes(&["a", "b"], ""))
    };
    let tables = run(&spec(&scenario(faults), 16, 1));
    let crashed = |name: &str| tables.faults.iter().find(|row| row.port == name).map_or(0, |row| row.crashed_packets);
    assert!(crashed("a>client") > 0 && crashed("b>client") > 0, "{:?}", tables.faults);
    // Both links of each server have a tenth of their rate, less than its share of the client's.
    let slow: Vec<String> = (1..=4).map(|server| format!("0 ms server{server} slows to 0.1")).collect();
    let slowed = run(&spec(&scenario(&format!("[faults]\nhosts = {slow:?}\n")), 4, 1));
    let most = 0.4 * most_goodput_mbps(Rate(1_000_000_000), Bytes(1_460), Bytes(78));
    assert!(slowed.goodput_mbps() < most && slowed.goodput_mbps() > 0.8 * most, "{}", slowed.goodput_mbps());
}

#[test]
fn taps_and_recordings_have_all_links_of_the_client() {
    let workload =
        "[switch]\nbuffer = \"64 KiB\"\n[workload]\nkind = \"barrier\"\nfragment = \"64 KiB\"\nduration = \"20 ms\"\n";
    let spec = spec(&format!("schemes = [\"newreno\"]\n{}{workload}", planes(&["a", "b"], "")), 16, 1);
    let stop = AtomicBool::new(false);
    let (tables, caught) = tap(&spec, &TapPoint::Host("client".into()), &stop).expect("a run").expect("a host");
    let mut by_port: BTreeMap<&str, u64> = BTreeMap::new();
    caught.iter().for_each(|packet| *by_port.entry(&packet.port).or_default() += 1);
    assert_eq!(by_port.keys().copied().collect::<Vec<_>>(), ["a>client", "b>client", "client>a", "client>b"]);
    assert_eq!(tables, run(&spec));
    // Both ports overflow at once: an incast each time, and the longest of the two queues.
    let drops = |name: &str| port(&tables, name).map_or(0, |port| port.drops_full);
    assert!(drops("a>client") > 0 && drops("b>client") > 0 && tables.totals.incasts > 0);
    let longest = ["a>client", "b>client"].map(|name| port(&tables, name).map_or(0, |port| port.queue_max_bytes));
    assert_eq!(tables.totals.queue_max_bytes, longest[0].max(longest[1]));
    let all = Watch { from: Time::ZERO, to: Time::from_millis(20), step: Time::from_micros(10), servers: vec![1] };
    let seen = watch(&spec, all, &stop).expect("a run");
    let queue = || seen.samples.iter().filter(|sample| sample.series == "queue");
    assert!(queue().all(|sample| sample.of == "a>client b>client"));
    let recorded = queue().filter_map(|sample| sample.value_bytes).max();
    assert!(recorded.is_some_and(|most| most <= tables.totals.queue_max_bytes && most > 60_000), "{recorded:?}");
    assert_eq!(seen.totals, tables.totals);
}

#[test]
fn runs_with_several_links_use_one_core() {
    let workload = "[workload]\nkind = \"shuffle\"\nfragment = \"20 KB\"\n";
    let on = |network: &str| one_core(&spec(&format!("schemes = [\"dctcp\"]\n{network}{workload}"), 16, 1));
    assert_eq!(on(&planes(&["a", "b"], "")).as_deref(), Some("a host has several links"));
    assert_eq!(on(&planes(&["a"], "")), None);
}

#[test]
fn errors_name_the_edge() {
    let why = |edges: &[&str]| {
        let scenario = format!(
            "schemes = [\"dctcp\"]\n[fabric]\nkind = \"edges\"\nedges = {edges:?}\n\
             [workload]\nkind = \"barrier\"\nfragment = \"20 KB\"\n[sweep]\nfan_in = [2]\n"
        );
        let variants = Scenario::parse("test.toml", &scenario).and_then(|scenario| scenario.variants());
        variants.expect_err("refused").to_string()
    };
    let cable = why(&["client s", "server1..2 s", "server1 server2"]);
    assert!(
        cable.contains("the edge from server1 to server2 joins two hosts; join each of them to a switch"),
        "{cable}"
    );
    let apart = why(&["client s", "server1 s", "server1 t", "server2 t"]);
    assert!(apart.contains("no path leads through a host"), "{apart}");
}

/// Switches in a random tree, with the client and six servers on one to three of them each.
fn networks() -> impl Strategy<Value = (Vec<String>, Vec<[u32; 2]>)> {
    (1..5u32).prop_flat_map(|switches| {
        let tree = (1..switches).map(|s| (0..s).prop_map(move |up| format!("s{s} s{up}"))).collect::<Vec<_>>();
        let homes = prop::collection::vec(prop::collection::vec(0..switches, 1..=3), 7);
        (tree, homes).prop_map(|(mut edges, homes)| {
            let on = (0..).zip(&homes).flat_map(|(host, homes)| homes.iter().map(move |&home| [host, home]));
            let on: Vec<[u32; 2]> = on.collect();
            edges.extend(on.iter().map(|[host, home]| format!("{} s{home}", host_name(*host))));
            (edges, on)
        })
    })
}

fn host_name(host: u32) -> String {
    if host == 0 { "client".into() } else { format!("server{host}") }
}

fn scheme_names() -> Vec<String> {
    schemes(Kind::OneShot).map(|scheme| scheme.to_string()).collect()
}

proptest! {
    #![proptest_config(fanin_testing::cases(60))]

    #[test]
    fn any_network_conserves_packets(
        (edges, on) in networks(),
        scheme in prop::sample::select(scheme_names()),
        fails: prop::sample::Index, at_us in 0..3_000u32, seed in 0..1000u64,
    ) {
        let [host, home] = *fails.get(&on);
        let link = format!("{} s{home}", host_name(host));
        let changes = [format!("{at_us} us {link} down"), format!("{} us {link} up", at_us + 5_000)];
        let swift = if scheme == "swift" { "[swift]\nbase_target = \"500 us\"\n" } else { "" };
        let scenario = format!(
            "schemes = [\"{scheme}\"]\n[fabric]\nkind = \"edges\"\nedges = {edges:?}\nchanges = {changes:?}\n{swift}\
             [tcp]\nrto_min = \"10 ms\"\nrto_initial = \"20 ms\"\n[switch]\nbuffer = \"20 packets\"\n\
             [workload]\nkind = \"one-shot\"\nfragment = \"100 KB\"\nduration = \"20 s\"\n"
        );
        let spec = spec(&scenario, 6, seed);
        // Conservation is checked in every run.
        let tables = run(&spec);
        prop_assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_some()), "not every flow ends");
        prop_assert_eq!(&tables, &run(&spec));
        let lazy = run_as(&spec, Departures::Lazy);
        prop_assert_eq!((tables.totals, tables.flows), (lazy.totals, lazy.flows));
    }
}
