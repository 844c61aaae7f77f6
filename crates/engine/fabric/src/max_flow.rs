//! Maximum flow to one host over the links of shortest paths: Edmonds and Karp, "Theoretical Improvements in Algorithmic Efficiency for
//! Network Flow Problems" (Journal of the ACM 19, 1972).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::ids::{Link, LinkId, NodeId};

/// Links with their rates, each followed by its opposite in the residual network.
struct Residual {
    /// Receiving node, and the rate that is left.
    edges: Vec<(NodeId, u64)>,
    /// By sending node, places in `edges`.
    out: BTreeMap<NodeId, Vec<usize>>,
}

impl Residual {
    /// All links that packets of the senders can cross; `ways` has a node's next hops.
    fn new(links: &[Link], ways: impl Fn(NodeId) -> Vec<LinkId>, senders: &BTreeSet<NodeId>, to: NodeId) -> Residual {
        let mut all = Residual { edges: Vec::new(), out: BTreeMap::new() };
        let (mut seen, mut todo) = (BTreeSet::from([to]), Vec::from_iter(senders.iter().copied()));
        while let Some(node) = todo.pop() {
            if !seen.insert(node) {
                continue;
            }
            for link in ways(node) {
                let Link { to: next, rate, .. } = links[link.index()];
                for (from, edge) in [(node, (next, rate.0)), (next, (node, 0))] {
                    all.out.entry(from).or_default().push(all.edges.len());
                    all.edges.push(edge);
                }
                todo.push(next);
            }
        }
        all
    }

    /// The edges of a shortest path with rate left, from the last to the first.
    fn path(&self, senders: &BTreeSet<NodeId>, to: NodeId) -> Option<Vec<usize>> {
        let mut by: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut next: VecDeque<NodeId> = senders.iter().copied().collect();
        while !by.contains_key(&to) {
            let node = next.pop_front()?;
            for &edge in self.out.get(&node).into_iter().flatten() {
                let (end, left) = self.edges[edge];
                if left > 0 && !senders.contains(&end) && !by.contains_key(&end) {
                    by.insert(end, edge);
                    next.push_back(end);
                }
            }
        }
        let back = |&edge: &usize| by.get(&self.edges[edge ^ 1].0).copied();
        Some(std::iter::successors(by.get(&to).copied(), back).collect())
    }
}

/// Maximum total rate of these senders to a host, in bit/s.
pub(crate) fn max_flow(
    links: &[Link],
    ways: impl Fn(NodeId) -> Vec<LinkId>,
    senders: impl Iterator<Item = NodeId>,
    to: NodeId,
) -> u64 {
    let senders: BTreeSet<NodeId> = senders.filter(|&sender| sender != to).collect();
    let mut left = Residual::new(links, ways, &senders, to);
    let mut flow = 0;
    while let Some(path) = left.path(&senders, to) {
        let more = path.iter().map(|&edge| left.edges[edge].1).min().unwrap_or(0);
        for edge in path {
            left.edges[edge].1 -= more;
            left.edges[edge ^ 1].1 += more;
        }
        flow += more;
    }
    flow
}

#[cfg(test)]
mod tests {
    use fanin_units::{Rate, Time};

    use crate::{Edge, HostId, edges};

    /// Maximum rate of all other hosts to host 0, for edges as two nodes and a rate.
    fn rate(hosts: usize, list: &[(&str, &str, u64)]) -> f64 {
        let edge = |&(one, other, rate): &(&str, &str, u64)| Edge {
            ends: [one.into(), other.into()],
            rate: Rate(rate),
            delay: Time::ZERO,
            length: 1,
        };
        let names: Vec<String> = (0..hosts).map(|n| format!("h{n}")).collect();
        let fabric = edges(&names, &list.iter().map(edge).collect::<Vec<_>>()).expect("one network");
        fabric.gather_rate((1..hosts as u32).map(HostId), HostId(0))
    }

    #[test]
    fn unequal_links_are_all_full() {
        // Links of the receiver, of one sender, and of the core.
        assert_eq!(
            rate(3, &[("h0", "a", 10), ("h0", "b", 25), ("h1", "a", 50), ("h1", "b", 50), ("h2", "b", 50)]),
            35.0
        );
        assert_eq!(rate(2, &[("h0", "a", 10), ("h0", "b", 25), ("h1", "a", 20), ("h1", "b", 20)]), 30.0);
        let core = [("h0", "a", 50), ("h0", "b", 50), ("a", "c", 7), ("b", "c", 9), ("h1", "c", 50), ("h2", "c", 50)];
        assert_eq!(rate(3, &core), 16.0);
    }

    #[test]
    fn a_first_path_is_taken_back() {
        // The first path may take the edge from s to b that the other sender needs.
        let list = [
            ("h1", "s", 10),
            ("h2", "t", 10),
            ("s", "a", 10),
            ("s", "b", 10),
            ("t", "b", 10),
            ("h0", "a", 10),
            ("h0", "b", 10),
        ];
        assert_eq!(rate(3, &list), 20.0);
    }
}
