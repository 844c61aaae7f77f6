//! Networks of several switches: edge lists and regular trees.

use crate::common::{run, run_as, schemes, spec};
use fanin_sim::Departures;
use fanin_spec::Kind;
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
fn flows_spread_over_both_cores() {
    let tables = run(&spec(&format!("schemes = [\"dctcp\"]\n{TWO_RACKS}"), 12, 1));
    let packets = |name: &str| tables.ports.iter().find(|p| p.port == name).map_or(0, |p| p.packets);
    let (one, other) = (packets("core1>tor1"), packets("core2>tor1"));
    assert!(one > 0 && other > 0, "{one} by core1, {other} by core2");
    // Traffic of the near rack's four servers does not cross the cores.
    assert!(one + other < packets("tor1>client"), "{one} and {other} of {}", packets("tor1>client"));
    assert!(tables.totals.rounds > 5);
}

#[test]
fn flows_keep_their_path() {
    // Without loss, duplicate ACKs would be due to reordering alone.
    let far = format!("schemes = [\"newreno\"]\n{TWO_RACKS}");
    let tables = run(&spec(&far, 12, 1));
    assert_eq!((tables.totals.drops, tables.totals.fast_retransmits, tables.totals.timeouts), (0, 0, 0));
}

#[test]
fn m21_prevents_overflow_at_every_switch() {
    // The bottleneck is the link between the switches: its port counts only the flows of the far servers.
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

/// A connected network of switches with the client and six servers at its edge.
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

/// A tree with room for the client and six servers.
fn trees() -> impl Strategy<Value = String> {
    let counts = (1..4u32, 1..4u32, 1..4u32, prop::sample::select(vec!["by-rack", "spread"]));
    counts.prop_map(|(pods, racks, spines, placement)| {
        let (kind, of_pods) =
            if pods > 1 { ("fat-tree", format!("pods = {pods}\n")) } else { ("leaf-spine", "".into()) };
        let (racks, hosts) = (racks * pods, 7u32.div_ceil(racks * pods));
        format!(
            "[fabric]\nkind = \"{kind}\"\n{of_pods}racks = {racks}\nhosts_per_rack = {hosts}\nspines = {spines}\n\
             uplink_rate = \"700 Mbit/s\"\nplacement = \"{placement}\"\n"
        )
    })
}

#[test]
fn shuffle_covers_all_or_some_pairs() {
    let shuffle = |pairs: &str| {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[fabric]\nkind = \"fat-tree\"\narity = 4\n\
             [workload]\nkind = \"shuffle\"\nfragment = \"20 KB\"\nstart_jitter = \"20 ms\"\npairs = {pairs}\n"
        );
        run(&spec(&scenario, 15, 3)).flows
    };
    let (all, some) = (shuffle("1"), shuffle("0.25"));
    let mut pairs: Vec<_> = all.iter().map(|flow| (flow.from_host, flow.to_host)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!((pairs.len(), all.len()), (16 * 15, 16 * 15));
    assert!(
        all.iter()
            .all(|flow| flow.payload_bytes == Some(20_000) && flow.fct_ps.is_some() && flow.from_host != flow.to_host)
    );
    assert!(all.iter().all(|flow| flow.start_ps < 20_000_000_000), "every start lies within the jitter");
    assert!((30..=90).contains(&some.len()), "{} of {}", some.len(), all.len());
    // Start times do not depend on the other senders.
    let starts = |of: &fanin_tables::FlowRow| (of.from_host, of.to_host, of.start_ps);
    assert!(some.iter().all(|flow| all.iter().any(|other| starts(other) == starts(flow))));
}

#[test]
fn flows_take_shortest_paths() {
    let scenario = |server: u32| {
        format!(
            "schemes = [\"newreno\"]\n[fabric]\nkind = \"fat-tree\"\narity = 4\n\
             [workload]\nkind = \"flows\"\nfile = \"{server}\"\n"
        )
    };
    let ports = |server: u32| {
        let mut scenario = fanin_spec::Scenario::parse("test.toml", &scenario(server)).expect("a scenario");
        scenario.assign("--fan-in 15", "sweep.fan_in=[15]").expect("a fan-in");
        let file = |host: &str| Ok(("flows.csv".into(), format!("src,dst,bytes,start_us\n{host},0,20000,0\n").into()));
        let spec = scenario.variants_with(&file).expect("a contender")[0].run(15, 1).expect("swept over");
        run(&spec).ports.into_iter().map(|port| port.port).collect::<Vec<_>>()
    };
    assert_eq!(ports(1).len(), 4, "two links each way: {:?}", ports(1));
    let far = ports(15);
    assert_eq!(far.len(), 12, "six links each way: {far:?}");
    assert!(far.iter().any(|port| port.starts_with("core")) && far.contains(&"tor1>client".to_string()), "{far:?}");
}

proptest! {
    #![proptest_config(fanin_testing::cases(40))]

    #[test]
    fn any_network_conserves_packets(
        network in prop_oneof![networks(), trees()],
        scheme in prop::sample::select(schemes(Kind::OneShot).map(|scheme| scheme.to_string()).collect::<Vec<_>>()),
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
