//! Rail-optimised fabrics and dragonflies, as edges.

use fanin_fabric::Edge;
use fanin_units::Rate;

use crate::network::EDGES_MAX;
use crate::setting::Optional;
use crate::{FabricKind, Settings};

/// Length of a global link of a dragonfly, beside 1 of others: a path over two of them is longer than one over a link of each of two groups and
/// one global link.
const GLOBAL: u32 = 3;

impl Settings {
    /// Edges of a rail-optimised fabric: host i of every machine has a link to a switch of rail i, and every such switch to every spine. With
    /// a rate inside machines, hosts also have a link to the machine's own switch; no path between machines leads through it.
    pub(crate) fn rails(&self) -> Result<Vec<Edge>, String> {
        let f = &self.fabric;
        let rails = need(FabricKind::Rails, "rails", f.rails)?;
        let racks = need(FabricKind::Rails, "racks", f.racks)?;
        let machines_per_rack = need(FabricKind::Rails, "hosts_per_rack", f.hosts_per_rack)?;
        let spines = need(FabricKind::Rails, "spines", f.spines)?;
        if racks % rails != 0 {
            return Err(format!("`fabric.racks` of {racks} is no multiple of `fabric.rails`, {rails}"));
        }
        let hosts = racks.checked_mul(machines_per_rack).filter(|&hosts| hosts as usize <= EDGES_MAX);
        let hosts = hosts.ok_or_else(|| format!("{racks} rail switches of {machines_per_rack} hosts: too many"))?;
        few_enough([racks, spines])?;
        let mut edges = Vec::new();
        for host in 0..hosts {
            let (machine, rail) = (host / rails, host % rails);
            let switch = machine / machines_per_rack * rails + rail;
            edges.push(self.to_host(host, format!("leaf{}", switch + 1), None));
        }
        for switch in 1..=racks {
            for spine in 1..=spines {
                edges.push(self.between_switches([format!("leaf{switch}"), format!("spine{spine}")], 1));
            }
        }
        if let Some(rate) = f.machine_rate.0 {
            let inside = |host: u32| self.to_host(host, format!("machine{}", host / rails + 1), Some(rate));
            edges.extend((0..hosts).map(inside));
        }
        Ok(edges)
    }

    /// Edges of a dragonfly (Kim, Dally, Scott and Abts: "Technology-driven, highly-scalable dragonfly topology", ISCA 2008): the switches of a
    /// group have a link to one another, and every two groups have the same number of global links, which their switches share in turn.
    pub(crate) fn dragonfly(&self) -> Result<Vec<Edge>, String> {
        let f = &self.fabric;
        let groups = need(FabricKind::Dragonfly, "pods", f.pods)?;
        let racks = need(FabricKind::Dragonfly, "racks", f.racks)?;
        let hosts_per_rack = need(FabricKind::Dragonfly, "hosts_per_rack", f.hosts_per_rack)?;
        let global_links = need(FabricKind::Dragonfly, "global_links", f.global_links)?;
        if groups < 2 {
            return Err("`fabric.pods` of 1: a dragonfly needs at least 2 groups".into());
        }
        if racks % groups != 0 {
            return Err(format!("`fabric.racks` of {racks} cannot be divided evenly among {groups} groups"));
        }
        let per_group = racks / groups;
        let of_group = per_group.saturating_mul(global_links);
        if of_group % (groups - 1) != 0 {
            return Err(format!(
                "{per_group} racks of a group with `fabric.global_links` of {global_links} have {of_group} global links, no multiple of the {} other groups",
                groups - 1
            ));
        }
        few_enough([racks, hosts_per_rack])?;
        few_enough([racks, per_group])?;
        few_enough([racks, global_links])?;
        let name = |group: u32, rack: u32| format!("rack{}", group * per_group + rack + 1);
        let mut edges = Vec::new();
        for host in 0..racks * hosts_per_rack {
            edges.push(self.to_host(host, format!("rack{}", host / hosts_per_rack + 1), None));
        }
        for group in 0..groups {
            for one in 0..per_group {
                for other in one + 1..per_group {
                    edges.push(self.between_switches([name(group, one), name(group, other)], 1));
                }
            }
        }
        let links = of_group / (groups - 1);
        // A group's links lead to the next groups in order; the switch at each end follows from the link's place there.
        for group in 0..groups {
            for distance in 1..groups - group {
                for link in 0..links {
                    let here = ((distance - 1) * links + link) % per_group;
                    let there = ((groups - distance - 1) * links + link) % per_group;
                    let ends = [name(group, here), name(group + distance, there)];
                    edges.push(self.between_switches(ends, GLOBAL));
                }
            }
        }
        Ok(edges)
    }

    fn to_host(&self, host: u32, switch: String, rate: Option<Rate>) -> Edge {
        let name = if host == 0 { "client".into() } else { format!("server{host}") };
        let own = if host == 0 { self.link.client_rate.0 } else { None };
        let rate = rate.or(own).unwrap_or(self.link.rate);
        Edge { ends: [name, switch], rate, delay: self.link.delay, length: 1 }
    }

    fn between_switches(&self, ends: [String; 2], length: u32) -> Edge {
        Edge { ends, rate: self.fabric.uplink_rate.0.unwrap_or(self.link.rate), delay: self.link.delay, length }
    }
}

/// A number of nodes of a kind of fabric.
fn need(kind: FabricKind, key: &str, value: Optional<u32>) -> Result<u32, String> {
    match value.0 {
        None => Err(format!("the {} fabric needs `fabric.{key}`", kind.word())),
        Some(0) => Err(format!("`fabric.{key}` of 0: use at least 1")),
        Some(count) => Ok(count),
    }
}

/// Refuses more edges than a network may have.
fn few_enough([some, others]: [u32; 2]) -> Result<(), String> {
    if (some as usize).saturating_mul(others as usize) > EDGES_MAX {
        return Err(format!("`fabric`: {some} times {others} links: use at most {EDGES_MAX}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fanin_fabric::{Fabric, HostId};

    use super::*;
    use crate::Kind;

    fn settings(kind: FabricKind) -> Settings {
        let mut settings = Settings::default();
        (settings.fabric.kind, settings.workload.kind, settings.workload.fan_in) = (kind, Kind::Barrier, 2);
        settings
    }

    fn way(fabric: &Fabric, from: u32, to: u32, hash: u64) -> Vec<String> {
        let links = fabric.way(HostId(from), HostId(to), hash);
        links.map(|link| fabric.name(fabric.link(link).to)).collect()
    }

    fn rails(machine_rate: Option<Rate>) -> Settings {
        let mut settings = settings(FabricKind::Rails);
        let f = &mut settings.fabric;
        f.rails = Optional(Some(4));
        // Two machines at each switch, four machines, two switches a rail.
        (f.racks, f.hosts_per_rack, f.spines) = (Optional(Some(8)), Optional(Some(2)), Optional(Some(2)));
        f.machine_rate = Optional(machine_rate);
        settings
    }

    #[test]
    fn hosts_of_a_rail_meet_at_its_switch() {
        let fabric = rails(None).network().unwrap();
        assert_eq!(fabric.hosts(), 16);
        // Host 1 of the first two machines; of the third one, at another switch of that rail; and another rail.
        assert_eq!(way(&fabric, 1, 5, 0), ["leaf2", "server5"]);
        for (to, leaf) in [(9, "leaf6"), (2, "leaf3"), (15, "leaf8")] {
            let way = way(&fabric, 1, to, 3);
            assert_eq!((way.len(), way[0].as_str(), way[2].as_str()), (4, "leaf2", leaf), "{way:?}");
        }
    }

    #[test]
    fn traffic_within_a_machine_stays_there() {
        let settings = rails(Some(Rate(900_000_000_000)));
        let fabric = settings.network().unwrap();
        for hash in 0..20 {
            assert_eq!(way(&fabric, 1, 2, hash), ["machine1", "server2"]);
            assert_eq!(way(&fabric, 1, 5, hash), ["leaf2", "server5"]);
            assert_eq!(way(&fabric, 1, 6, hash).len(), 4, "no path leads through a host");
        }
        assert_eq!(settings.rate_of_several_links(HostId(1)), Some(fabric.host_rate(HostId(1))));
    }

    fn dragonfly(groups: u32, racks: u32, global_links: u32) -> Result<Fabric, String> {
        let mut settings = settings(FabricKind::Dragonfly);
        let f = &mut settings.fabric;
        (f.pods, f.racks, f.hosts_per_rack) = (Optional(Some(groups)), Optional(Some(racks)), Optional(Some(2)));
        f.global_links = Optional(Some(global_links));
        settings.network().map_err(|why| why.to_string())
    }

    #[test]
    fn minimal_paths_of_a_dragonfly_have_one_global_link() {
        // Nine groups of four switches with two global links: a link between every two groups.
        let fabric = dragonfly(9, 36, 2).unwrap();
        let group = |name: &str| (name.trim_start_matches("rack").parse::<u32>().unwrap() - 1) / 4;
        for (from, to) in (0..72).flat_map(|from| (0..72).map(move |to| (from, to))).filter(|(from, to)| from != to) {
            let way = way(&fabric, from, to, 7);
            let switches: Vec<u32> = way[..way.len() - 1].iter().map(|name| group(name)).collect();
            let global = switches.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(global, usize::from(from / 8 != to / 8), "{from} to {to}: {way:?}");
            assert!(switches.len() <= 4, "{way:?}");
        }
        // Each switch has two hosts, three neighbours and two global links.
        assert!(fabric.switches().all(|switch| fabric.links_from(switch) == 7));
    }

    #[test]
    fn groups_share_several_global_links() {
        let fabric = dragonfly(3, 12, 2).unwrap();
        assert!(fabric.switches().all(|switch| fabric.links_from(switch) == 7));
        assert!(dragonfly(4, 12, 2).is_ok());
    }

    #[test]
    fn refuses_shapes_that_do_not_fit() {
        let cases = [
            (dragonfly(1, 4, 1), "at least 2 groups"),
            (dragonfly(3, 10, 1), "cannot be divided evenly"),
            (dragonfly(4, 16, 1), "no multiple of the 3 other groups"),
            (dragonfly(2, u32::MAX - 1, u32::MAX), "use at most"),
        ];
        for (found, why) in cases {
            let found = found.expect_err(why);
            assert!(found.contains(why), "{found}");
        }
        let mut odd = rails(None);
        odd.fabric.racks = Optional(Some(6));
        assert!(odd.network().unwrap_err().to_string().contains("no multiple of `fabric.rails`"));
    }
}
