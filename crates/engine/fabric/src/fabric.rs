//! A network: nodes, links, and routing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::iter::successors;

use fanin_units::Rate;

use crate::edges::{self, Edge};
use crate::error::Error;
use crate::ids::{HostId, Link, LinkId, NodeId};
use crate::max_flow::max_flow;
use crate::routes::Routes;
use crate::star::{self, Star};
use crate::tree::{self, Tree};

/// Tiers of ports, in the order in which a packet passes them.
pub const TIERS: [&str; 11] = [
    "host up",
    "leaf up",
    "tor up",
    "agg up",
    "switch to switch",
    "core down",
    "agg down",
    "spine down",
    "tor down",
    "leaf down",
    "switch down",
];

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    hosts: u32,
    /// Number of links to hosts, which come first; that of hosts if each has one.
    downlinks: u32,
    links: Vec<Link>,
    routes: Routes,
    /// By node; stars and trees compute them.
    names: Vec<String>,
    /// The first link to each host, by host; empty if every host has one.
    first_links: Vec<u32>,
    slowest: Rate,
}

/// Builds a star.
pub fn star(star: &Star) -> Fabric {
    Fabric::with_one_link_each(star.servers + 1, star::links(star), Routes::Star)
}

/// Builds a tree.
///
/// # Errors
/// The problem and its solution.
pub fn tree(tree: &Tree) -> Result<Fabric, Error> {
    let plan = tree::plan(tree)?;
    Ok(Fabric::with_one_link_each(plan.hosts(), plan.links(), Routes::Tree(plan)))
}

/// Builds a network of edges. `hosts` has the hosts' names by number; every other name is a switch.
///
/// # Errors
/// The problem and its solution.
pub fn edges(hosts: &[String], edges: &[Edge]) -> Result<Fabric, Error> {
    let edges::Read { names, links, table, first_links } = edges::read(hosts, edges)?;
    let hosts = hosts.len() as u32;
    let downlinks = links.partition_point(|link| link.to.0 < hosts) as u32;
    let slowest = slowest(&links);
    Ok(Fabric { hosts, downlinks, links, routes: Routes::Table(table), names, first_links, slowest })
}

fn slowest(links: &[Link]) -> Rate {
    links.iter().map(|link| link.rate).min().unwrap_or(Rate(u64::MAX))
}

impl Fabric {
    fn with_one_link_each(hosts: u32, links: Vec<Link>, routes: Routes) -> Fabric {
        let slowest = slowest(&links);
        Fabric { hosts, downlinks: hosts, links, routes, names: Vec::new(), first_links: Vec::new(), slowest }
    }

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Every switch.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + use<> {
        // Links are numbered by receiver.
        let nodes = self.links.last().map_or(self.hosts, |link| link.to.0 + 1);
        (self.hosts..nodes).map(NodeId)
    }

    /// Every link, by its number.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// A link.
    #[inline]
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// The rate of the slowest link.
    pub fn slowest_rate(&self) -> Rate {
        self.slowest
    }

    /// The links into each switch.
    pub fn links_into_switches(&self) -> impl Iterator<Item = (NodeId, Vec<LinkId>)> + use<> {
        let mut links = vec![Vec::new(); self.switches().count()];
        for (link, id) in self.links.iter().zip(self.link_ids()).filter(|(link, _)| !self.is_host(link.to)) {
            links[(link.to.0 - self.hosts) as usize].push(id);
        }
        self.switches().zip(links)
    }

    /// Number of links that leave a node.
    pub fn links_from(&self, node: NodeId) -> u32 {
        self.links.iter().filter(|link| link.from == node).count() as u32
    }

    /// Every link's number.
    pub fn link_ids(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.links.len() as u32).map(LinkId)
    }

    /// Whether the node is a host.
    #[inline]
    pub fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }

    /// Whether every host has one link. Only a list of edges has hosts with several.
    #[inline(always)]
    pub fn has_one_link_each(&self) -> bool {
        self.downlinks == self.hosts
    }

    /// The link on which a host sends; of several, the first one.
    #[inline]
    pub fn uplink(&self, HostId(host): HostId) -> LinkId {
        debug_assert!(host < self.hosts);
        LinkId(match self.routes.whole() {
            Routes::Star => self.hosts + host,
            Routes::Tree(tree) => tree.uplink(host),
            Routes::Table(_) if !self.has_one_link_each() => self.reverse(self.downlink(HostId(host))).0,
            // A host has one link, whatever the destination.
            Routes::Table(table) => table.next_hops(host, u32::from(host == 0))[0],
            Routes::Degraded(_) => unreachable!("what is whole is not degraded"),
        })
    }

    /// The link on which a host sends a flow to another host. Of several, the flow's hash selects one on a shortest path, as at switches; it
    /// is only computed if the host has several. A flow whose link fails uses another one until that is up again.
    #[inline]
    pub fn uplink_to(&self, from: HostId, to: HostId, flow_hash: impl FnOnce() -> u64) -> LinkId {
        match self.has_one_link_each() {
            true => self.uplink(from),
            false => self.uplink_of_several(from, to, flow_hash()),
        }
    }

    #[cold]
    #[inline(never)]
    fn uplink_of_several(&self, from: HostId, to: HostId, flow_hash: u64) -> LinkId {
        let Routes::Table(table) = self.routes.whole() else { unreachable!("only lists of edges have such hosts") };
        if from == to {
            return self.uplink(from);
        }
        let usual = table.next_hop(from.node(), to, || flow_hash);
        match &self.routes {
            Routes::Degraded(degraded) if !degraded.leads(&self.links, usual, to) => {
                degraded.next_hop(&self.links, from.node(), to, flow_hash)
            }
            _ => usual,
        }
    }

    /// The link on which a host receives; of several, the first one. Hosts come first, and links are numbered by receiver.
    #[inline]
    pub fn downlink(&self, HostId(host): HostId) -> LinkId {
        debug_assert!(host < self.hosts);
        match self.has_one_link_each() {
            true => LinkId(host),
            false => LinkId(self.first_links[host as usize]),
        }
    }

    /// All links on which a host receives.
    pub fn downlinks(&self, host: HostId) -> impl Iterator<Item = LinkId> + Clone + use<> {
        let end = match host.0 + 1 < self.hosts {
            true => self.downlink(HostId(host.0 + 1)).0,
            false => self.downlinks,
        };
        (self.downlink(host).0..end).map(LinkId)
    }

    /// All links on which a host sends.
    pub fn uplinks(&self, host: HostId) -> impl Iterator<Item = LinkId> {
        self.downlinks(host).map(|link| self.reverse(link))
    }

    /// Total rate of a host's links, in each direction.
    pub fn host_rate(&self, host: HostId) -> Rate {
        Rate(self.downlinks(host).map(|link| self.link(link).rate.0).sum())
    }

    /// The link in the opposite direction; of several between two nodes, the one at the same place.
    pub fn reverse(&self, link: LinkId) -> LinkId {
        let Link { from, to, .. } = *self.link(link);
        LinkId((self.first_link(to, from) + link.index() - self.first_link(from, to)) as u32)
    }

    /// Place of the first link between two nodes: links are numbered by receiver, then by sender.
    fn first_link(&self, from: NodeId, to: NodeId) -> usize {
        self.links.partition_point(|other| (other.to, other.from) < (to, from))
    }

    /// Whether a link leads to a host.
    #[inline(always)]
    pub fn is_downlink(&self, link: LinkId) -> bool {
        link.0 < self.downlinks
    }

    /// The host at the end of a link to one.
    #[inline(always)]
    pub fn host_at(&self, link: LinkId) -> HostId {
        debug_assert!(self.is_downlink(link));
        match self.has_one_link_each() {
            true => HostId(link.0),
            false => HostId(self.link(link).to.0),
        }
    }

    /// Number of a host's switch, the same for all hosts of a rack; of several switches, the first one.
    pub fn rack(&self, host: HostId) -> u32 {
        self.link(self.uplink(host)).to.0 - self.hosts
    }

    /// Number of racks of a tree, with or without hosts; other networks have no empty racks.
    pub fn racks(&self) -> Option<u32> {
        match self.routes.whole() {
            Routes::Tree(tree) => Some(tree.racks()),
            _ => None,
        }
    }

    /// Pod of a host's rack; without pods, all are in one.
    pub fn pod(&self, host: HostId) -> u32 {
        match self.routes.whole() {
            Routes::Tree(tree) => tree.pod(host.0),
            _ => 0,
        }
    }

    /// Links from other switches into a host's rack: to all of its switches.
    pub fn into_rack(&self, host: HostId) -> impl Iterator<Item = LinkId> {
        let switches = self.downlinks(host).map(|link| self.link(link).from);
        let mut last = None;
        let others = switches.clone().filter(move |&switch| last.replace(switch) != Some(switch));
        let into = move |switch| {
            // Links are numbered by receiver.
            let first = self.links.partition_point(|link| link.to < switch);
            let last = self.links.partition_point(|link| link.to <= switch);
            (first as u32..last as u32).map(LinkId)
        };
        let is_own = move |from| switches.clone().any(|switch| switch == from);
        others.flat_map(into).filter(move |&link| {
            let from = self.link(link).from;
            !self.is_host(from) && !is_own(from)
        })
    }

    /// Next hop of a packet towards a host, from the switch at the end of a link. The flow's hash selects among equal-cost links, and is
    /// only computed if there are several.
    #[inline(always)]
    pub fn next_hop(&self, link: LinkId, host: HostId, flow_hash: impl FnOnce() -> u64) -> LinkId {
        debug_assert!(self.is_host(host.node()) && !self.is_downlink(link));
        match self.routes {
            Routes::Star => LinkId(host.0),
            _ => self.next_hop_beyond_star(self.link(link).to, host, flow_hash),
        }
    }

    /// The same for other networks than stars, in a separate function so that stars have no overhead; trees come first.
    #[inline(never)]
    fn next_hop_beyond_star(&self, switch: NodeId, host: HostId, flow_hash: impl FnOnce() -> u64) -> LinkId {
        if let Routes::Tree(tree) = &self.routes {
            return LinkId(tree.next_hop(switch.0, host.0, flow_hash));
        }
        self.next_hop_elsewhere(switch, host, flow_hash)
    }

    #[cold]
    #[inline(never)]
    fn next_hop_elsewhere(&self, switch: NodeId, host: HostId, flow_hash: impl FnOnce() -> u64) -> LinkId {
        match &self.routes {
            Routes::Star | Routes::Tree(_) => unreachable!("these were first"),
            Routes::Table(table) => table.next_hop(switch, host, flow_hash),
            Routes::Degraded(degraded) => degraded.next_hop(&self.links, switch, host, flow_hash()),
        }
    }

    /// All equal-cost links towards a host, from the switch at the end of a link; at least one. Links that lead only to failed ones are left
    /// out if there are others. They replace the contents of `hops`, which a caller can use again for the next packet.
    pub fn next_hops(&self, link: LinkId, host: HostId, hops: &mut Vec<LinkId>) {
        let switch = self.link(link).to;
        hops.clear();
        match &self.routes {
            Routes::Degraded(degraded) => hops.extend(degraded.ways(&self.links, switch, host)),
            routes => routes.add_ways(switch, host, hops),
        }
    }

    /// Links on a flow's path.
    pub fn way(&self, from: HostId, to: HostId, flow_hash: u64) -> impl Iterator<Item = LinkId> {
        let next = move |&link: &LinkId| (!self.is_downlink(link)).then(|| self.next_hop(link, to, || flow_hash));
        successors(Some(self.uplink_to(from, to, || flow_hash)), next)
    }

    /// Links on a path between two hosts; one of the equal-cost paths. Where hosts have several links, it is the one with the fastest
    /// bottleneck, and of those the one with the least delay.
    pub fn path(&self, from: HostId, to: HostId) -> impl Iterator<Item = &Link> {
        let mut widest = BTreeMap::new();
        if !self.has_one_link_each() && from != to {
            self.find_widest(from.node(), to, &mut widest);
        }
        let first = widest.get(&from.node()).map_or_else(|| self.uplink(from), |hop: &Hop| hop.link);
        let next = move |&link: &LinkId| {
            let of_widest = widest.get(&self.link(link).to).map(|hop| hop.link);
            (!self.is_downlink(link)).then(|| of_widest.unwrap_or_else(|| self.next_hop(link, to, || 0)))
        };
        successors(Some(first), next).map(|link| self.link(link))
    }

    /// Finds the next hop of the widest path towards a host, from a node and from all others behind it.
    fn find_widest(&self, node: NodeId, to: HostId, found: &mut BTreeMap<NodeId, Hop>) -> (Rate, Reverse<u64>) {
        if node == to.node() {
            return (Rate(u64::MAX), Reverse(0));
        }
        if let Some(hop) = found.get(&node) {
            return hop.rank;
        }
        let mut best: Option<Hop> = None;
        for id in self.routes.ways(node, to) {
            let Link { to: next, rate, delay, .. } = *self.link(id);
            let (behind, Reverse(delay_behind)) = self.find_widest(next, to, found);
            let rank = (rate.min(behind), Reverse(delay.0.saturating_add(delay_behind)));
            if best.is_none_or(|best| rank > best.rank) {
                best = Some(Hop { link: id, rank });
            }
        }
        let best = best.unwrap_or_else(|| unreachable!("every host reaches every other"));
        found.insert(node, best);
        best.rank
    }

    /// Maximum total rate, in bit/s, of equal senders to one host, with flows spread evenly over equal-cost paths: that of the bottleneck.
    /// Where hosts have several links, it is the maximum flow of the network, however senders and paths divide it.
    pub fn gather_rate(&self, senders: impl Iterator<Item = HostId>, to: HostId) -> f64 {
        if !self.has_one_link_each() {
            let ways = |node| self.routes.ways(node, to);
            return max_flow(&self.links, ways, senders.map(HostId::node), to.node()) as f64;
        }
        let mut load = vec![0.0; self.links.len()];
        let senders: Vec<(HostId, f64)> = senders.map(|sender| (sender, 1.0)).collect();
        self.spread(&senders, to, &mut load);
        let used = load.iter().zip(&self.links).filter(|(load, _)| **load > 0.0);
        used.map(|(load, link)| link.rate.0 as f64 * senders.len() as f64 / load).fold(f64::INFINITY, f64::min)
    }

    /// Time in which the busiest link sends its part of these bits, given as sender, receiver and number, with flows spread evenly over
    /// equal-cost paths, or by the rates of the next links where hosts have several.
    pub fn least_time_s(&self, demands: impl Iterator<Item = ((HostId, HostId), f64)>) -> f64 {
        let mut by_receiver: BTreeMap<HostId, Vec<(HostId, f64)>> = BTreeMap::new();
        for ((from, to), bits) in demands.filter(|((from, to), _)| from != to) {
            by_receiver.entry(to).or_default().push((from, bits));
        }
        let mut load = vec![0.0; self.links.len()];
        for (to, senders) in by_receiver {
            self.spread(&senders, to, &mut load);
        }
        self.busiest_s(&load)
    }

    /// Adds each link's share of the senders' flows to one host.
    fn spread(&self, senders: &[(HostId, f64)], to: HostId, load: &mut [f64]) {
        let mut flow: BTreeMap<NodeId, f64> = BTreeMap::new();
        let mut divide = |share: f64, ways: &[LinkId], flow: &mut BTreeMap<NodeId, f64>| {
            let weight = |link: LinkId| if self.has_one_link_each() { 1.0 } else { self.link(link).rate.0 as f64 };
            let all: f64 = ways.iter().map(|&way| weight(way)).sum();
            for &way in ways {
                let part = share * weight(way) / all;
                load[way.index()] += part;
                *flow.entry(self.link(way).to).or_default() += part;
            }
        };
        for &(sender, share) in senders {
            match self.has_one_link_each() || sender == to {
                true => divide(share, &[self.uplink(sender)], &mut flow),
                false => divide(share, &self.routes.ways(sender.node(), to), &mut flow),
            }
        }
        // Hop by hop, to merge flows at switches.
        while !flow.is_empty() {
            for (switch, share) in std::mem::take(&mut flow) {
                if !self.is_host(switch) {
                    divide(share, &self.routes.ways(switch, to), &mut flow);
                }
            }
        }
    }

    /// The longest time in which a link sends its load.
    fn busiest_s(&self, load: &[f64]) -> f64 {
        load.iter().zip(&self.links).map(|(load, link)| load / link.rate.0 as f64).fold(0.0, f64::max)
    }

    /// Name of a node: `client`, `server3`, `switch`.
    pub fn name(&self, node: NodeId) -> String {
        match (self.names.get(node.index()), node.0, self.routes.whole()) {
            (Some(name), ..) => name.clone(),
            (None, 0, _) => "client".into(),
            (None, n, _) if n < self.hosts => format!("server{n}"),
            (None, n, Routes::Tree(tree)) => tree.name(n),
            (None, ..) => "switch".into(),
        }
    }

    /// The two links, one per direction, between two named nodes. Of several, it is the first, or with `#2` after the second name the second,
    /// and so on.
    ///
    /// # Errors
    /// A name is unknown, or there is no link.
    pub fn between(&self, names: [&str; 2]) -> Result<[LinkId; 2], Error> {
        let (last, number) = numbered(names[1])?;
        let names = [names[0], last];
        let nodes = self.links.iter().map(|link| link.to).max().map_or(0, |last| last.0 + 1);
        let [one, other] = names.map(|name| (0..nodes).map(NodeId).find(|&node| self.name(node) == name));
        let known = |node: Option<NodeId>, name: &str| node.ok_or_else(|| Error::UnknownNode(name.to_owned()));
        let (one, other) = (known(one, names[0])?, known(other, names[1])?);
        let nodes = || names.map(str::to_owned);
        let link = |from, to| {
            let first = self.first_link(from, to);
            let joining = self.links[first..].iter().take_while(|link| (link.from, link.to) == (from, to)).count();
            match joining {
                0 => Err(Error::NoLink(nodes())),
                _ if number > joining => Err(Error::NoSuchLink { nodes: nodes(), number, links: joining }),
                _ => Ok(LinkId((first + number - 1) as u32)),
            }
        };
        Ok([link(one, other)?, link(other, one)?])
    }

    /// Name of a link: `switch>client`. The second of several links between a host and a switch is `switch>client#2`.
    pub fn link_name(&self, id: LinkId) -> String {
        let Link { from, to, .. } = *self.link(id);
        let name = format!("{}>{}", self.name(from), self.name(to));
        let is_of_host = self.is_host(from) || self.is_host(to);
        match id.index() - self.first_link(from, to) {
            later @ 1.. if is_of_host => format!("{name}#{}", later + 1),
            _ => name,
        }
    }

    /// Tier of the port of a link: one of [`TIERS`].
    pub fn tier(&self, link: LinkId) -> &'static str {
        let Link { from, to, .. } = *self.link(link);
        match self.routes.whole() {
            _ if self.is_host(from) => "host up",
            Routes::Tree(tree) => tree.tier(from.0, to.0),
            _ if self.is_host(to) => "switch down",
            _ => "switch to switch",
        }
    }

    /// Removes a link from all paths, or restores it. Every switch knows at once. If no equal-cost path is left, packets are forwarded up
    /// to the failure.
    pub fn set_up(&mut self, link: LinkId, up: bool) {
        self.routes = std::mem::replace(&mut self.routes, Routes::Star).set_up(link, up);
    }
}

/// The next hop of a path, with the rate of the path's bottleneck, and its delay.
#[derive(Clone, Copy)]
struct Hop {
    link: LinkId,
    rank: (Rate, Reverse<u64>),
}

/// A node's name without the number of a link after it, and that number, from 1.
fn numbered(name: &str) -> Result<(&str, usize), Error> {
    let Some((node, number)) = name.split_once('#') else { return Ok((name, 1)) };
    let number = number.parse().ok().filter(|&number| number > 0);
    let number = number.ok_or_else(|| Error::LinkNumber { name: name.to_owned(), node: node.to_owned() })?;
    Ok((node, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_units::Time;

    const GBIT: u64 = 1_000_000_000;

    #[test]
    fn client_link_or_senders_limit_rate() {
        let star =
            star(&Star { servers: 8, rate: Rate(GBIT), client_rate: Rate(4 * GBIT), delay: Time::from_micros(5) });
        assert_eq!(star.gather_rate((1..=2).map(HostId), HostId(0)), 2.0 * GBIT as f64);
        assert_eq!(star.gather_rate((1..=8).map(HostId), HostId(0)), 4.0 * GBIT as f64);
    }

    #[test]
    fn thin_uplinks_limit_rate() {
        // Two racks of four hosts, two spines: each rack has two uplinks of 0.5 Gbit/s.
        let hosts: Vec<String> = (0..8).map(|n| if n == 0 { "client".into() } else { format!("server{n}") }).collect();
        let mut list = Vec::new();
        for (rack, host) in hosts.iter().enumerate().map(|(n, host)| (n / 4, host)) {
            list.push((host.clone(), format!("leaf{rack}"), GBIT));
        }
        for rack in 0..2 {
            for spine in 0..2 {
                list.push((format!("leaf{rack}"), format!("spine{spine}"), GBIT / 2));
            }
        }
        let edge = |(one, other, rate): (String, String, u64)| Edge {
            ends: [one, other],
            rate: Rate(rate),
            delay: Time::from_micros(5),
            length: 1,
        };
        let fabric = edges(&hosts, &list.into_iter().map(edge).collect::<Vec<_>>()).unwrap();
        // Four senders in the far rack over 1 Gbit/s of uplinks: the client's link has the same rate.
        assert_eq!(fabric.gather_rate((4..8).map(HostId), HostId(0)), GBIT as f64);
        assert_eq!(fabric.path(HostId(4), HostId(0)).count(), 4);
        // Towards server7, three hosts of the near rack share the uplinks as well.
        assert_eq!(fabric.gather_rate((0..4).map(HostId), HostId(7)), GBIT as f64);
    }
}
