//! Networks of several switches: a list of edges.

mod common;

use common::{run, run_as, spec};
use fanin_sim::Departures;
use proptest::prelude::*;

/// Two racks over two cores, with a slow link from the client's rack to it.
const TWO_RACKS: &str = r#"
    [fabric]
    kind = "edges"
    edges = [
        "client tor1", "server1..4 tor1", "server5..12 tor2",
        "tor1 core1 10 Gbit/s", "tor1 core2 10 Gbit/s", "tor2 core1 10 Gbit/s", "tor2 core2 10 Gbit/s 50 us",
    ]
    [switch]
    buffer = "4 MiB"
    [workload]
    kind = "barrier"
    fragment = "64 KiB"
    duration = "100 ms"
"#;

#[test]
fn flows_of_another_rack_are_spread_over_both_cores() {
    let tables = run(&spec(&format!("schemes = [\"dctcp\"]\n{TWO_RACKS}"), 12, 1));
    let packets = |name: &str| tables.ports.iter().find(|p| p.port == name).map_or(0, |p| p.packets);
    let (one, other) = (packets("core1>tor1"), packets("core2>tor1"));
    assert!(one > 0 && other > 0, "{one} by core1, {other} by core2");
    // The near rack's four servers do not pass the cores.
    assert!(one + other < packets("tor1>client"), "{one} and {other} of {}", packets("tor1>client"));
    assert!(tables.totals.rounds > 5);
}

#[test]
fn a_flow_keeps_its_way_so_that_nothing_is_reordered() {
    // Without loss, duplicate ACKs would come from reordering alone.
    let far = format!("schemes = [\"newreno\"]\n{TWO_RACKS}");
    let tables = run(&spec(&far, 12, 1));
    assert_eq!((tables.totals.drops, tables.totals.fast_retransmits, tables.totals.timeouts), (0, 0, 0));
}

#[test]
fn m21_keeps_every_switch_on_the_way_from_overflowing_whichever_form_it_has() {
    // The bottleneck is the link between the switches: the port there counts the flows of the far servers alone.
    let narrow = |offer: &str| {
        format!(
            r#"
            schemes = ["newreno+m21"]
            [fabric]
            kind = "edges"
            edges = ["client tor1", "server1..4 tor1", "server5..20 tor2", "tor1 tor2 200 Mbit/s"]
            [m21]
            offer = "{offer}"
            [switch]
            buffer = "64 KiB"
            [tcp]
            initial_window = 1
            delayed_ack = 1
            [workload]
            kind = "barrier"
            fragment = "64 KiB"
            duration = "500 ms"
        "#
        )
    };
    for offer in ["window", "count"] {
        let tables = run(&spec(&narrow(offer), 20, 1));
        assert_eq!(tables.totals.drops, 0, "{offer}");
        assert!(tables.totals.rounds > 3, "{offer}: {} rounds", tables.totals.rounds);
    }
    let without = run(&spec(&narrow("window").replace("newreno+m21", "newreno"), 20, 1));
    assert!(without.totals.drops > 0, "the scenario overflows without M21");
}

/// A connected network of switches with the client and six servers at its rim.
fn networks() -> impl Strategy<Value = String> {
    (1..6u32).prop_flat_map(|switches| {
        let tree = (1..switches).map(|s| (0..s).prop_map(move |up| format!("s{s} s{up}"))).collect::<Vec<_>>();
        let more = prop::collection::vec((0..switches, 0..switches), 0..4);
        let homes = prop::collection::vec(0..switches, 7);
        (tree, more, homes).prop_map(|(mut edges, more, homes)| {
            edges.extend(more.into_iter().filter(|(a, b)| a != b).map(|(a, b)| format!("s{a} s{b} 500 Mbit/s")));
            edges.extend(homes.iter().enumerate().map(|(host, home)| match host {
                0 => format!("client s{home}"),
                n => format!("server{n} s{home}"),
            }));
            format!("[fabric]\nkind = \"edges\"\nedges = {edges:?}\n")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_network_conserves_its_packets_and_gives_the_same_bytes_each_way(
        network in networks(),
        scheme in prop::sample::select(vec!["newreno", "dctcp", "newreno+m21", "newreno+red+ecn"]),
        seed in 0..1000u64,
    ) {
        let scenario = format!(
            "schemes = [\"{scheme}\"]\n{network}\n[switch]\nbuffer = \"20 packets\"\n\
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
