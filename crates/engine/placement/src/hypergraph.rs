//! Hypergraph of queries over their objects, and its contraction.

use crate::{Object, RequestLog};

/// Edges over nodes; a node is in an edge once.
pub(crate) struct Hypergraph {
    /// Start of each edge's nodes, and the nodes.
    starts: Vec<u32>,
    pins: Vec<u32>,
    /// Number of queries per edge.
    weights: Vec<u32>,
    /// Start of each node's edges, and the edges.
    firsts: Vec<u32>,
    edges: Vec<u32>,
}

impl Hypergraph {
    /// Queries of a log with at least two of the given nodes, with a weight per query, if it counts.
    pub fn of(
        log: &RequestLog,
        nodes: usize,
        node: impl Fn(Object) -> Option<u32>,
        weight: impl Fn(usize) -> u32,
    ) -> Hypergraph {
        let (mut starts, mut pins, mut weights) = (vec![0], Vec::new(), Vec::new());
        for query in (0..log.kept()).filter(|query| weight(*query) > 0) {
            let first = pins.len();
            pins.extend(log.query(query).iter().filter_map(|object| node(*object)));
            close(&mut starts, &mut pins, first, &mut weights, weight(query));
        }
        Hypergraph::from(nodes, starts, pins, weights)
    }

    fn from(nodes: usize, starts: Vec<u32>, pins: Vec<u32>, weights: Vec<u32>) -> Hypergraph {
        let mut firsts = vec![0u32; nodes + 1];
        pins.iter().for_each(|pin| firsts[*pin as usize + 1] += 1);
        (0..nodes).for_each(|node| firsts[node + 1] += firsts[node]);
        let (mut next, mut edges) = (firsts.clone(), vec![0; pins.len()]);
        for edge in 0..weights.len() {
            for pin in &pins[starts[edge] as usize..starts[edge + 1] as usize] {
                let place = &mut next[*pin as usize];
                edges[*place as usize] = edge as u32;
                *place += 1;
            }
        }
        Hypergraph { starts, pins, weights, firsts, edges }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.firsts.len() - 1
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.weights.len()
    }

    /// Sum of the number of nodes over all edges.
    pub fn pins(&self) -> usize {
        self.pins.len()
    }

    /// An edge's nodes.
    pub fn edge(&self, edge: u32) -> &[u32] {
        &self.pins[self.range(edge)]
    }

    /// Positions of an edge's nodes.
    pub fn range(&self, edge: u32) -> core::ops::Range<usize> {
        self.starts[edge as usize] as usize..self.starts[edge as usize + 1] as usize
    }

    /// Number of queries of an edge.
    pub fn weight(&self, edge: u32) -> u64 {
        self.weights[edge as usize].into()
    }

    /// Edges of a node.
    pub fn edges_of(&self, node: u32) -> &[u32] {
        &self.edges[self.firsts[node as usize] as usize..self.firsts[node as usize + 1] as usize]
    }

    /// Merges nodes of the same number, and edges with the same nodes.
    pub fn contracted(&self, numbers: &[u32], nodes: usize) -> Hypergraph {
        let (mut starts, mut pins, mut weights) = (vec![0], Vec::new(), Vec::new());
        for edge in 0..self.edges() as u32 {
            let first = pins.len();
            pins.extend(self.edge(edge).iter().map(|pin| numbers[*pin as usize]));
            close(&mut starts, &mut pins, first, &mut weights, self.weights[edge as usize]);
        }
        let edge = |at: u32| &pins[starts[at as usize] as usize..starts[at as usize + 1] as usize];
        let mut order: Vec<(u64, u32)> = (0..weights.len() as u32).map(|at| (digest(edge(at)), at)).collect();
        order.sort_unstable();
        let (mut once_starts, mut once_pins, mut once_weights) = (vec![0], Vec::<u32>::new(), Vec::<u32>::new());
        let mut last: Option<(u64, u32)> = None;
        for (digest, at) in order {
            if last.is_some_and(|(other, same)| other == digest && edge(same) == edge(at))
                && let Some(weight) = once_weights.last_mut()
            {
                *weight = weight.saturating_add(weights[at as usize]);
                continue;
            }
            last = Some((digest, at));
            once_pins.extend_from_slice(edge(at));
            once_starts.push(once_pins.len() as u32);
            once_weights.push(weights[at as usize]);
        }
        Hypergraph::from(nodes, once_starts, once_pins, once_weights)
    }
}

/// Ends an edge; drops it if it has only one node.
fn close(starts: &mut Vec<u32>, pins: &mut Vec<u32>, first: usize, weights: &mut Vec<u32>, weight: u32) {
    pins[first..].sort_unstable();
    let mut end = first;
    for place in first..pins.len() {
        if place == first || pins[place] != pins[end - 1] {
            pins[end] = pins[place];
            end += 1;
        }
    }
    pins.truncate(if end - first > 1 { end } else { first });
    if pins.len() > first {
        starts.push(pins.len() as u32);
        weights.push(weight);
    }
}

fn digest(nodes: &[u32]) -> u64 {
    nodes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, node| mix(sum ^ u64::from(*node)))
}

/// One step of SplitMix64: neighbouring numbers give unrelated ones.
pub(crate) fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
