//! Assignment of nodes to parts of a network, and the time that parts can run without synchronisation.

use std::collections::BTreeMap;

use fanin_fabric::{Fabric, Framing, HostId, LinkId, NodeId};
use fanin_units::Time;

/// A network in parts: whole racks with their hosts; the switches above them are distributed evenly. Of hosts at one switch, the first one is in
/// the switch's part, and the others are in parts without a switch: it serves about as many events as they.
pub(crate) struct Borders {
    /// By node.
    of_node: Vec<u8>,
    /// By link: the parts that send over it, and that receive.
    of_link: Vec<[u8; 2]>,
    pub parts: usize,
    /// Minimum time from one part's sending to an arrival in another.
    pub ahead: Time,
}

impl Borders {
    /// At most `parts`, and at most as many as there are racks, or hosts at a single switch.
    pub fn new(framing: Framing, fabric: &Fabric, parts: usize) -> Borders {
        let switch = |host| fabric.link(fabric.uplink(host)).to;
        let mut racks: BTreeMap<NodeId, Vec<HostId>> = BTreeMap::new();
        (0..fabric.hosts()).map(HostId).for_each(|host| racks.entry(switch(host)).or_default().push(host));
        let parts = parts.min(usize::from(u8::MAX));
        let (parts, first) = match racks.len() {
            1 => (parts.min(fabric.hosts() as usize), 1),
            racks => (parts.min(racks), 0),
        };
        let nodes = fabric.links().iter().map(|link| link.to.index() + 1).max().unwrap_or(0);
        let mut of_node = vec![0; nodes];
        let mut before = 0;
        for (rack, hosts) in racks.iter().filter(|_| first == 0) {
            let part = (before * parts / fabric.hosts() as usize) as u8;
            of_node[rack.index()] = part;
            hosts.iter().for_each(|host| of_node[host.node().index()] = part);
            before += hosts.len();
        }
        if first > 0 && parts > 1 {
            let others = fabric.hosts() as usize - first;
            (0..others).for_each(|at| of_node[first + at] = (1 + at * (parts - 1) / others) as u8);
        }
        let above = (fabric.hosts() as usize..nodes).filter(|&node| !racks.contains_key(&NodeId(node as u32)));
        let above: Vec<usize> = above.collect();
        above.iter().enumerate().for_each(|(at, &node)| of_node[node] = (at * parts / above.len()) as u8);
        let of = |link: &fanin_fabric::Link| [link.from, link.to].map(|node| of_node[node.index()]);
        let of_link: Vec<[u8; 2]> = fabric.links().iter().map(of).collect();
        let crossing = fabric.links().iter().zip(&of_link).filter(|(_, [from, to])| from != to);
        let ahead = crossing.map(|(link, _)| least_way(link, framing)).min().unwrap_or(Time::NEVER);
        Borders { of_node, of_link, parts, ahead }
    }

    /// The part of a host.
    pub fn of_host(&self, host: HostId) -> usize {
        self.of_node[host.node().index()].into()
    }

    /// The part of a switch.
    pub fn of_switch(&self, switch: NodeId) -> usize {
        self.of_node[switch.index()].into()
    }

    /// The part that has a link's port.
    pub fn sends(&self, link: LinkId) -> usize {
        self.of_link[link.index()][0].into()
    }

    /// The part that receives a link's packets.
    pub fn receives(&self, link: LinkId) -> usize {
        self.of_link[link.index()][1].into()
    }

    /// Whether a link leads from one part into another.
    pub fn crosses(&self, link: LinkId) -> bool {
        self.sends(link) != self.receives(link)
    }
}

/// Minimum time from a packet's arrival at a port, or the decision to pause a link, to an arrival over the link.
fn least_way(link: &fanin_fabric::Link, framing: Framing) -> Time {
    let frame = framing.on_wire(0);
    Time(link.delay.0 + link.rate.time_for(frame.into()).0)
}

#[cfg(test)]
mod tests {
    use fanin_fabric::{Placement, Tree, tree};
    use fanin_units::Rate;

    use super::*;

    /// Leaves of ten hosts under spines, every link of 10 Gbit/s and 5 us.
    fn leaf_spine(racks: u32, spines: u32) -> Fabric {
        let rate = Rate(10_000_000_000);
        tree(&Tree {
            pods: 1,
            racks,
            hosts: 10,
            spines,
            cores: 0,
            placement: Placement::ByRack,
            rate,
            client_rate: rate,
            uplink_rate: rate,
            core_rate: rate,
            delay: Time::from_micros(5),
        })
        .expect("a tree")
    }

    fn borders(fabric: &Fabric, parts: usize) -> Borders {
        Borders::new(Framing::ETHERNET, fabric, parts)
    }

    #[test]
    fn racks_are_whole_and_parts_equal() {
        let fabric = leaf_spine(8, 4);
        let borders = borders(&fabric, 4);
        let of: Vec<usize> = (0..80).map(|host| borders.of_host(HostId(host))).collect();
        let expected: Vec<usize> = (0..80).map(|host| host / 20).collect();
        assert_eq!(of, expected);
        let spines: Vec<usize> = (88..92).map(|spine| borders.of_switch(NodeId(spine))).collect();
        assert_eq!(spines, [0, 1, 2, 3]);
        assert!((0..80).all(|host| !borders.crosses(fabric.uplink(HostId(host)))));
    }

    #[test]
    fn hosts_of_one_switch_are_in_other_parts() {
        let rate = Rate(10_000_000_000);
        let star = fanin_fabric::star(&fanin_fabric::Star {
            servers: 6,
            rate,
            client_rate: rate,
            delay: Time::from_micros(5),
        });
        let borders = borders(&star, 3);
        let of: Vec<usize> = (0..7).map(|host| borders.of_host(HostId(host))).collect();
        assert_eq!((of, borders.of_switch(NodeId(7))), (vec![0, 1, 1, 1, 2, 2, 2], 0));
    }

    #[test]
    fn parts_are_at_most_racks_with_lookahead() {
        let borders = borders(&leaf_spine(2, 1), 8);
        // 64 B, and 20 B between frames, at 10 Gbit/s.
        assert_eq!((borders.parts, borders.ahead), (2, Time(5_000_000 + 67_200)));
    }
}
