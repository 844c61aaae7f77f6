//! Ultra Ethernet's transport and its ancestors over ports that trim.

use fanin_spec::{RunSpec, Scenario};
use fanin_tables::RunTables;
use proptest::prelude::*;

use crate::common::{run, spec as spec_of};

const INCAST: &str = include_str!("../../../../../scenarios/uet-incast.toml");

/// A run of the scenario with other settings.
fn spec(scheme: &str, fan_in: u32, seed: u64, settings: &[&str]) -> RunSpec {
    let sweep = format!("sweep.fan_in=[{fan_in}]");
    let mut scenario = Scenario::parse("uet-incast.toml", &INCAST.replace("\"eqds\"]", "\"eqds\", \"ndp\"]")).unwrap();
    scenario.select("--schemes", &[scheme]).unwrap();
    for set in [sweep.as_str()].iter().chain(settings) {
        scenario.assign("--set", set).unwrap();
    }
    scenario.variants().unwrap()[0].at(0, seed).unwrap()
}

/// Completion times of the flows of some seeds, us, in order.
fn times(scheme: &str, fan_in: u32, seeds: u64, settings: &[&str]) -> (Vec<f64>, Vec<RunTables>) {
    let runs: Vec<RunTables> = (1..=seeds).map(|seed| run(&spec(scheme, fan_in, seed, settings))).collect();
    let flows = runs.iter().flat_map(|run| &run.flows);
    let mut times: Vec<f64> = flows.map(|flow| flow.fct_ps.expect("it ends") as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    (times, runs)
}

/// Median and largest flow times of uet-htsim (commit 40ccb05), us.
const HTSIM: [(&str, u32, &[&str], f64, f64); 13] = [
    ("nscc", 8, &["workload.fragment=1 MB"], 627.0, 705.0),
    ("nscc", 15, &[], 2_288.0, 2_479.0),
    ("nscc", 32, &["workload.fragment=1 MB"], 2_383.0, 2_636.0),
    ("nscc", 100, &["workload.fragment=300 KB"], 2_392.0, 2_520.0),
    ("nscc", 127, &[], 20_796.0, 21_029.0),
    ("rccc", 8, &["workload.fragment=1 MB"], 658.0, 663.0),
    ("rccc", 15, &[], 2_451.0, 2_464.0),
    ("rccc", 32, &["workload.fragment=1 MB"], 2_625.0, 2_637.0),
    ("rccc", 100, &["workload.fragment=300 KB"], 2_456.0, 2_495.0),
    ("rccc", 127, &[], 20_820.0, 20_891.0),
    ("eqds", 15, &["switch.buffer=145250 B"], 2_449.0, 2_470.0),
    ("eqds", 127, &["switch.buffer=145250 B"], 20_828.0, 20_964.0),
    ("ndp", 15, &["switch.buffer=135000 B"], 2_442.0, 2_466.0),
];

#[test]
fn flow_times_are_those_of_uet_htsim() {
    for (scheme, fan_in, settings, median, largest) in HTSIM {
        // Windows of few senders differ by 5 % from seed to seed.
        let (times, runs) = times(scheme, fan_in, if fan_in > 32 { 3 } else { 10 }, settings);
        let found = [times[times.len() / 2], times[times.len() - 1]];
        let off = [found[0] / median - 1.0, found[1] / largest - 1.0];
        assert!(off[0].abs() < 0.05 && off[1].abs() < 0.08, "{scheme} {fan_in}: {found:?}, not {median} and {largest}");
        assert!(runs.iter().all(|run| run.totals.drops == 0), "{scheme} {fan_in}");
    }
}

#[test]
fn retransmissions_are_as_many_as_in_uet_htsim() {
    for (scheme, again) in [("nscc", 72_623.0), ("rccc", 6_218.0)] {
        let found = run(&spec(scheme, 127, 1, &[])).totals.retransmits as f64;
        assert!((found / again - 1.0).abs() < 0.08, "{scheme}: {found}, not {again}");
    }
}

#[test]
fn receivers_grant_their_links_rate() {
    // The last of 127 flows ends with the link's time for all packets at 99 % of its rate, and a first round trip.
    let bytes = 127.0 * 490.0 * 4_150.0;
    let least_us = bytes * 8.0 / 100e3;
    let (times, _) = times("rccc", 127, 1, &[]);
    let last = times[126];
    assert!(last > least_us && last < 1.03 * least_us, "{last} us, at least {least_us}");
}

#[test]
fn idle_connections_get_credit_in_advance() {
    // Rounds over standing connections: each round's first window needs no round trip.
    let rounds = ["workload.kind=barrier", "workload.fragment=20 KB", "workload.duration=20 ms"];
    for scheme in ["rccc", "eqds", "ndp"] {
        let tables = run(&spec(scheme, 15, 1, &rounds));
        // A round is a request, and 15 responses of 20 kB in 25 us: without credit it would wait for another round trip.
        let mean_us = 20_000.0 / tables.totals.rounds as f64;
        assert!(tables.totals.timeouts == 0 && mean_us < 60.0, "{scheme}: {mean_us} us");
    }
}

#[test]
fn withheld_acknowledgements_cause_timeouts() {
    // A window that shrinks after its packets left waits for an acknowledgement that comes with the next 16 KiB.
    let rounds = ["workload.kind=barrier", "workload.fragment=20 KB", "workload.duration=20 ms"];
    let at_once = [rounds[0], rounds[1], rounds[2], "uet.ack_after=0 B"];
    let [withheld, at_once] = [&rounds[..], &at_once[..]].map(|settings| run(&spec("nscc", 15, 1, settings)).totals);
    assert!(withheld.timeouts > 0 && at_once.timeouts == 0, "{} and {}", withheld.timeouts, at_once.timeouts);
    assert!(at_once.rounds > withheld.rounds, "{} and {}", withheld.rounds, at_once.rounds);
}

proptest! {
    #![proptest_config(fanin_testing::cases(32))]
    #[test]
    fn trimming_networks_deliver_everything(
        scheme in prop::sample::select(vec!["nscc", "rccc", "eqds", "ndp"]),
        racks in 1u32..4, hosts in 4u32..12, spines in 1u32..3, rate in 1u64..9, delay in 1u64..4,
        buffer in 10u64..300, fragment in 1u64..400, loss in 0u32..3, seed in 1u64..1_000,
    ) {
        let fabric = [
            "fabric.kind=leaf-spine".to_string(),
            "fabric.arity=none".to_string(),
            format!("fabric.racks={racks}"),
            format!("fabric.hosts_per_rack={hosts}"),
            format!("fabric.spines={spines}"),
            format!("fabric.uplink_rate={} Gbit/s", 25 * rate),
            format!("link.delay={delay} us"),
            format!("switch.buffer={buffer} KB"),
            format!("workload.fragment={fragment} KB"),
            format!("faults.loss={loss} %"),
        ];
        let settings: Vec<&str> = fabric.iter().map(String::as_str).collect();
        let tables = run(&spec(scheme, racks * hosts - 1, seed, &settings));
        // A run checks that packets and bytes are conserved. Headers find room unless hundreds of packets are trimmed at once.
        prop_assert_eq!(tables.totals.payload_bytes, u64::from(racks * hosts - 1) * fragment * 1_000);
    }
}

/// Time of an all-to-all between two racks with four spines, one of which has a slow link, in ms.
fn beside_a_slow_link(spraying: &str) -> f64 {
    let text = format!(
        "schemes = [\"nscc\"]\n[fabric]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 4\nspines = 4\n\
         changes = [\"0 us leaf1 spine1 20 Gbit/s\"]\n[link]\nrate = \"100 Gbit/s\"\ndelay = \"1 us\"\n\
         [switch]\nbuffer = \"178450 B\"\n[host]\npacket_jitter = \"none\"\n\
         [workload]\nkind = \"all-to-all\"\nfragment = \"1 MB\"\nqueries = 1\n[uet]\nspraying = \"{spraying}\"\n"
    );
    let tables = run(&spec_of(&text, 7, 1));
    tables.queries[0].qct_ps.expect("it ends") as f64 / 1e9
}

#[test]
fn spraying_by_feedback_avoids_a_slow_path() {
    let random = beside_a_slow_link("random");
    for spraying in ["reps", "bitmap", "adaptive"] {
        let took = beside_a_slow_link(spraying);
        assert!(took < 0.8 * random, "{spraying}: {took} ms, random {random} ms");
    }
}

/// Each of 1,024 hosts of a fat tree sends 2 MB to another one, with REPS. Times are those of uet-htsim (commit 40ccb05, nscc,
/// `-load_balancing_algo reps`, `fat_tree_1024.topo`), us.
#[test]
fn permutation_takes_as_long_as_in_uet_htsim() {
    const HOSTS: u32 = 1_024;
    let (median, largest) = (202.7, 221.7);
    let flow = |host: u32| format!("{host}->{} id {} start 0 size 2000000\n", (389 * host + 57) % HOSTS, host + 1);
    let flows = format!("Nodes {HOSTS}\nConnections {HOSTS}\n{}", (0..HOSTS).map(flow).collect::<String>());
    let text = INCAST.replace("arity = 8 ", "arity = 16 ").replace("placement = \"spread\"", "placement = \"by-rack\"");
    let (network, _) = text.split_once("[workload]").unwrap();
    let text = format!("{network}[uet]\nspraying = \"reps\"\n[workload]\nkind = \"flows\"\nfile = \"a.cm\"\n");
    let read = |path: &str| Ok((path.to_string(), flows.clone().into_bytes()));
    let scenario = Scenario::parse("permutation.toml", &text).unwrap();
    let tables = run(&scenario.variants_with(&read).unwrap()[0].at(0, 1).unwrap());
    let mut times: Vec<f64> = tables.flows.iter().map(|flow| flow.fct_ps.expect("it ends") as f64 / 1e6).collect();
    times.sort_by(f64::total_cmp);
    // Six links there and back for a handshake, against the way of the last acknowledgement.
    let found = [times[times.len() / 2], times[times.len() - 1]].map(|time| time - 6.03);
    let off = [found[0] / median - 1.0, found[1] / largest - 1.0];
    assert!(off.iter().all(|off| off.abs() < 0.03), "{found:?}, not {median} and {largest}");
}
