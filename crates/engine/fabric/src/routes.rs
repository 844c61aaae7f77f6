//! Routing; with failed links, flows use the remaining equal-cost paths.

use crate::edges::Table;
use crate::ids::{HostId, Link, LinkId, NodeId, mix};
use crate::tree::Plan;

/// Routing method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Routes {
    /// One switch, whose links to hosts have the hosts' numbers.
    Star,
    /// By the numbers of racks, pods and cores, with a rule per switch.
    Tree(Plan),
    /// Computed from a list of edges.
    Table(Table),
    /// As before, on the remaining links.
    Degraded(Box<Degraded>),
}

/// Next hops of the whole network, and the failed links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Degraded {
    whole: Routes,
    /// Failed links; never empty.
    down: Vec<LinkId>,
}

impl Routes {
    /// Removes a link from all paths, or restores it.
    pub fn set_up(self, link: LinkId, up: bool) -> Routes {
        let Degraded { whole, mut down } = match self {
            Routes::Degraded(degraded) => *degraded,
            whole => Degraded { whole, down: Vec::new() },
        };
        down.retain(|&other| other != link);
        if !up {
            down.push(link);
        }
        if down.is_empty() { whole } else { Routes::Degraded(Box::new(Degraded { whole, down })) }
    }

    /// Next hops with every link up.
    #[inline]
    pub(crate) fn whole(&self) -> &Routes {
        match self {
            Routes::Degraded(degraded) => &degraded.whole,
            whole => whole,
        }
    }

    /// All equal-cost paths from a switch to a host.
    pub(crate) fn ways(&self, switch: NodeId, host: HostId) -> Vec<LinkId> {
        let mut ways = Vec::new();
        self.add_ways(switch, host, &mut ways);
        ways
    }

    /// The same, added to a list.
    pub(crate) fn add_ways(&self, switch: NodeId, host: HostId, ways: &mut Vec<LinkId>) {
        match self.whole() {
            Routes::Tree(tree) => ways.extend(tree.all_ways(switch.0, host.0).map(LinkId)),
            Routes::Table(table) => ways.extend(table.next_hops(switch.0, host.0).iter().map(|&link| LinkId(link))),
            Routes::Star | Routes::Degraded(_) => ways.push(LinkId(host.0)),
        }
    }
}

impl Degraded {
    /// The remaining equal-cost links from a node towards a host; all if none is left.
    #[cold]
    pub fn ways(&self, links: &[Link], switch: NodeId, host: HostId) -> Vec<LinkId> {
        let ways = self.whole.ways(switch, host);
        let live: Vec<LinkId> = ways.iter().copied().filter(|&link| self.leads(links, link, host)).collect();
        if live.is_empty() { ways } else { live }
    }

    /// The one of them that the hash selects.
    #[cold]
    pub fn next_hop(&self, links: &[Link], switch: NodeId, host: HostId, flow_hash: u64) -> LinkId {
        let ways = self.ways(links, switch, host);
        let draw = mix(flow_hash ^ u64::from(switch.0)) >> 32;
        ways[((draw * ways.len() as u64) >> 32) as usize]
    }

    /// Whether a link leads to a host over links that are up.
    pub fn leads(&self, links: &[Link], link: LinkId, host: HostId) -> bool {
        let next = links[link.index()].to;
        !self.down.contains(&link)
            && (next == host.node()
                || self.whole.ways(next, host).into_iter().any(|link| self.leads(links, link, host)))
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::{Rate, Time};
    use proptest::prelude::*;

    use crate::{Error, Fabric, HostId, LinkId, Placement, Tree, tree};

    fn leaves(spines: u32) -> Fabric {
        let (rate, delay) = (Rate(1_000_000_000), Time::from_micros(5));
        let (pods, cores, placement) = (1, 0, Placement::ByRack);
        let (client_rate, uplink_rate, core_rate) = (rate, rate, rate);
        let (racks, hosts) = (3, 2);
        tree(&Tree { pods, racks, hosts, spines, cores, placement, rate, client_rate, uplink_rate, core_rate, delay })
            .expect("it fits")
    }

    #[test]
    fn distant_switch_avoids_failure() {
        let mut fabric = leaves(2);
        let [up, down] = fabric.between(["leaf3", "spine1"]).expect("a link");
        assert_eq!([up, down].map(|link| fabric.link_name(link)), ["leaf3>spine1", "spine1>leaf3"]);
        fabric.set_up(down, false);
        for hash in 0..50 {
            let way: Vec<String> = fabric.way(HostId(0), HostId(5), hash).map(|link| fabric.link_name(link)).collect();
            assert_eq!(way, ["client>leaf1", "leaf1>spine2", "spine2>leaf3", "leaf3>server5"]);
        }
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn paths_avoid_failures_and_recover(
            failed in prop::collection::btree_set(0..4u32, 1..4), hash: u64,
        ) {
            let (mut fabric, whole) = (leaves(4), leaves(4));
            let links: Vec<LinkId> = failed
                .iter()
                .flat_map(|spine| fabric.between(["leaf1", &format!("spine{}", spine + 1)]).expect("a link"))
                .collect();
            links.iter().for_each(|&link| fabric.set_up(link, false));
            for (from, to) in (0..6).flat_map(|a| (0..6).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let way: Vec<LinkId> = fabric.way(HostId(from), HostId(to), hash).collect();
                prop_assert!(way.iter().all(|link| !links.contains(link)), "{from} to {to}: {way:?}");
            }
            links.iter().for_each(|&link| fabric.set_up(link, true));
            prop_assert_eq!(fabric, whole);
        }
    }

    #[test]
    fn refuses_unknown_names_and_missing_links() {
        let fabric = leaves(2);
        assert_eq!(fabric.between(["leaf9", "spine1"]), Err(Error::UnknownNode("leaf9".into())));
        assert_eq!(fabric.between(["leaf1", "leaf2"]), Err(Error::NoLink(["leaf1".into(), "leaf2".into()])));
    }
}
