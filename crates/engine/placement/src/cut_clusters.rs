//! Clusters of close objects, from a minimum cut tree with an artificial sink.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-B, Algorithm 2; Flake, Tarjan and Tsioutsiouliklis, "Graph clustering and minimum cut trees" (Internet
//!          Mathematics, 2004), who give the algorithm, its bounds and the way to save cuts.
//! Law:     every node is linked to a sink with weight w. The community of a node is its side of the smallest minimum cut between it
//!          and the sink; communities are nested or disjoint, and the largest are the clusters. Nodes are taken by falling weight of
//!          their edges, and a node already in a community needs no cut. A later node's community can only contain an earlier one if
//!          its cut is lighter, and its cut is at most that of the node alone. So a community whose cut is heavier than this is a
//!          cluster, and the graph continues without it.
//!          For a cluster S and each part P of it: c(S, V − S) / |V − S| ≤ w ≤ c(P, S − P) / min(|P|, |S − P|).
//! Units:   weights as given.
//! Owns:    a residual graph; a flow examines only the part it needs, and restores it.
//! Departs: Algorithm 2 says that there are N clusters, as many as servers; how many there are follows from w alone.
//! Checked: tests/placement/cut_clusters.rs: by hand, against all cuts and a whole minimum cut tree, and against the bounds;
//!          vectors/cut_clusters.json.
//!
//! Maximum flow is an own implementation of Dinic's algorithm: a flow ends near its source, since every node is linked to the sink.
//! petgraph 0.8 scans the whole graph for each flow: 0.2 to 570 ms with 487,000 edges, while 18,000 flows take 0.2 s here.

use std::collections::BinaryHeap;

use crate::closeness::Edge;

/// Clusters of at least two objects, each sorted; the first contains the heaviest node.
pub fn cut_clusters(objects: usize, edges: &[Edge], w: u64) -> Vec<Vec<u32>> {
    let mut graph = Graph::of(objects, edges, w);
    graph.absorb((0..objects as u32).filter(|node| graph.weights[*node as usize] <= w).collect());
    let mut order: Vec<u32> = (0..objects as u32).filter(|node| graph.state[*node as usize] == State::Open).collect();
    order.sort_unstable_by_key(|node| (!graph.weights[*node as usize], *node));
    let mut cluster = vec![NONE; objects];
    let mut open = BinaryHeap::new();
    for node in order {
        // Cost of a cut around this node alone.
        let alone = graph.weights[node as usize] + w;
        while open.peek().is_some_and(|(cut, _, _)| *cut >= alone) {
            let Some((_, first, community)) = open.pop() else { break };
            if cluster[first as usize] == first {
                graph.absorb(community);
            }
        }
        if graph.state[node as usize] != State::Open {
            continue;
        }
        let (cut, community) = graph.community(node);
        if community.len() == 1 {
            graph.absorb(community);
            continue;
        }
        for member in &community {
            // Communities inside it are contained completely.
            cluster[*member as usize] = node;
            graph.state[*member as usize] = State::Clustered;
        }
        open.push((cut, node, community));
    }
    let mut members: Vec<u32> = (0..objects as u32).filter(|node| cluster[*node as usize] != NONE).collect();
    let weight = |node: &u32| graph.weights[cluster[*node as usize] as usize];
    members.sort_unstable_by_key(|node| (!weight(node), cluster[*node as usize], *node));
    members.chunk_by(|one, other| cluster[*one as usize] == cluster[*other as usize]).map(<[u32]>::to_vec).collect()
}

const NONE: u32 = u32::MAX;

/// State of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not in a community.
    Open,
    /// In a community that a larger one may contain.
    Clustered,
    /// In no community yet to be found, and merged into the sink.
    Absorbed,
}

/// An edge, seen from one end.
#[derive(Clone, Copy)]
struct Arc {
    to: u32,
    /// Index of the reverse arc.
    back: u32,
    weight: u32,
    /// Residual capacity.
    left: u32,
}

/// State of a node in a flow.
#[derive(Clone, Copy)]
struct Spot {
    /// Residual capacity to the sink.
    left: u64,
    /// Distance from the source; `NONE` if not reached.
    level: u32,
    /// The next arc to try.
    next: u32,
}

struct Graph {
    starts: Vec<u32>,
    arcs: Vec<Arc>,
    /// Weight of each node's edges.
    weights: Vec<u64>,
    /// Their weight to nodes that are not absorbed.
    inside: Vec<u64>,
    state: Vec<State>,
    w: u64,
    /// Capacity of each node to the sink.
    sink: Vec<u64>,
    spots: Vec<Spot>,
    /// Nodes that the current flow has reached, by distance.
    seen: Vec<u32>,
    /// Arcs whose residual capacity it has changed, and the nodes through which it reached the sink.
    used: Vec<usize>,
    ends: Vec<u32>,
}

impl Graph {
    fn of(nodes: usize, edges: &[Edge], w: u64) -> Graph {
        let mut starts = vec![0u32; nodes + 1];
        edges.iter().flat_map(|edge| edge.ends).for_each(|end| starts[end.0 as usize + 1] += 1);
        (0..nodes).for_each(|node| starts[node + 1] += starts[node]);
        let mut next = starts.clone();
        let mut arcs = vec![Arc { to: 0, back: 0, weight: 0, left: 0 }; 2 * edges.len()];
        let mut weights = vec![0; nodes];
        for edge in edges {
            let [one, other] = edge.ends.map(|end| end.0 as usize);
            let (here, there) = (next[one], next[other]);
            let arc = |to: usize, back| Arc { to: to as u32, back, weight: edge.closeness, left: edge.closeness };
            arcs[here as usize] = arc(other, there);
            arcs[there as usize] = arc(one, here);
            for end in [one, other] {
                next[end] += 1;
                weights[end] += u64::from(edge.closeness);
            }
        }
        Graph {
            starts,
            arcs,
            inside: weights.clone(),
            weights,
            state: vec![State::Open; nodes],
            w,
            sink: vec![w; nodes],
            spots: vec![Spot { left: w, level: NONE, next: 0 }; nodes],
            seen: Vec::new(),
            used: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn arcs(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    /// Merges nodes into the sink, together with all nodes that are then provably alone: those whose edges weigh at most w. Without such a
    /// node a community's cut costs w less, and at most the weight of its edges more.
    fn absorb(&mut self, mut nodes: Vec<u32>) {
        nodes.iter().for_each(|node| self.state[*node as usize] = State::Absorbed);
        while let Some(node) = nodes.pop() {
            for arc in self.arcs(node) {
                let Arc { to, back, weight, .. } = self.arcs[arc];
                for arc in [arc, back as usize] {
                    (self.arcs[arc].weight, self.arcs[arc].left) = (0, 0);
                }
                let other = to as usize;
                self.sink[other] += u64::from(weight);
                self.spots[other].left = self.sink[other];
                self.inside[other] -= u64::from(weight);
                if self.state[other] == State::Open && self.inside[other] <= self.w {
                    self.state[other] = State::Absorbed;
                    nodes.push(to);
                }
            }
        }
    }

    /// Weight of the smallest minimum cut between a node and the sink, and the node's side.
    fn community(&mut self, source: u32) -> (u64, Vec<u32>) {
        let mut cut = self.sink[source as usize];
        self.spots[source as usize].left = 0;
        self.ends.push(source);
        while self.layer(source) {
            while let Some(sent) = self.augment(source) {
                cut += sent;
            }
            self.forget_levels();
        }
        let community = self.seen.clone();
        self.forget_levels();
        for node in self.ends.drain(..) {
            self.spots[node as usize].left = self.sink[node as usize];
        }
        for arc in self.used.drain(..) {
            self.arcs[arc].left = self.arcs[arc].weight;
        }
        (cut, community)
    }

    fn forget_levels(&mut self) {
        for node in self.seen.drain(..) {
            self.spots[node as usize].level = NONE;
        }
    }

    /// Computes distances from the source up to the first node with capacity to the sink; returns whether there is one.
    fn layer(&mut self, source: u32) -> bool {
        let start = &mut self.spots[source as usize];
        (start.level, start.next) = (0, self.starts[source as usize]);
        self.seen.push(source);
        let (mut place, mut last) = (0, NONE);
        while let Some(&node) = self.seen.get(place) {
            let level = self.spots[node as usize].level;
            if level == last {
                break;
            }
            for arc in self.arcs(node) {
                let Arc { to, left, .. } = self.arcs[arc];
                if left == 0 {
                    continue;
                }
                let spot = &mut self.spots[to as usize];
                if spot.level == NONE {
                    (spot.level, spot.next) = (level + 1, self.starts[to as usize]);
                    self.seen.push(to);
                    if spot.left > 0 {
                        last = level + 1;
                    }
                }
            }
            place += 1;
        }
        last != NONE
    }

    /// Augments the flow along a shortest path; returns its amount, if there is a path.
    fn augment(&mut self, source: u32) -> Option<u64> {
        let mut way: Vec<usize> = Vec::new();
        let mut node = source;
        loop {
            let spot = self.spots[node as usize];
            if spot.left > 0 {
                break;
            }
            if spot.next == self.starts[node as usize + 1] {
                // A dead end: do not try this arc again.
                let arc = way.pop()?;
                node = self.arcs[self.arcs[arc].back as usize].to;
                self.spots[node as usize].next += 1;
                continue;
            }
            let arc = self.arcs[spot.next as usize];
            if arc.left > 0 && self.spots[arc.to as usize].level == spot.level + 1 {
                way.push(spot.next as usize);
                node = arc.to;
            } else {
                self.spots[node as usize].next += 1;
            }
        }
        let least = way.iter().map(|arc| self.arcs[*arc].left).min().unwrap_or(0);
        let sent = u64::from(least).min(self.spots[node as usize].left);
        self.spots[node as usize].left -= sent;
        self.ends.push(node);
        for (place, &arc) in way.iter().enumerate() {
            self.arcs[arc].left -= sent as u32;
            self.used.push(arc);
            // No flow returns to the source.
            if place > 0 {
                let back = self.arcs[arc].back as usize;
                self.arcs[back].left += sent as u32;
                self.used.push(back);
            }
        }
        Some(sent)
    }
}
