//! Networks as lists of edges: any graph of switches with hosts as leaves.

use std::collections::VecDeque;

use fanin_units::{Rate, Time};

use crate::ids::{Link, NodeId};

/// A bidirectional link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The two nodes, by name.
    pub ends: [String; 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Time,
}

/// Builds a network of edges. `hosts` has the hosts' names by number; every other name is a switch.
///
/// # Errors
/// The problem and its solution.
pub(crate) fn read(hosts: &[String], edges: &[Edge]) -> Result<Read, String> {
    let mut names = hosts.to_vec();
    let mut ends = Vec::with_capacity(edges.len());
    for edge in edges {
        let [a, b] = [0, 1].map(|end| number(&edge.ends[end], &mut names));
        if a == b {
            return Err(format!("`{}` is joined to itself; an edge has two ends", edge.ends[0]));
        }
        if edge.rate.0 == 0 {
            return Err(format!("the edge from {} to {} has a rate of zero", edge.ends[0], edge.ends[1]));
        }
        ends.push((a, b));
    }
    let mut links: Vec<Link> = ends
        .iter()
        .zip(edges)
        .flat_map(|(&(a, b), edge)| {
            let link = |from, to| Link { from: NodeId(from), to: NodeId(to), rate: edge.rate, delay: edge.delay };
            [link(a, b), link(b, a)]
        })
        .collect();
    links.sort_by_key(|link| (link.to, link.from));
    let count = hosts.len() as u32;
    for host in 0..count {
        let name = &names[host as usize];
        match links.iter().filter(|link| link.to.0 == host).count() {
            0 => return Err(format!("`{name}` is on no edge; every host has one, such as \"{name} switch\"")),
            1 => {}
            n => return Err(format!("`{name}` is on {n} edges; a host has one, to its switch")),
        }
    }
    let table = Table::new(count, names.len() as u32, &links).map_err(|(from, to)| {
        format!("no way from `{}` to `{}`: the edges are not one network", names[from as usize], names[to as usize])
    })?;
    Ok(Read { names, links, table })
}

/// Network of a list of edges.
pub(crate) struct Read {
    /// By node.
    pub names: Vec<String>,
    pub links: Vec<Link>,
    pub table: Table,
}

/// Number of a name; a new one is a switch.
fn number(name: &str, names: &mut Vec<String>) -> u32 {
    let place = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    });
    place as u32
}

/// Equal-cost next hops of every node towards every host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    hosts: u32,
    /// Start of a node's next hops towards a host in `hops`, by node, then host; with one more at the end.
    starts: Vec<u32>,
    hops: Vec<u32>,
}

impl Table {
    /// Shortest paths by number of links; `Err` has two nodes without a path.
    fn new(hosts: u32, nodes: u32, links: &[Link]) -> Result<Table, (u32, u32)> {
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
        for (link, id) in links.iter().zip(0..) {
            out[link.from.index()].push(id);
        }
        let far: Vec<Vec<u32>> = (0..hosts).map(|host| distances(host, nodes, links)).collect();
        let mut table = Table { hosts, starts: vec![0], hops: Vec::new() };
        for node in 0..nodes {
            for (host, far) in (0..hosts).zip(&far) {
                if far[node as usize] == u32::MAX {
                    return Err((node, host));
                }
                let nearer = |&&id: &&u32| {
                    let to = links[id as usize].to.0;
                    // No path leads through a host.
                    far[to as usize] + 1 == far[node as usize] && (to >= hosts || to == host)
                };
                table.hops.extend(out[node as usize].iter().filter(nearer));
                table.starts.push(table.hops.len() as u32);
            }
        }
        Ok(table)
    }

    /// Equal-cost links from a node towards a host.
    pub fn next_hops(&self, node: u32, host: u32) -> &[u32] {
        let place = (node * self.hosts + host) as usize;
        &self.hops[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

/// Number of links between each node and a host.
fn distances(host: u32, nodes: u32, links: &[Link]) -> Vec<u32> {
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
    for link in links {
        into[link.to.index()].push(link.from.0);
    }
    let mut far = vec![u32::MAX; nodes as usize];
    far[host as usize] = 0;
    let mut next = VecDeque::from([host]);
    while let Some(node) = next.pop_front() {
        for &from in &into[node as usize] {
            if far[from as usize] == u32::MAX {
                far[from as usize] = far[node as usize] + 1;
                next.push_back(from);
            }
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostId, edges};
    use proptest::prelude::*;

    fn edge(a: &str, b: &str) -> Edge {
        Edge { ends: [a.into(), b.into()], rate: Rate(1_000_000_000), delay: Time::from_micros(5) }
    }

    fn hosts(count: u32) -> Vec<String> {
        (0..count).map(|n| format!("h{n}")).collect()
    }

    #[test]
    fn two_switches_in_a_row_lead_to_every_host() {
        let line = [edge("h0", "left"), edge("left", "right"), edge("h1", "right"), edge("h2", "right")];
        let fabric = edges(&hosts(3), &line).expect("one network");
        let names: Vec<String> = fabric.way(HostId(2), HostId(0), 7).map(|link| fabric.link_name(link)).collect();
        assert_eq!(names, ["h2>right", "right>left", "left>h0"]);
    }

    #[test]
    fn refuses_invalid_edges() {
        let cases = [
            (2, vec![edge("h0", "s")], "`h1` is on no edge; every host has one, such as \"h1 switch\""),
            (1, vec![edge("h0", "s"), edge("h0", "t")], "`h0` is on 2 edges; a host has one, to its switch"),
            (1, vec![edge("h0", "h0")], "`h0` is joined to itself; an edge has two ends"),
            (2, vec![edge("h0", "s"), edge("h1", "t")], "no way from `h0` to `h1`: the edges are not one network"),
        ];
        for (count, list, what) in cases {
            assert_eq!(edges(&hosts(count), &list).expect_err(what), what);
        }
    }

    /// A connected graph: a random tree of switches, some more edges, and hosts anywhere.
    fn graphs() -> impl Strategy<Value = (u32, Vec<Edge>)> {
        (1..8u32, 2..12u32).prop_flat_map(|(switches, hosts)| {
            let tree = (1..switches).map(|s| (0..s).prop_map(move |up| (s, up))).collect::<Vec<_>>();
            let more = prop::collection::vec((0..switches, 0..switches), 0..6);
            let homes = prop::collection::vec(0..switches, hosts as usize);
            (tree, more, homes).prop_map(move |(tree, more, homes)| {
                let joined = tree.into_iter().chain(more.into_iter().filter(|(a, b)| a != b));
                let core = joined.map(|(a, b)| edge(&format!("s{a}"), &format!("s{b}")));
                let rim = homes.iter().enumerate().map(|(h, s)| edge(&format!("h{h}"), &format!("s{s}")));
                (hosts, core.chain(rim).collect())
            })
        })
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn opposite_links_belong_to_one_edge((count, list) in graphs()) {
            let list: Vec<Edge> = list.into_iter().zip(1..).map(|(edge, rate)| Edge { rate: Rate(rate), ..edge }).collect();
            let fabric = edges(&hosts(count), &list).expect("a connected graph");
            for id in fabric.link_ids() {
                let (link, back) = (fabric.link(id), fabric.link(fabric.reverse(id)));
                prop_assert_eq!((back.from, back.to, back.rate), (link.to, link.from, link.rate));
                prop_assert_eq!(fabric.reverse(fabric.reverse(id)), id);
            }
        }

        #[test]
        fn every_host_reaches_every_other_without_a_loop((count, list) in graphs(), hash: u64) {
            let fabric = edges(&hosts(count), &list).expect("a connected graph");
            for (from, to) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let mut link = fabric.uplink(HostId(from));
                let mut seen = vec![NodeId(from)];
                while fabric.link(link).to != NodeId(to) {
                    let at = fabric.link(link).to;
                    prop_assert!(!fabric.is_host(at) && !seen.contains(&at), "{from} to {to}: {seen:?} and {at:?}");
                    seen.push(at);
                    link = fabric.next_hop(link, HostId(to), || hash);
                }
            }
        }
    }
}
