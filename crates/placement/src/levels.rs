//! Parts of objects that are asked for together, from coarse to fine.
//! Sources: Karypis, Aggarwal, Kumar and Shekhar, "Multilevel hypergraph partitioning" (DAC 1997); Gottesbüren, Heuer, Sanders and
//!          Schlag, "Scalable shared-memory hypergraph partitioning" (ALENEX 2021), for what nodes are rated by.
//! Law:     of few nodes, parts are filled one after another, each from a heavy node on with whom it is asked for with most, and then
//!          every node is free to go elsewhere (`fan_out`); of several ways to begin the best is kept. Of many nodes, those join first
//!          that are asked for together most, as heavy edges have it: w / (|e| - 1) over all edges of both, over what the other is
//!          asked for already, as long as both want no more than a share of a part; and as they are taken apart again,
//!          level by level, each is free to go elsewhere. What comes of it is gone over in the same way, where only nodes of one part
//!          join.
//! Units:   resources as they come.
//! Owns:    nothing: the same arguments give the same parts.
//! Departs: edges of more than `WIDE` nodes do not count where nodes join: they say little of any two. Both papers begin with
//!          bisections of the coarsest graph: filling parts one after another is better here, and best of the finest.
//! Checked: tests/placement/groups.rs; `make bench-placement` holds it against mt-KaHyPar and METIS.

use crate::Resources;
use crate::fan_out::{NOWHERE, SHARPEST, Search};
use crate::hypergraph::{Hypergraph, mix};

const WIDE: usize = 256;
/// So many nodes are few; of parts, where those are many, so many each.
const FEW: usize = 1 << 16;
const FEW_A_PART: usize = 16;
/// Ways to begin, and times that all is gone over, as long as the work is no more than so many nodes of edges.
const WORK: usize = 4_000_000;
const WAYS: usize = 12;
const CYCLES: usize = 4;
/// How full parts are at first, in 1/256, one way after another.
const FULL: [u64; 3] = [215, 230, 200];
/// What share of a part nodes that join may come to.
const SHARES: [u64; 2] = [8, 32];
/// Passes through all nodes, at most.
const PASSES: u64 = 6;

/// Nodes, which of them are asked for together, and what parts can take.
pub(crate) struct Task<'a> {
    pub graph: &'a Hypergraph,
    pub demands: &'a [Resources],
    pub capacities: &'a [Resources],
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Over all queries.
    pub fan_out: u64,
    /// The part of each node.
    pub of: Vec<u32>,
}

impl Task<'_> {
    /// Parts that nothing is known of.
    pub fn part(&self) -> Vec<u32> {
        let mut best = self.descend(None, 0);
        for cycle in 0..self.times(CYCLES) {
            let again = self.descend(Some(&best.of), cycle);
            if again.fan_out < best.fan_out {
                best = again;
            }
        }
        best.of
    }

    /// Parts as they are, gone over once more.
    pub fn polish(&self, parts: Vec<u32>) -> Vec<u32> {
        let mut search = Search::new(self.graph, self.demands, self.capacities, parts);
        search.settle(SHARPEST, PASSES, 0);
        search.parts
    }

    /// Who is asked for with whom within parts: a number for each.
    pub fn clusters(&self, parts: &[u32]) -> Vec<u32> {
        let most = least(self.capacities, SHARES[1]);
        let mut of: Vec<u32> = (0..parts.len() as u32).collect();
        let (mut graph, mut demands, mut parts) = (None::<Hypergraph>, self.demands.to_vec(), parts.to_vec());
        loop {
            let now = graph.as_ref().unwrap_or(self.graph);
            let (up, count) = join(now, &demands, &most, Some(&parts), 0);
            if count == now.nodes() {
                return of;
            }
            of.iter_mut().for_each(|number| *number = up[*number as usize]);
            graph = Some(now.contracted(&up, count));
            (demands, parts) = (summed(&demands, &up, count), raised(&parts, &up, count));
        }
    }

    /// Parts that some nodes have already, which they leave only if that saves this share of their requests, in 1/256.
    pub fn keep(&self, parts: Vec<u32>, share: u64) -> Vec<u32> {
        let mut search = Search::new(self.graph, self.demands, self.capacities, parts).anchor(share);
        search.fill(0);
        search.rebalance(SHARPEST, 0);
        [1, SHARPEST].into_iter().for_each(|sharpness| search.settle(sharpness, PASSES, sharpness.into()));
        search.parts
    }

    /// How often something is done, of so many times, as the work allows.
    fn times(&self, most: usize) -> usize {
        (WORK / self.graph.pins().max(1)).min(most)
    }

    /// Down to few nodes, of one part each where there are parts, and back.
    fn descend(&self, start: Option<&[u32]>, cycle: usize) -> Parts {
        let most = least(self.capacities, SHARES[cycle % SHARES.len()]);
        let few = if start.is_some() { 0 } else { FEW }.max(FEW_A_PART * self.capacities.len());
        let mut levels: Vec<(Vec<u32>, Hypergraph, Vec<Resources>)> = Vec::new();
        let mut parts = start.map(<[u32]>::to_vec);
        loop {
            let (graph, demands) = self.at(&levels);
            if graph.nodes() <= few {
                break;
            }
            let (up, count) = join(graph, demands, &most, parts.as_deref(), mix(cycle as u64));
            if count * 20 > graph.nodes() * 19 {
                break;
            }
            parts = parts.map(|parts| raised(&parts, &up, count));
            let (graph, demands) = (graph.contracted(&up, count), summed(demands, &up, count));
            levels.push((up, graph, demands));
        }
        let mut of = parts.unwrap_or_else(|| self.begin(self.at(&levels)));
        loop {
            let (graph, demands) = self.at(&levels);
            let mut search = Search::new(graph, demands, self.capacities, of);
            search.settle(SHARPEST, PASSES, 0);
            search.relax(self.times(3) as u64, PASSES / 2, 0);
            let fan_out = search.fan_out();
            of = search.parts;
            let Some((up, _, _)) = levels.pop() else { return Parts { fan_out, of } };
            of = up.iter().map(|node| of[*node as usize]).collect();
        }
    }

    fn at<'b>(&'b self, levels: &'b [(Vec<u32>, Hypergraph, Vec<Resources>)]) -> (&'b Hypergraph, &'b [Resources]) {
        levels.last().map_or((self.graph, self.demands), |(_, graph, demands)| (graph, demands))
    }

    /// The best of several ways to begin.
    fn begin(&self, (graph, demands): (&Hypergraph, &[Resources])) -> Vec<u32> {
        let way = |way: usize| {
            let seed = mix(way as u64);
            let mut search = Search::new(graph, demands, self.capacities, vec![NOWHERE; graph.nodes()]);
            search.grow(FULL[way % FULL.len()], seed);
            search.fill(seed);
            [1, 2, SHARPEST].into_iter().for_each(|sharpness| search.settle(sharpness, PASSES, seed));
            (search.fan_out(), search.parts)
        };
        let best = (0..self.times(WAYS).max(1)).map(way).min_by_key(|(fan_out, _)| *fan_out);
        best.map_or_else(Vec::new, |(_, parts)| parts)
    }
}

/// What nodes that have joined want together.
fn summed(demands: &[Resources], up: &[u32], count: usize) -> Vec<Resources> {
    let mut sums = vec![Resources::default(); count];
    demands.iter().zip(up).for_each(|(demand, node)| sums[*node as usize] += *demand);
    sums
}

/// The part of nodes that have joined, who all were of it.
fn raised(parts: &[u32], up: &[u32], count: usize) -> Vec<u32> {
    let mut of = vec![NOWHERE; count];
    parts.iter().zip(up).for_each(|(part, node)| of[*node as usize] = *part);
    of
}

/// A share of what every part can take.
fn least(capacities: &[Resources], by: u64) -> Resources {
    Resources::each(|get| capacities.iter().map(get).min().unwrap_or(0) / by)
}

/// The number of whom each node has joined, and how many there are then.
fn join(
    graph: &Hypergraph,
    demands: &[Resources],
    most: &Resources,
    parts: Option<&[u32]>,
    seed: u64,
) -> (Vec<u32>, usize) {
    let nodes = graph.nodes();
    let mut heads: Vec<u32> = (0..nodes as u32).collect();
    let (mut joined, mut sums) = (vec![false; nodes], demands.to_vec());
    let (mut ratings, mut rated) = (vec![0u64; nodes], Vec::new());
    let mut order: Vec<(u64, u32)> = (0..nodes as u32).map(|node| (mix(seed ^ u64::from(node)), node)).collect();
    order.sort_unstable();
    for (_, node) in order {
        if joined[node as usize] {
            continue;
        }
        for edge in graph.edges_of(node) {
            let pins = graph.edge(*edge);
            let weight = (graph.weight(*edge) << 16) / (pins.len() as u64 - 1);
            for pin in pins.iter().filter(|_| pins.len() <= WIDE) {
                let head = heads[*pin as usize];
                if ratings[head as usize] == 0 {
                    rated.push(head);
                }
                ratings[head as usize] += weight;
            }
        }
        let mut best: Option<(u64, u64, u32)> = None;
        for head in rated.drain(..) {
            let rating = std::mem::take(&mut ratings[head as usize]);
            let apart = parts.is_some_and(|parts| parts[head as usize] != parts[node as usize]);
            // What is asked for much would take everybody.
            let rank = (rating / sums[head as usize].computing.max(1), mix(seed ^ u64::from(head)), head);
            let better = head != node && !apart && best.is_none_or(|best| rank > best);
            if better && (sums[head as usize] + sums[node as usize]).fits(most) {
                best = Some(rank);
            }
        }
        if let Some((_, _, head)) = best {
            let sum = sums[node as usize];
            sums[head as usize] += sum;
            heads[node as usize] = head;
            (joined[node as usize], joined[head as usize]) = (true, true);
        }
    }
    number(heads)
}

/// Numbers from zero, in the order in which they come.
fn number(mut heads: Vec<u32>) -> (Vec<u32>, usize) {
    let (mut numbers, mut count) = (vec![u32::MAX; heads.len()], 0);
    for head in &mut heads {
        let number = &mut numbers[*head as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *head = *number;
    }
    (heads, count as usize)
}
