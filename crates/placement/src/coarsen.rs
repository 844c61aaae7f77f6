//! Nodes that are asked for together most become one.

use crate::Resources;
use crate::hypergraph::{Hypergraph, mix};

/// Edges of more nodes say little of any two.
const WIDE: usize = 256;

/// Each node's cluster, and how many there are: nodes join whom they are most with, up to a demand.
pub(crate) fn clusters(
    graph: &Hypergraph,
    demands: &[Resources],
    most: &Resources,
    parts: Option<&[u32]>,
    seed: u64,
) -> (Vec<u32>, usize) {
    let nodes = graph.nodes();
    let mut cluster: Vec<u32> = (0..nodes as u32).collect();
    let mut joined = vec![false; nodes];
    let mut sums = demands.to_vec();
    let mut ratings = vec![0u64; nodes];
    let mut touched: Vec<u32> = Vec::new();
    let mut order: Vec<(u64, u32)> = (0..nodes as u32).map(|node| (mix(seed ^ u64::from(node)), node)).collect();
    order.sort_unstable();
    for (_, node) in order {
        if joined[node as usize] {
            continue;
        }
        for edge in graph.edges_of(node) {
            let pins = graph.edge(*edge);
            if pins.len() > WIDE {
                continue;
            }
            let weight = (graph.weight(*edge) << 16) / (pins.len() as u64 - 1);
            for pin in pins {
                let of = cluster[*pin as usize];
                if ratings[of as usize] == 0 {
                    touched.push(of);
                }
                ratings[of as usize] += weight;
            }
        }
        let mut best: Option<(u64, u64, u32)> = None;
        for of in touched.drain(..) {
            let rating = std::mem::take(&mut ratings[of as usize]);
            if of == node || parts.is_some_and(|parts| parts[of as usize] != parts[node as usize]) {
                continue;
            }
            // What is large already would take everybody.
            let rating = rating / sums[of as usize].computing.max(1);
            let rank = (rating, mix(seed ^ u64::from(of)), of);
            if best.is_none_or(|best| rank > best) && (sums[of as usize] + sums[node as usize]).fits(most) {
                best = Some(rank);
            }
        }
        if let Some((_, _, of)) = best {
            cluster[node as usize] = of;
            sums[of as usize] = sums[of as usize] + sums[node as usize];
            joined[node as usize] = true;
            joined[of as usize] = true;
        }
    }
    let mut numbers = vec![u32::MAX; nodes];
    let mut count = 0;
    for of in &mut cluster {
        let number = &mut numbers[*of as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *of = *number;
    }
    (cluster, count as usize)
}
