//! Networks as lists of edges: any graph of switches, and hosts with one link or several to them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fanin_units::{Rate, Time};

use crate::error::Error;
use crate::ids::{HostId, Link, LinkId, NodeId, mix};

/// A bidirectional link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The two nodes, by name.
    pub ends: [String; 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Time,
    /// Length for routing: paths are shortest by the sum of their edges' lengths.
    pub length: u32,
}

/// Builds a network of edges. `hosts` has the hosts' names by number; every other name is a switch.
///
/// # Errors
/// The problem and its solution.
pub(crate) fn read(hosts: &[String], edges: &[Edge]) -> Result<Read, Error> {
    let mut names = hosts.to_vec();
    let mut ends: Vec<(u32, u32)> = Vec::with_capacity(edges.len());
    for edge in edges {
        let [a, b] = [0, 1].map(|end| number(&edge.ends[end], &mut names));
        if a == b {
            return Err(Error::SelfLoop(edge.ends[0].clone()));
        }
        if edge.rate.0 == 0 {
            return Err(Error::NoRate(edge.ends.clone()));
        }
        ends.push((a, b));
    }
    let mut links: Vec<(Link, u32)> = ends
        .iter()
        .zip(edges)
        .flat_map(|(&(a, b), edge)| {
            let link = |from, to| Link { from: NodeId(from), to: NodeId(to), rate: edge.rate, delay: edge.delay };
            [link(a, b), link(b, a)].map(|link| (link, edge.length))
        })
        .collect();
    links.sort_by_key(|(link, _)| (link.to, link.from));
    let (links, lengths): (Vec<Link>, Vec<u32>) = links.into_iter().unzip();
    let count = hosts.len() as u32;
    let first_links = first_links(&names, count, &links)?;
    if !first_links.is_empty()
        && let Some((edge, _)) = edges.iter().zip(&ends).find(|(_, (a, b))| *a < count && *b < count)
    {
        return Err(Error::JoinsHosts(edge.ends.clone()));
    }
    let table = Table::new([count, names.len() as u32], &links, &lengths).map_err(|(from, to)| {
        let [from, to] = [from, to].map(|node| names[node as usize].clone());
        Error::Apart { from, to, hosts_forward: first_links.is_empty() }
    })?;
    Ok(Read { names, links, table, first_links })
}

/// The first link to each host, by host; empty if every host has one.
fn first_links(names: &[String], hosts: u32, links: &[Link]) -> Result<Vec<u32>, Error> {
    // Links are sorted by receiver, hosts first.
    let mut firsts = Vec::with_capacity(hosts as usize);
    for host in 0..hosts {
        let first = links.partition_point(|link| link.to.0 < host);
        if links.get(first).is_none_or(|link| link.to.0 != host) {
            return Err(Error::NoEdge(names[host as usize].clone()));
        }
        firsts.push(first as u32);
    }
    let to_hosts = links.partition_point(|link| link.to.0 < hosts);
    Ok(if to_hosts == firsts.len() { Vec::new() } else { firsts })
}

/// Network of a list of edges.
pub(crate) struct Read {
    /// By node.
    pub names: Vec<String>,
    pub links: Vec<Link>,
    pub table: Table,
    /// The first link to each host, by host; empty if every host has one.
    pub first_links: Vec<u32>,
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
    /// Shortest paths by the links' lengths; `Err` has two nodes without a path. A switch need not reach every host: one for some of the
    /// hosts only may be joined to no other switch.
    fn new([hosts, nodes]: [u32; 2], links: &[Link], lengths: &[u32]) -> Result<Table, (u32, u32)> {
        let mut out: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
        for (link, id) in links.iter().zip(0..) {
            out[link.from.index()].push(id);
        }
        let mut into: Vec<Vec<(u32, u32)>> = vec![Vec::new(); nodes as usize];
        for (link, &length) in links.iter().zip(lengths) {
            into[link.to.index()].push((link.from.0, length));
        }
        let far: Vec<Vec<u32>> = (0..hosts).map(|host| distances(host, hosts, &into)).collect();
        let mut table = Table { hosts, starts: vec![0], hops: Vec::new() };
        for node in 0..nodes {
            let is_unreached = |far: &Vec<u32>| far[node as usize] == u32::MAX;
            if far.iter().all(is_unreached) {
                return Err((node, 0));
            }
            for (host, far) in (0..hosts).zip(&far) {
                if node < hosts && is_unreached(far) {
                    return Err((node, host));
                }
                let nearer = |&&id: &&u32| {
                    let to = links[id as usize].to.0;
                    // No path leads through a host.
                    far[to as usize].checked_add(lengths[id as usize]) == Some(far[node as usize])
                        && (to >= hosts || to == host)
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

    /// The one of them that a flow's hash selects.
    pub fn next_hop(&self, node: NodeId, host: HostId, flow_hash: impl FnOnce() -> u64) -> LinkId {
        LinkId(match self.next_hops(node.0, host.0) {
            [only] => *only,
            several => several[(mix(flow_hash() ^ u64::from(node.0)) % several.len() as u64) as usize],
        })
    }
}

/// Length of the shortest path between each node and a host, through switches; `into` has the links' senders and lengths by receiver.
fn distances(host: u32, hosts: u32, into: &[Vec<(u32, u32)>]) -> Vec<u32> {
    let mut far = vec![u32::MAX; into.len()];
    far[host as usize] = 0;
    let mut next = BinaryHeap::from([Reverse((0, host))]);
    while let Some(Reverse((length, node))) = next.pop() {
        if length > far[node as usize] {
            continue;
        }
        for &(from, of_link) in &into[node as usize] {
            let whole = length.saturating_add(of_link);
            if whole < far[from as usize] {
                far[from as usize] = whole;
                if from >= hosts {
                    next.push(Reverse((whole, from)));
                }
            }
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges;
    use proptest::prelude::*;
    use std::ops::RangeInclusive;

    fn edge(a: &str, b: &str) -> Edge {
        Edge { ends: [a.into(), b.into()], rate: Rate(1_000_000_000), delay: Time::from_micros(5), length: 1 }
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
            (
                2,
                vec![edge("h0", "s"), edge("h1", "s"), edge("h1", "h0")],
                "the edge from h1 to h0 joins two hosts; join each of them to a switch",
            ),
            (
                3,
                vec![edge("h0", "s"), edge("h1", "s"), edge("h1", "t"), edge("h2", "t")],
                "no way from `h0` to `h2`: the edges are not one network, and no path leads through a host",
            ),
            (1, vec![edge("h0", "h0")], "`h0` is joined to itself; an edge has two ends"),
            (2, vec![edge("h0", "s"), edge("h1", "t")], "no way from `h0` to `h1`: the edges are not one network"),
        ];
        for (count, list, what) in cases {
            assert_eq!(edges(&hosts(count), &list).expect_err(what).to_string(), what);
        }
    }

    /// A connected graph: a random tree of switches, some more edges, and hosts anywhere, with as many links each.
    fn graphs(links: RangeInclusive<usize>) -> impl Strategy<Value = (u32, Vec<Edge>)> {
        (1..8u32, 2..12u32).prop_flat_map(move |(switches, hosts)| {
            let tree = (1..switches).map(|s| (0..s).prop_map(move |up| (s, up))).collect::<Vec<_>>();
            let more = prop::collection::vec((0..switches, 0..switches), 0..6);
            let homes = prop::collection::vec(prop::collection::vec(0..switches, links.clone()), hosts as usize);
            (tree, more, homes).prop_map(move |(tree, more, homes)| {
                let joined = tree.into_iter().chain(more.into_iter().filter(|(a, b)| a != b));
                let core = joined.map(|(a, b)| edge(&format!("s{a}"), &format!("s{b}")));
                let of_host = |(h, homes): (usize, &Vec<u32>)| {
                    homes.iter().map(|s| edge(&format!("h{h}"), &format!("s{s}"))).collect::<Vec<_>>()
                };
                let rim = homes.iter().enumerate().flat_map(of_host);
                (hosts, core.chain(rim).collect())
            })
        })
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn opposite_links_belong_to_one_edge((count, list) in graphs(1..=3)) {
            let list: Vec<Edge> = list.into_iter().zip(1..).map(|(edge, rate)| Edge { rate: Rate(rate), ..edge }).collect();
            let fabric = edges(&hosts(count), &list).expect("a connected graph");
            for id in fabric.link_ids() {
                let (link, back) = (fabric.link(id), fabric.link(fabric.reverse(id)));
                prop_assert_eq!((back.from, back.to, back.rate), (link.to, link.from, link.rate));
                prop_assert_eq!(fabric.reverse(fabric.reverse(id)), id);
            }
        }

        #[test]
        fn every_host_reaches_every_other_without_a_loop((count, list) in graphs(1..=3), hash: u64) {
            let fabric = edges(&hosts(count), &list).expect("a connected graph");
            for (from, to) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b) {
                let mut link = fabric.uplink_to(HostId(from), HostId(to), || hash);
                let mut seen = vec![NodeId(from)];
                prop_assert_eq!(fabric.link(link).from, NodeId(from));
                while fabric.link(link).to != NodeId(to) {
                    let at = fabric.link(link).to;
                    prop_assert!(!fabric.is_host(at) && !seen.contains(&at), "{from} to {to}: {seen:?} and {at:?}");
                    seen.push(at);
                    link = fabric.next_hop(link, HostId(to), || hash);
                }
                prop_assert_eq!(fabric.host_at(link), HostId(to));
                prop_assert_eq!(fabric.way(HostId(from), HostId(to), hash).count(), seen.len());
                prop_assert_eq!(fabric.path(HostId(from), HostId(to)).count(), seen.len());
            }
        }

        #[test]
        fn links_of_hosts_are_all_known((count, list) in graphs(1..=3)) {
            let fabric = edges(&hosts(count), &list).expect("a connected graph");
            let mut downlinks = 0;
            for host in (0..count).map(HostId) {
                let into: Vec<LinkId> = fabric.link_ids().filter(|&id| fabric.link(id).to == host.node()).collect();
                let out: Vec<LinkId> = fabric.link_ids().filter(|&id| fabric.link(id).from == host.node()).collect();
                prop_assert_eq!(&fabric.downlinks(host).collect::<Vec<_>>(), &into);
                prop_assert_eq!(fabric.downlink(host), into[0]);
                prop_assert!(into.iter().all(|&link| fabric.is_downlink(link) && fabric.host_at(link) == host));
                let mut uplinks: Vec<LinkId> = fabric.uplinks(host).collect();
                prop_assert_eq!(fabric.uplink(host), uplinks[0]);
                uplinks.sort_unstable();
                prop_assert_eq!(uplinks, out);
                let rate = into.iter().map(|&link| fabric.link(link).rate.0).sum();
                prop_assert_eq!(fabric.host_rate(host), Rate(rate));
                downlinks += into.len();
            }
            prop_assert_eq!(fabric.link_ids().filter(|&id| fabric.is_downlink(id)).count(), downlinks);
        }

        #[test]
        fn hosts_with_one_link_choose_nothing((count, list) in graphs(1..=1), hash: u64) {
            let fabric = edges(&hosts(count), &list).expect("a connected graph");
            prop_assert!(fabric.has_one_link_each());
            for (from, to) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
                let asked = || -> u64 { unreachable!("no hash is needed") };
                prop_assert_eq!(fabric.uplink_to(HostId(from), HostId(to), asked), fabric.uplink(HostId(from)));
                let way: Vec<&Link> = fabric.way(HostId(from), HostId(to), 0).map(|link| fabric.link(link)).collect();
                prop_assert_eq!(fabric.path(HostId(from), HostId(to)).collect::<Vec<_>>(), way);
            }
            prop_assert!((0..count).all(|host| fabric.downlink(HostId(host)) == LinkId(host)));
        }

        #[test]
        fn flows_avoid_failed_links_of_hosts(
            hash: u64, failed in prop::collection::btree_set(0..3usize, 1..3), of: bool,
        ) {
            let list = ["a", "b", "c"].map(|switch| [edge("h0", switch), edge("h1", switch)]).concat();
            let whole = edges(&hosts(2), &list).expect("one network");
            let mut fabric = whole.clone();
            let usual: Vec<LinkId> = whole.way(HostId(0), HostId(1), hash).collect();
            let ends = if of { "h0" } else { "h1" };
            let failed: Vec<LinkId> =
                failed.iter().flat_map(|&at| fabric.between([ends, ["a", "b", "c"][at]]).expect("a link")).collect();
            failed.iter().for_each(|&link| fabric.set_up(link, false));
            let way: Vec<LinkId> = fabric.way(HostId(0), HostId(1), hash).collect();
            prop_assert!(way.iter().all(|link| !failed.contains(link)), "{way:?}");
            prop_assert!(way == usual || usual.iter().any(|link| failed.contains(link)), "an unaffected flow has moved");
            failed.iter().for_each(|&link| fabric.set_up(link, true));
            prop_assert_eq!(fabric, whole);
        }
    }

    #[test]
    fn flows_of_a_host_spread_evenly_over_its_links() {
        let list = ["a", "b"].map(|switch| [edge("h0", switch), edge("h1", switch)]).concat();
        let fabric = edges(&hosts(2), &list).expect("one network");
        let over = |name: &str| {
            let first = |flow| fabric.link_name(fabric.uplink_to(HostId(0), HostId(1), || flow));
            (0..10_000u64).filter(|&flow| first(flow) == name).count()
        };
        let [one, other] = ["h0>a", "h0>b"].map(over);
        // Standard deviation 50.
        assert!(one + other == 10_000 && one.abs_diff(5_000) < 200, "{one} and {other}");
    }

    #[test]
    fn parallel_links_have_numbers() {
        let list = [edge("h0", "s"), edge("h1", "s"), edge("h0", "s"), edge("s", "t"), edge("s", "t")];
        let fabric = edges(&hosts(2), &list).expect("one network");
        let names: Vec<String> = fabric.link_ids().map(|link| fabric.link_name(link)).collect();
        // Links between switches keep a common name.
        let of_hosts = ["s>h0", "s>h0#2", "s>h1", "h0>s", "h0>s#2", "h1>s"];
        assert_eq!(names, [&of_hosts[..], &["t>s", "t>s", "s>t", "s>t"]].concat());
        let named = |ends: [&str; 2]| {
            let links = fabric.between(ends).map_err(String::from)?;
            Ok::<_, String>(links.map(|link| fabric.link_name(link)))
        };
        assert_eq!(named(["h0", "s"]), Ok(["h0>s".into(), "s>h0".into()]));
        assert_eq!(named(["h0", "s#2"]), Ok(["h0>s#2".into(), "s>h0#2".into()]));
        assert_eq!(named(["s", "h0#2"]), Ok(["s>h0#2".into(), "h0>s#2".into()]));
        let [out, back] = fabric.between(["s", "t#2"]).expect("a link");
        assert_eq!((fabric.reverse(out), fabric.between(["s", "t"]).expect("a link")[0] != out), (back, true));
        assert_eq!(named(["h0", "s#3"]), Err("link 3 of `h0` and `s`: there are 2".into()));
        assert_eq!(named(["h0", "s#0"]), Err("`s#0`: use a number from 1 after #, such as `s#2`".into()));
    }

    #[test]
    fn a_switch_may_join_some_of_the_hosts_only() {
        let list = [edge("h0", "s"), edge("h1", "s"), edge("h2", "s"), edge("h1", "back"), edge("h2", "back")];
        let fabric = edges(&hosts(3), &list).expect("every host reaches every other");
        for hash in 0..50 {
            assert_eq!(fabric.link_name(fabric.uplink_to(HostId(1), HostId(0), || hash)), "h1>s");
        }
        assert_eq!(fabric.rack(HostId(1)), fabric.rack(HostId(0)));
        assert!(fabric.into_rack(HostId(1)).next().is_none());
    }

    #[test]
    fn unequal_links_of_a_host_add_up() {
        let fast = |a: &str, b: &str| Edge { rate: Rate(3_000_000_000), ..edge(a, b) };
        let list = [edge("h0", "a"), fast("h0", "b"), edge("h1", "a"), fast("h1", "b"), edge("h2", "a")];
        let fabric = edges(&hosts(3), &list).expect("one network");
        assert_eq!(fabric.gather_rate([HostId(1)].into_iter(), HostId(0)), 4e9);
        assert_eq!(fabric.path(HostId(1), HostId(0)).map(|link| link.rate).min(), Some(Rate(3_000_000_000)));
        assert_eq!(fabric.gather_rate([HostId(2)].into_iter(), HostId(0)), 1e9);
        // By the faster link of the sender, the bottleneck is 1 Gbit/s, by the slower one 2 Gbit/s.
        let of = |a: &str, b: &str, gbit: u64| Edge { rate: Rate(gbit * 1_000_000_000), ..edge(a, b) };
        let crossed = [of("h0", "a", 3), of("h0", "b", 2), of("h1", "a", 1), of("h1", "b", 4)];
        let crossed = edges(&hosts(2), &crossed).expect("one network");
        let rates: Vec<u64> = crossed.path(HostId(0), HostId(1)).map(|link| link.rate.0 / 1_000_000_000).collect();
        assert_eq!(rates, [2, 4]);
        // 8 Gbit over 4 Gbit/s.
        assert_eq!(fabric.least_time_s([((HostId(1), HostId(0)), 8e9)].into_iter()), 2.0);
    }

    #[test]
    fn links_into_a_rack_are_those_of_all_its_switches() {
        let list = ["a", "b"].map(|tor| [edge("h0", tor), edge("h1", tor), edge(tor, "core"), edge("h2", "core")]);
        let list = [&list[0][..], &list[1][..3], &[edge("a", "b")]].concat();
        let fabric = edges(&hosts(3), &list).expect("one network");
        let names: Vec<String> = fabric.into_rack(HostId(1)).map(|link| fabric.link_name(link)).collect();
        assert_eq!(names, ["core>a", "core>b"]);
    }
}
