//! Multilevel partitioning of objects, from coarse to fine.
//! Sources: Karypis, Aggarwal, Kumar and Shekhar, "Multilevel hypergraph partitioning" (DAC 1997); Gottesbüren, Heuer, Sanders and
//!          Schlag, "Scalable shared-memory hypergraph partitioning" (ALENEX 2021), for the rating function.
//! Law:     for a small graph, parts are filled one after another, each from a heavy node on with its most related nodes; then local
//!          search (`fan_out`) moves nodes; the best of several starts is kept. A large graph is first coarsened by merging related nodes,
//!          rated by w / (|e| - 1) over common edges, divided by the other's demand, as long as both demand at most a share of a part.
//!          Local search runs again at every level on the way back. The result is improved by further cycles that merge only nodes of
//!          the same part.
//! Units:   resources as given.
//! Owns:    nothing: the same arguments give the same parts.
//! Departs: edges of more than `WIDE` nodes do not count for merging: they say little about any two nodes. Both papers start with
//!          bisections of the coarsest graph; filling parts one after another is better here, and best on the finest.
//! Checked: tests/placement/groups.rs; `make bench-placement` compares it with mt-KaHyPar and METIS.

use crate::Resources;
use crate::fan_out::{NOWHERE, SHARPEST, Search};
use crate::hypergraph::{Hypergraph, mix};

const WIDE: usize = 256;
/// Size of a small graph, in nodes; with many parts, in nodes per part.
const FEW: usize = 1 << 16;
const FEW_A_PART: usize = 16;
/// Limit of work, in nodes of edges, that determines the number of starts and cycles.
const WORK: usize = 4_000_000;
const WAYS: usize = 12;
const CYCLES: usize = 4;
/// Initial fill of parts, in 1/256, per start.
const FULL: [u64; 3] = [215, 230, 200];
/// Maximum share of a part for merged nodes.
const SHARES: [u64; 2] = [8, 32];
/// Maximum number of passes through all nodes.
const PASSES: u64 = 6;

/// A partitioning problem: nodes, relations, and capacities of parts.
pub(crate) struct Task<'a> {
    pub graph: &'a Hypergraph,
    pub demands: &'a [Resources],
    pub capacities: &'a [Resources],
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Over all queries.
    pub fan_out: u64,
    /// The part of each node.
    pub of: Vec<u32>,
}

impl Task<'_> {
    /// Partitions from scratch.
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

    /// Improves a partition by one cycle.
    pub fn polish(&self, parts: Vec<u32>) -> Vec<u32> {
        let mut search = Search::new(self.graph, self.demands, self.capacities, parts);
        search.settle(SHARPEST, PASSES, 0);
        search.parts
    }

    /// Clusters of related nodes within parts: a number per node.
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

    /// Improves a partition; nodes leave their part only for a saving of this share of their requests, in 1/256.
    pub fn keep(&self, parts: Vec<u32>, share: u64) -> Vec<u32> {
        let mut search = Search::new(self.graph, self.demands, self.capacities, parts).anchor(share);
        search.fill(0);
        search.rebalance(SHARPEST, 0);
        [1, SHARPEST].into_iter().for_each(|sharpness| search.settle(sharpness, PASSES, sharpness.into()));
        search.parts
    }

    /// Number of repetitions that the work limit allows.
    fn times(&self, most: usize) -> usize {
        (WORK / self.graph.pins().max(1)).min(most)
    }

    /// Coarsens to a small graph, within parts if given, and refines back.
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
        let mut of = parts.unwrap_or_else(|| {
            let (graph, demands) = self.at(&levels);
            self.begin(graph, demands)
        });
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

    /// The best of several starts.
    fn begin(&self, graph: &Hypergraph, demands: &[Resources]) -> Vec<u32> {
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

/// Demands of merged nodes.
fn summed(demands: &[Resources], up: &[u32], count: usize) -> Vec<Resources> {
    let mut sums = vec![Resources::default(); count];
    demands.iter().zip(up).for_each(|(demand, node)| sums[*node as usize] += *demand);
    sums
}

/// Parts of merged nodes; all nodes merged together have the same.
fn raised(parts: &[u32], up: &[u32], count: usize) -> Vec<u32> {
    let mut of = vec![NOWHERE; count];
    parts.iter().zip(up).for_each(|(part, node)| of[*node as usize] = *part);
    of
}

/// A share of the capacity that every part has.
fn least(capacities: &[Resources], by: u64) -> Resources {
    Resources::each(|get| capacities.iter().map(get).min().unwrap_or(0) / by)
}

/// Merges nodes; returns the merged node of each, and their number.
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
            // A node with much demand would absorb all others.
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

/// Renumbers from zero in order of appearance.
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
