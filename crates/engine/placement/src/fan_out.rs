//! Assignment of related objects to few parts: local search on the probabilistic fan-out under capacity limits.
//! Sources: Kabiljo, Karrer, Pundir, Pupyrev and Shalita, "Social Hash Partitioner: A Scalable Distributed Hypergraph Partitioner"
//!          (VLDB 2017), section 3.1: the objective and the gain of a move.
//! Law:     a query with n objects in a part contributes 1 - x^n there; the sum over all parts is the expected fan-out if each object
//!          were requested with probability 1 - x. A node moves to the part with free capacity that saves most. x = 2^-sharpness: the
//!          sharper, the closer this is to the number of parts. Then parts may exceed their capacity for some passes and are
//!          rebalanced at the least cost; the best result is kept.
//! Units:   gains in 1/65,536 of a server that queries save; resources as given.
//! Owns:    the assignment, and for each query the number of its nodes in each part.
//! Departs: moves are made at once, one after another, instead of exchanged in pairs between rounds, so no two undo each other.
//!          The paper uses x = 1/2 throughout.
//! Checked: tests/placement/vectors.rs, by vectors/fan_out.json.

use std::collections::BinaryHeap;

use crate::hypergraph::{Hypergraph, mix};
use crate::{Object, RequestLog, Resources};

/// Unassigned.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// One server.
pub(crate) const UNIT: u64 = 1 << 16;
/// Minimum saving for which an anchored node leaves its part.
const LEAST: u64 = 6 * UNIT;
/// From here on x^n is zero for all n > 0.
pub(crate) const SHARPEST: u32 = 16;
/// Full capacity of a part, in 1/256.
const WHOLE: u64 = 256;

/// Contribution of one more node of a query that has n: x^n.
fn adds(n: u32, sharpness: u32) -> u64 {
    UNIT.checked_shr(n.saturating_mul(sharpness)).unwrap_or(0)
}

/// Saving of a log's queries if an object were in each of the parts instead of its own, in 1/65,536 of a server.
pub fn saves(log: &RequestLog, parts: &[u32], count: usize, object: Object, sharpness: u32) -> Vec<i64> {
    let graph = Hypergraph::of(log, parts.len(), |object| Some(object.0), |_| 1);
    let (demands, capacities) = (vec![Resources::default(); parts.len()], vec![Resources::default(); count]);
    let mut search = Search::new(&graph, &demands, &capacities, parts.to_vec());
    let here = search.score(object.0, sharpness) as i64;
    let saves =
        |part: usize| if part == parts[object.0 as usize] as usize { 0 } else { search.scores[part] as i64 - here };
    (0..count).map(saves).collect()
}

/// Parts of a log's objects after some passes, with a request limit per part.
pub fn settled(log: &RequestLog, parts: Vec<u32>, most: &[u64], sharpness: u32, passes: u64) -> Vec<u32> {
    let graph = Hypergraph::of(log, parts.len(), |object| Some(object.0), |_| 1);
    let of = |computing| Resources { computing, ..Resources::default() };
    let demands: Vec<Resources> =
        (0..parts.len() as u32).map(|object| of(log.frequency(Object(object)).into())).collect();
    let capacities: Vec<Resources> = most.iter().map(|most| of(*most)).collect();
    let mut search = Search::new(&graph, &demands, &capacities, parts);
    search.settle(sharpness, passes, 0);
    search.parts
}

/// An assignment under optimisation.
pub(crate) struct Search<'a> {
    graph: &'a Hypergraph,
    demands: &'a [Resources],
    capacities: &'a [Resources],
    /// Temporary limit of parts, in 1/256 of their capacity.
    slack: u64,
    pub parts: Vec<u32>,
    /// Earlier part of each node, if it counts, and its weight.
    anchors: Vec<u32>,
    share: u64,
    loads: Vec<Resources>,
    /// Parts of each edge's nodes and their counts, at the positions of its nodes.
    spans: Vec<(u32, u32)>,
    lengths: Vec<u32>,
    /// Nodes whose queries have changed since they were last examined.
    stirred: Vec<bool>,
    /// By part; zero between nodes.
    scores: Vec<u64>,
    touched: Vec<u32>,
}

impl<'a> Search<'a> {
    pub fn new(
        graph: &'a Hypergraph,
        demands: &'a [Resources],
        capacities: &'a [Resources],
        parts: Vec<u32>,
    ) -> Search<'a> {
        let mut search = Search {
            graph,
            demands,
            capacities,
            slack: WHOLE,
            loads: vec![Resources::default(); capacities.len()],
            spans: vec![(0, 0); graph.pins()],
            lengths: vec![0; graph.edges()],
            scores: vec![0; capacities.len()],
            touched: Vec::new(),
            parts: vec![NOWHERE; graph.nodes()],
            anchors: Vec::new(),
            share: 0,
            stirred: vec![true; graph.nodes()],
        };
        for (node, part) in (0..).zip(parts) {
            if part != NOWHERE {
                search.put(node, part);
            }
        }
        search
    }

    /// Makes assigned nodes leave their part only for a saving of this share of their requests, in 1/256.
    pub fn anchor(mut self, share: u64) -> Search<'a> {
        self.anchors = self.parts.clone();
        self.share = share;
        self
    }

    /// Saving required to move a node.
    fn keeps(&self, node: u32) -> u64 {
        match self.anchors.get(node as usize) {
            Some(anchor) if *anchor == self.parts[node as usize] => {
                (self.demands[node as usize].computing * self.share * (UNIT / 256)).max(LEAST)
            }
            _ => 0,
        }
    }

    fn put(&mut self, node: u32, part: u32) {
        self.parts[node as usize] = part;
        self.loads[part as usize] += self.demands[node as usize];
        for edge in self.graph.edges_of(node) {
            let (range, length) = (self.graph.range(*edge), &mut self.lengths[*edge as usize]);
            let spans = &mut self.spans[range];
            match spans[..*length as usize].iter().position(|(other, _)| *other == part) {
                Some(place) => spans[place].1 += 1,
                None => {
                    spans[*length as usize] = (part, 1);
                    *length += 1;
                }
            }
        }
    }

    fn take(&mut self, node: u32) {
        let part = std::mem::replace(&mut self.parts[node as usize], NOWHERE);
        let load = &mut self.loads[part as usize];
        *load = *load - self.demands[node as usize];
        for edge in self.graph.edges_of(node) {
            let (range, length) = (self.graph.range(*edge), &mut self.lengths[*edge as usize]);
            let spans = &mut self.spans[range][..*length as usize];
            let Some(place) = spans.iter().position(|(other, _)| *other == part) else { continue };
            spans[place].1 -= 1;
            if spans[place].1 == 0 {
                spans.swap(place, *length as usize - 1);
                *length -= 1;
            }
        }
    }

    fn fits(&self, node: u32, part: u32) -> bool {
        let capacity = self.capacities[part as usize].scaled(self.slack);
        (self.loads[part as usize] + self.demands[node as usize]).fits(&capacity)
    }

    /// Moves nodes out of overfull parts at the least cost.
    pub fn rebalance(&mut self, sharpness: u32, seed: u64) {
        self.slack = WHOLE;
        let over = |search: &Self, part: u32| !search.loads[part as usize].fits(&search.capacities[part as usize]);
        let full: Vec<bool> = (0..self.capacities.len() as u32).map(|part| over(self, part)).collect();
        let mut order = Vec::new();
        for node in 0..self.parts.len() as u32 {
            if full[self.parts[node as usize] as usize] {
                let here = self.score(node, sharpness);
                let there = self.best(node).map_or(0, |(score, _)| score);
                let weight = self.demands[node as usize].computing.max(1);
                order.push((here.saturating_sub(there) / weight, mix(seed ^ u64::from(node)), node));
            }
        }
        order.sort_unstable();
        for (_, _, node) in order {
            if over(self, self.parts[node as usize]) {
                self.score(node, sharpness);
                let to = match self.best(node) {
                    Some((_, part)) => part,
                    None => self.emptiest(node),
                };
                self.take(node);
                self.put(node, to);
            }
        }
    }

    /// Scores each part for a node; returns its own part's score.
    fn score(&mut self, node: u32, sharpness: u32) -> u64 {
        let own = self.parts[node as usize];
        let mut here = 0;
        for edge in self.graph.edges_of(node) {
            let weight = self.graph.weight(*edge);
            let range = self.graph.range(*edge);
            for (part, count) in &self.spans[range][..self.lengths[*edge as usize] as usize] {
                if *part == own {
                    here += weight * (UNIT - adds(*count - 1, sharpness));
                } else {
                    let score = &mut self.scores[*part as usize];
                    if *score == 0 {
                        self.touched.push(*part);
                    }
                    *score += weight * (UNIT - adds(*count, sharpness));
                }
            }
        }
        here
    }

    /// The best other part with free capacity, and its score.
    fn best(&mut self, node: u32) -> Option<(u64, u32)> {
        let mut best: Option<(u64, u32)> = None;
        let touched = std::mem::take(&mut self.touched);
        for part in &touched {
            let score = std::mem::take(&mut self.scores[*part as usize]);
            let better = best.is_none_or(|(most, other)| score > most || score == most && *part < other);
            if better && self.fits(node, *part) {
                best = Some((score, *part));
            }
        }
        self.touched = touched;
        self.touched.clear();
        best
    }

    /// Assigns all unassigned nodes to the best parts, the heaviest first.
    pub fn fill(&mut self, seed: u64) {
        let mut order: Vec<u32> =
            (0..self.parts.len() as u32).filter(|node| self.parts[*node as usize] == NOWHERE).collect();
        let weight = |node: u32| self.demands[node as usize].computing;
        order.sort_unstable_by_key(|node| (!weight(*node), mix(seed ^ u64::from(*node))));
        for node in order {
            self.score(node, 1);
            let part = match self.best(node) {
                Some((_, part)) => part,
                None => self.emptiest(node),
            };
            self.put(node, part);
        }
    }

    /// Fills one part after another up to 256ths of its capacity, from its heaviest node on with the most related ones.
    pub fn grow(&mut self, full: u64, seed: u64) {
        let weight = |node: u32| self.demands[node as usize].computing.max(1);
        let mut order: Vec<u32> =
            (0..self.parts.len() as u32).filter(|node| self.parts[*node as usize] == NOWHERE).collect();
        order.sort_unstable_by_key(|node| (mix(seed ^ u64::from(*node)) % 4, !weight(*node), *node));
        let mut order = order.into_iter().peekable();
        let mut scores = vec![0u64; self.parts.len()];
        for part in 0..self.capacities.len() as u32 {
            let most = self.capacities[part as usize].scaled(full);
            let (mut heap, mut scored) = (BinaryHeap::new(), Vec::new());
            loop {
                while order.next_if(|node| self.parts[*node as usize] != NOWHERE).is_some() {}
                let next = std::iter::from_fn(|| heap.pop()).find(|(rating, node)| {
                    let node = *node as usize;
                    self.parts[node] == NOWHERE
                        && *rating == (scores[node] << 16) / weight(node as u32)
                        && (self.loads[part as usize] + self.demands[node]).fits(&most)
                });
                let first = order.peek().copied().filter(|_| self.loads[part as usize] == Resources::default());
                let Some(node) = next.map(|(_, node)| node).or(first) else { break };
                if !self.fits(node, part) {
                    break;
                }
                self.put(node, part);
                for edge in self.graph.edges_of(node) {
                    let spans = &self.spans[self.graph.range(*edge)][..self.lengths[*edge as usize] as usize];
                    if spans.iter().all(|(other, count)| *other != part || *count > 1) {
                        continue;
                    }
                    for other in self.graph.edge(*edge).iter().filter(|other| self.parts[**other as usize] == NOWHERE) {
                        let score = &mut scores[*other as usize];
                        if *score == 0 {
                            scored.push(*other);
                        }
                        *score += self.graph.weight(*edge);
                    }
                    for other in self.graph.edge(*edge).iter().filter(|other| self.parts[**other as usize] == NOWHERE) {
                        heap.push(((scores[*other as usize] << 16) / weight(*other), *other));
                    }
                }
            }
            scored.into_iter().for_each(|node| scores[node as usize] = 0);
        }
    }

    /// The least full part.
    fn emptiest(&self, node: u32) -> u32 {
        let rank = |part: u32| {
            let (load, capacity) = (self.loads[part as usize], self.capacities[part as usize]);
            let share = |load: u64, capacity: u64| (u128::from(load) << 32) / u128::from(capacity.max(1));
            let shares = [
                share(load.storage, capacity.storage),
                share(load.computing, capacity.computing),
                share(load.bandwidth, capacity.bandwidth),
            ];
            (!self.fits(node, part), shares.into_iter().max(), part)
        };
        (0..self.capacities.len() as u32).min_by_key(|part| rank(*part)).unwrap_or(0)
    }

    /// Marks nodes that may now be better off elsewhere.
    fn stir(&mut self, node: u32) {
        for edge in self.graph.edges_of(node) {
            self.graph.edge(*edge).iter().for_each(|other| self.stirred[*other as usize] = true);
        }
    }

    /// Examines all marked nodes once; returns how many moved.
    pub fn pass(&mut self, sharpness: u32, seed: u64) -> usize {
        let mut order: Vec<(u64, u32)> = (0..self.parts.len() as u32)
            .filter(|node| self.stirred[*node as usize])
            .map(|node| (mix(seed ^ u64::from(node)), node))
            .collect();
        order.sort_unstable();
        let mut changed = 0;
        for (_, node) in order {
            self.stirred[node as usize] = false;
            let here = self.score(node, sharpness);
            let own = self.parts[node as usize];
            let over = !self.loads[own as usize].fits(&self.capacities[own as usize]);
            let Some((score, part)) = self.best(node) else { continue };
            if over || score > here + self.keeps(node) {
                self.take(node);
                self.put(node, part);
                self.stir(node);
                changed += 1;
            }
        }
        changed
    }

    /// Passes until few nodes move, up to a maximum number.
    pub fn settle(&mut self, sharpness: u32, passes: u64, seed: u64) {
        self.stirred.fill(true);
        for pass in 0..passes {
            if self.pass(sharpness, mix(seed ^ pass)) * 256 < self.parts.len() {
                break;
            }
        }
    }

    /// Repeats with a decreasing temporary limit, and keeps the best result.
    pub fn relax(&mut self, rounds: u64, passes: u64, seed: u64) {
        let mut best = (self.fan_out(), self.parts.clone());
        for round in 0..rounds {
            self.slack = WHOLE + WHOLE * (rounds - round) / (4 * rounds);
            self.settle(SHARPEST, passes, mix(seed + 2 * round));
            self.rebalance(SHARPEST, seed);
            self.settle(SHARPEST, passes, mix(seed + 2 * round + 1));
            if self.fan_out() < best.0 {
                best = (self.fan_out(), self.parts.clone());
            }
        }
        *self = Search::new(self.graph, self.demands, self.capacities, best.1);
    }

    /// Sum of the number of parts per edge.
    pub fn fan_out(&self) -> u64 {
        (0..self.graph.edges() as u32)
            .map(|edge| self.graph.weight(edge) * u64::from(self.lengths[edge as usize]))
            .sum()
    }
}
