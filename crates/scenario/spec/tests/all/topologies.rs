//! htsim's topology files as the fabric of a scenario.

use fanin_spec::{FabricKind, Problem, Scenario, Settings};
use fanin_units::Rate;

const TOPOLOGY: &str = include_str!("../../../../../scenarios/topologies/two-tiers.topo");

/// The settings of a scenario with that topology and these keys.
fn settings(keys: &str) -> Result<Settings, Problem> {
    let text = format!("schemes = [\"dctcp\"]\n[fabric]\ntopology = \"a.topo\"\n{keys}");
    let read = |path: &str| Ok((path.to_string(), TOPOLOGY.as_bytes().to_vec()));
    let scenario = Scenario::parse("test.toml", &text).unwrap();
    Ok(scenario.variants_with(&read)?[0].points[0].settings.clone())
}

#[test]
fn topology_is_the_fabric() {
    let settings = settings("hosts = 32\n[workload]\nkind = \"shuffle\"\nfragment = \"64 KiB\"\n").unwrap();
    let fabric = settings.network().unwrap();
    assert_eq!((settings.fabric.kind, settings.fabric.racks.0), (FabricKind::LeafSpine, Some(4)));
    assert_eq!(
        (settings.fabric.uplink_rate.0, settings.link.rate),
        (Some(Rate(100_000_000_000)), Rate(100_000_000_000))
    );
    // Four racks of eight hosts, and two spines.
    assert_eq!(fabric.links().len(), 2 * (32 + 4 * 2));
}

#[test]
fn topology_excludes_the_keys_that_it_sets() {
    for key in ["racks = 4", "kind = \"fat-tree\"", "[link]\nrate = \"1 Gbit/s\""] {
        let problem = settings(&format!("{key}\n")).unwrap_err().to_string();
        assert!(problem.contains("`fabric.topology` determines"), "{problem}");
    }
}
