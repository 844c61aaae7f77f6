//! Locations of the input's splits and the output's replicas.

use fanin_driver::{Purpose, Stream, View};
use fanin_fabric::HostId;

pub(super) struct Placement {
    nodes: u32,
    /// The nodes that hold each split.
    holders: Vec<Vec<HostId>>,
    draws: Stream,
}

impl Placement {
    /// On this many nodes, which are host 1 and those after it.
    pub fn new(seed: u64, nodes: u32) -> Placement {
        Placement { nodes, holders: Vec::new(), draws: Stream::new(seed, Purpose::Placement, 0) }
    }

    /// Draw the locations of the next split's `replicas`. HDFS: the first anywhere, the second in another rack, the third
    /// in the second's rack, others anywhere.
    pub fn add_split(&mut self, view: &dyn View, replicas: u32) {
        let first = HostId(self.draws.below(self.nodes) + 1);
        let mut chosen = vec![first];
        while (chosen.len() as u32) < replicas.min(self.nodes) {
            let right_rack = |node: HostId| match chosen.len() {
                1 => !view.share_a_rack(node, first),
                2 => view.share_a_rack(node, chosen[1]),
                _ => true,
            };
            let free = || (1..=self.nodes).map(HostId).filter(|node| !chosen.contains(node));
            let strictly: Vec<HostId> = free().filter(|&node| right_rack(node)).collect();
            let candidates = if strictly.is_empty() { free().collect() } else { strictly };
            chosen.push(candidates[self.draws.below(candidates.len() as u32) as usize]);
        }
        self.holders.push(chosen);
    }

    /// Draw the location of a replica of a node's output: another node.
    pub fn replica_of(&mut self, node: HostId) -> HostId {
        let other = self.draws.below(self.nodes - 1) + 1;
        HostId(if other < node.0 { other } else { other + 1 })
    }

    /// The holder from which a node reads a split: itself, else one in its rack, else the first.
    pub fn nearest(&self, view: &dyn View, split: u32, node: HostId) -> HostId {
        let holders = &self.holders[split as usize];
        let of = |at: &dyn Fn(HostId) -> bool| holders.iter().copied().find(|&holder| at(holder));
        of(&|holder| holder == node).or_else(|| of(&|holder| view.share_a_rack(holder, node))).unwrap_or(holders[0])
    }

    /// Distance of a split from a node: on it, in its rack, elsewhere.
    pub fn distance(&self, view: &dyn View, split: u32, node: HostId) -> u32 {
        match self.nearest(view, split, node) {
            holder if holder == node => 0,
            holder if view.share_a_rack(holder, node) => 1,
            _ => 2,
        }
    }
}
