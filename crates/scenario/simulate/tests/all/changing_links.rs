//! Links that fail, recover or change their rate while packets are in flight.

use crate::common::{run, run_as, schemes, spec};
use fanin_sim::Departures;
use fanin_spec::Kind;
use fanin_tables::{PortRow, RunTables};
use proptest::prelude::*;

/// A workload over two racks and two spines, with changes of links.
fn cluster(scheme: &str, changes: &[String], workload: &str) -> String {
    // Swift's default target is shorter than the idle network's round trip, so that its window would shrink to a thousandth.
    let target = if scheme == "swift" { "[swift]\nbase_target = \"500 us\"" } else { "" };
    format!(
        r#"
        schemes = ["{scheme}"]
        [fabric]
        kind = "leaf-spine"
        racks = 2
        hosts_per_rack = 4
        spines = 2
        changes = {changes:?}
        [tcp]
        rto_min = "10 ms"
        rto_initial = "20 ms"
        {target}
        {workload}
    "#
    )
}

const SHUFFLE: &str = r#"
        [workload]
        kind = "shuffle"
        fragment = "200 KB"
        start_jitter = "10 ms"
        duration = "100 s"
"#;

fn shuffle(scheme: &str, changes: &[String]) -> String {
    cluster(scheme, changes, &format!("[switch]\nbuffer = \"100 packets\"\n{SHUFFLE}"))
}

fn packets(tables: &RunTables, name: &str) -> u64 {
    tables.ports.iter().find(|port| port.port == name).map_or(0, |port| port.packets)
}

/// The ports that lost packets to a failed link.
fn cut_off(tables: &RunTables) -> Vec<&str> {
    tables.ports.iter().filter(|port| port.drops_down > 0).map(|port| port.port.as_str()).collect()
}

#[test]
fn flows_reroute_after_link_failure() {
    let whole = run(&spec(&shuffle("newreno", &[]), 7, 1));
    let failed = run(&spec(&shuffle("newreno", &["4 ms leaf1 spine1 down".into()]), 7, 1));
    assert!(failed.flows.iter().all(|flow| flow.fct_ps.is_some()), "every flow ends");
    assert!(cut_off(&whole).is_empty());
    assert_eq!(cut_off(&failed), ["spine1>leaf1"], "what waited is lost");
    for port in ["leaf1>spine1", "spine1>leaf1", "leaf2>spine1"] {
        assert!(packets(&failed, port) < packets(&whole, port) / 2, "{port}: {}", packets(&failed, port));
    }
    assert!(packets(&failed, "leaf2>spine2") > packets(&whole, "leaf2>spine2"), "the other spine takes over");
}

#[test]
fn host_resumes_when_link_heals() {
    let changes = ["3 ms server5 leaf2 down".to_string(), "300 ms server5 leaf2 up".into()];
    let tables = run(&spec(&shuffle("newreno", &changes), 7, 1));
    let of_server5 = |flow: &&fanin_tables::FlowRow| flow.from_host == 5 || flow.to_host == 5;
    let ends: Vec<u64> =
        tables.flows.iter().filter(of_server5).map(|flow| flow.start_ps + flow.fct_ps.unwrap_or(0)).collect();
    assert_eq!(ends.len(), 14);
    // In ps: no flow ends between the two changes, except those whose last packets were on the wire.
    assert!(ends.iter().all(|&end| !(3_100_000_000..300_000_000_000).contains(&end)), "{ends:?}");
    assert!(ends.iter().any(|&end| end > 300_000_000_000));
    assert!(tables.totals.timeouts > 0);
}

#[test]
fn drops_at_down_links_count_as_down() {
    let changes = ["3 ms server5 leaf2 down".to_string(), "300 ms server5 leaf2 up".into()];
    for scheme in ["newreno", "dctcp", "newreno+red", "newreno+codel+ecn"] {
        let host = "[host]\nqueue = \"switch\"";
        let tables = run(&spec(&format!("{}{host}", shuffle(scheme, &changes)), 7, 1));
        assert_eq!(cut_off(&tables), ["leaf2>server5", "server5>leaf2"], "{scheme}");
        assert_eq!(tables.totals.drops, tables.ports.iter().map(PortRow::drops).sum::<u64>(), "{scheme}");
        // The link is down for most of the run, and only SYNs and retransmissions arrive at it.
        let port = tables.ports.iter().find(|port| port.port == "server5>leaf2").unwrap();
        assert!(port.drops_down > port.drops_full + port.drops_early + port.drops_not_ect, "{scheme}: {port:?}");
    }
}

#[test]
fn slower_link_carries_less() {
    let long = |changes: &str| {
        let scenario = format!(
            "schemes = [\"newreno\"]\n[fabric]\nchanges = [{changes}]\n[workload]\nkind = \"long\"\nduration = \"2 s\"\n"
        );
        run(&spec(&scenario, 4, 1)).goodput_mbps()
    };
    // Nearly 1 Gbit/s for the first half and a tenth of it for the second.
    let (whole, slowed) = (long(""), long("\"1 s switch client 100 Mbit/s\""));
    assert!(whole > 900.0 && (450.0..600.0).contains(&slowed), "{whole} and {slowed} Mbit/s");
}

/// Changes of links within the first 30 ms; at the end all links are up.
fn changes() -> impl Strategy<Value = Vec<String>> {
    let link =
        prop::sample::select(vec!["leaf1 spine1", "leaf1 spine2", "leaf2 spine2", "server1 leaf1", "client leaf1"]);
    let to = prop::sample::select(vec!["down", "up", "300 Mbit/s", "999 Mbit/s"]);
    prop::collection::vec((link, 0..30_000u32, to), 1..8).prop_map(|changes| {
        let texts = changes.iter().map(|(link, us, to)| format!("{us} us {link} {to}"));
        texts.chain(changes.iter().map(|(link, ..)| format!("40 ms {link} up"))).collect()
    })
}

/// Small and large buffers of switches, and loss at random.
fn impairments() -> impl Strategy<Value = String> {
    let buffer = prop::sample::select(vec!["100 packets", "20 packets"]);
    let loss = prop::sample::select(vec!["0 %", "0.1 %", "1 %"]);
    (buffer, loss).prop_map(|(buffer, loss)| format!("[switch]\nbuffer = \"{buffer}\"\n[faults]\nloss = \"{loss}\"\n"))
}

fn scheme(kind: Kind) -> impl Strategy<Value = String> {
    prop::sample::select(schemes(kind).map(|scheme| scheme.to_string()).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(fanin_testing::cases(40))]

    #[test]
    fn link_changes_conserve_packets(
        changes in changes(), impairments in impairments(), scheme in scheme(Kind::Shuffle), seed in 0..1000u64,
    ) {
        let spec = spec(&cluster(&scheme, &changes, &format!("{impairments}{SHUFFLE}")), 7, seed);
        // Every run checks conservation.
        let tables = run(&spec);
        prop_assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_some()), "not every flow ends");
        prop_assert_eq!(&tables, &run(&spec));
        let lazy = run_as(&spec, Departures::Lazy);
        prop_assert_eq!((tables.totals, tables.flows), (lazy.totals, lazy.flows));
    }

    /// Over persistent connections a round begins with the windows, credit and timers of the one before.
    #[test]
    fn rounds_resume_after_link_changes(
        changes in changes(), impairments in impairments(), scheme in scheme(Kind::Barrier), seed in 0..1000u64,
    ) {
        let rounds = "[workload]\nkind = \"barrier\"\nfragment = \"20 KB\"\nduration = \"1 s\"\n";
        let tables = run(&spec(&cluster(&scheme, &changes, &format!("{impairments}{rounds}")), 7, seed));
        let resumed = tables.queries.iter().any(|round| round.start_ps > 500_000_000_000);
        prop_assert!(resumed, "no round begins in the second half");
    }
}

/// Credit that a failed link lost is granted again when the sender asks for it again.
#[test]
fn lost_credit_is_granted_again() {
    let changes = ["8556 us client leaf1 down".to_string(), "40 ms client leaf1 up".into()];
    for scheme in ["rccc", "eqds", "ndp"] {
        let tables = run(&spec(&shuffle(scheme, &changes), 7, 81));
        assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_some()), "{scheme}: not every flow ends");
    }
}
