//! htsim's topology files: trees of two or three tiers (ultraethernet/uet-htsim and Broadcom/csg-htsim, `sim/datacenter/topologies/`).

use std::collections::BTreeMap;

use fanin_units::{Rate, Time};

use crate::flows::whole;
use crate::problem::{Origin, Problem, excerpt};
use crate::range::FAN_IN_MAX;
use crate::setting::Optional;
use crate::{FabricKind, Settings};

/// A tree, as keys of `[fabric]` and `[link]` have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    kind: FabricKind,
    racks: u32,
    hosts_per_rack: u32,
    spines: u32,
    pods: Option<u32>,
    rate: Rate,
    uplink_rate: Rate,
    delay: Time,
}

/// Keys that a topology sets.
pub(crate) const SETS: [&str; 11] = [
    "fabric.kind",
    "fabric.edges",
    "fabric.racks",
    "fabric.hosts_per_rack",
    "fabric.spines",
    "fabric.pods",
    "fabric.arity",
    "fabric.uplink_rate",
    "fabric.oversubscription",
    "link.rate",
    "link.delay",
];

/// Keys before the tiers, and keys of a tier.
const OF_ALL: [&str; 3] = ["nodes", "tiers", "podsize"];
const OF_A_TIER: [&str; 7] = [
    "oversubscribed",
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "bundle",
];

/// Numbers by key, each with its line.
type Numbers = BTreeMap<String, (usize, u64)>;

/// An error: its line and its text.
type Wrong = (usize, String);

impl Topology {
    /// Parses a file; `name` is its path as the user gave it.
    ///
    /// # Errors
    /// The first invalid line, or a tree that `fanin` does not have.
    pub fn parse(name: &str, text: &str) -> Result<Topology, Problem> {
        let at = |(line, what): Wrong| Problem::new(&Origin::File { name: name.into(), line }, what);
        let lines = text.lines().count().max(1);
        let (all, tiers) = numbers(text).map_err(at)?;
        let count = number(&all, "tiers", lines).map_err(at)?;
        if !(2..=3).contains(&count) {
            return Err(at((all["tiers"].0, format!("use 2 or 3 tiers, not {count}"))));
        }
        if tiers.len() as u64 != count {
            return Err(at((lines, format!("expected {count} sections `Tier N`, found {}", tiers.len()))));
        }
        tree(&all, &tiers, lines).map_err(at)
    }

    /// Sets the keys.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        let Topology { kind, racks, hosts_per_rack, spines, pods, rate, uplink_rate, delay } = *self;
        let fabric = &mut settings.fabric;
        (fabric.kind, fabric.pods) = (kind, Optional(pods));
        fabric.racks = Optional(Some(racks));
        fabric.hosts_per_rack = Optional(Some(hosts_per_rack));
        fabric.spines = Optional(Some(spines));
        fabric.uplink_rate = Optional(Some(uplink_rate));
        (settings.link.rate, settings.link.delay) = (rate, delay);
    }
}

/// Numbers of the whole tree, and of each tier.
fn numbers(text: &str) -> Result<(Numbers, Vec<Numbers>), Wrong> {
    let (mut all, mut tiers): (Numbers, Vec<Numbers>) = (Numbers::new(), Vec::new());
    for (line, row) in (1..).zip(text.lines()) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [key, value] = match words[..] {
            [] => continue,
            [first, ..] if first.starts_with('#') => continue,
            [key, value] => [key, value],
            _ => return Err((line, format!("expected a key and a number; this is {}", excerpt(row)))),
        };
        let key = key.to_ascii_lowercase();
        let value = whole(value).ok_or_else(|| (line, format!("expected a whole number, not {}", excerpt(value))))?;
        if key == "tier" {
            if value != tiers.len() as u64 {
                return Err((line, format!("expected `Tier {}`, not `Tier {value}`", tiers.len())));
            }
            tiers.push(Numbers::new());
            continue;
        }
        let known: &[&str] = if tiers.is_empty() { &OF_ALL } else { &OF_A_TIER };
        if !known.contains(&key.as_str()) {
            return Err((line, format!("unknown key {} here; use {}", excerpt(&key), known.join(", "))));
        }
        let numbers = tiers.last_mut().unwrap_or(&mut all);
        if numbers.insert(key.clone(), (line, value)).is_some() {
            return Err((line, format!("`{key}` is there twice")));
        }
    }
    Ok((all, tiers))
}

/// A number above zero; `lines` is where its absence is reported.
fn number(numbers: &Numbers, key: &str, lines: usize) -> Result<u64, Wrong> {
    match numbers.get(key) {
        None => Err((lines, format!("`{key}` is missing"))),
        Some((line, 0)) => Err((*line, format!("`{key}` of 0: use at least 1"))),
        Some((_, number)) => Ok(*number),
    }
}

/// A number that must have a value if it is there.
fn expect(numbers: &Numbers, key: &str, value: u64, why: &str) -> Result<(), Wrong> {
    match numbers.get(key) {
        Some((line, found)) if *found != value => Err((*line, format!("`{key}` of {found}: {why}; use {value}"))),
        _ => Ok(()),
    }
}

/// The tree of a file's numbers.
fn tree(all: &Numbers, tiers: &[Numbers], lines: usize) -> Result<Topology, Wrong> {
    let nodes = number(all, "nodes", lines)?;
    let [hosts_per_rack, spines] = [number(&tiers[0], "radix_down", lines)?, number(&tiers[0], "radix_up", lines)?];
    let pod = if tiers.len() == 2 { nodes } else { number(all, "podsize", lines)? };
    let divides = |whole: u64, part: u64, of: &str| match whole.is_multiple_of(part) && whole > 0 {
        true => Ok(whole / part),
        false => Err((all["nodes"].0, format!("{whole} {of} cannot be divided evenly by {part}"))),
    };
    if nodes > u64::from(FAN_IN_MAX) + 1 {
        return Err((all["nodes"].0, format!("use at most {} nodes, not {nodes}", FAN_IN_MAX + 1)));
    }
    let pods = divides(nodes, pod, "nodes")?;
    let racks = divides(pod, hosts_per_rack, "nodes of a pod")?;
    let rate = |tier: &Numbers| {
        let gbps = number(tier, "downlink_speed_gbps", lines)?;
        let rate = gbps.checked_mul(1_000_000_000).filter(|&rate| rate <= crate::range::RATE_MAX.0);
        rate.map(Rate).ok_or((tier["downlink_speed_gbps"].0, format!("use at most {}", crate::range::RATE_MAX)))
    };
    let delay = number(&tiers[0], "downlink_latency_ns", lines)?;
    for tier in tiers {
        expect(tier, "downlink_latency_ns", delay, "all links have one delay")?;
        expect(tier, "switch_latency_ns", 0, "switches forward without a delay")?;
        expect(tier, "bundle", 1, "links are not bundled")?;
    }
    expect(&tiers[1], "radix_down", racks, "a spine links to every rack of its pod")?;
    let uplink_rate = rate(&tiers[1])?;
    if let Some(core) = tiers.get(2) {
        expect(&tiers[1], "radix_up", racks, "a spine has as many cores as its pod has racks")?;
        expect(core, "downlink_speed_gbps", uplink_rate.0 / 1_000_000_000, "links to cores have the rate of uplinks")?;
    }
    let delay = delay.checked_mul(1_000).filter(|&ps| ps <= Time::from_secs(1).0);
    let delay = delay.map(Time).ok_or((tiers[0]["downlink_latency_ns"].0, "use at most 1 s".into()))?;
    let small = |number: u64| {
        u32::try_from(number).map_err(|_| (all["nodes"].0, format!("{number} is too large: use up to {}", u32::MAX)))
    };
    Ok(Topology {
        kind: if pods == 1 { FabricKind::LeafSpine } else { FabricKind::FatTree },
        racks: small(racks * pods)?,
        hosts_per_rack: small(hosts_per_rack)?,
        spines: small(spines)?,
        pods: (pods > 1).then_some(small(pods)?),
        rate: rate(&tiers[0])?,
        uplink_rate,
        delay,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "# two tiers\nNodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n\
                       Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\nOversubscribed 4\n\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 4\n\
                       Downlink_Latency_ns 1000\n";
    const THREE: &str = "Nodes 128\nTiers 3\nPodsize 16\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 500\n\
                         Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 500\nBundle 1\n\
                         Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 500\n";

    #[test]
    fn trees_become_keys_of_the_fabric() {
        let two = Topology::parse("x.topo", TWO).unwrap();
        let mut settings = Settings::default();
        two.apply(&mut settings);
        let fabric = &settings.fabric;
        assert_eq!(
            (fabric.kind, fabric.racks.0, fabric.spines.0, fabric.pods.0),
            (FabricKind::LeafSpine, Some(4), Some(2), None)
        );
        assert_eq!((fabric.hosts_per_rack.0, fabric.uplink_rate.0), (Some(8), Some(Rate(200_000_000_000))));
        assert_eq!((settings.link.rate, settings.link.delay), (Rate(100_000_000_000), Time::from_micros(1)));
        let three = Topology::parse("x.topo", THREE).unwrap();
        assert_eq!(
            (three.kind, three.racks, three.pods, three.delay),
            (FabricKind::FatTree, 32, Some(8), Time(500_000))
        );
    }

    #[test]
    fn refuses_with_the_line() {
        for (line, from, to) in [
            (2, "Nodes 32", "Nodes"),
            (2, "Nodes 32", "Nodes x"),
            (2, "Nodes 32", "Nodes 0"),
            (2, "Nodes 32", "Nodes 33"),
            (2, "Nodes 32", "Nodes 99999999999999999999"),
            (2, "Nodes 32", "Hosts 32"),
            (3, "Tiers 2", "Tiers 4"),
            (3, "Tiers 2", "Nodes 32"),
            (6, "Tier 0", "Tier 1"),
            (9, "Radix_Up 2", "Radix_Up 0"),
            (11, "Switch_Latency_ns 0", "Switch_Latency_ns 5"),
            (16, "Radix_Down 4", "Radix_Down 5"),
            (17, "Radix_Down 4\nDownlink_Latency_ns 1000", "Radix_Down 4\nDownlink_Latency_ns 2000"),
            (15, "Downlink_speed_Gbps 200", "Downlink_speed_Gbps 99999999999999"),
            (17, "Tier 1\nDownlink_speed_Gbps 200\n", "Tier 1\nBundle 2\nDownlink_speed_Gbps 200\nBundle 1\n"),
        ] {
            let text = TWO.replacen(from, to, 1);
            let Origin::File { line: found, name } = Topology::parse("x.topo", &text).unwrap_err().origin else {
                panic!("{to}: no line")
            };
            assert_eq!((found, name.as_str()), (line, "x.topo"), "{to}");
        }
        for cut in (0..THREE.len()).filter(|&cut| THREE.is_char_boundary(cut)) {
            // Any part of a file is a tree or an error with a line.
            let _ = Topology::parse("x.topo", &THREE[..cut])
                .map_err(|problem| assert!(matches!(problem.origin, Origin::File { .. })));
        }
    }
}
