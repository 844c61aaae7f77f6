//! Clusters by minimum cuts: by hand, against all cuts, against a complete minimum cut tree, and within their bounds.

use crate::generate::Draws;
use fanin_placement::Object;
use fanin_placement::closeness::Edge;
use fanin_placement::cut_clusters::cut_clusters;

fn edges(list: &[(u32, u32, u32)]) -> Vec<Edge> {
    list.iter()
        .map(|(one, other, closeness)| Edge { ends: [Object(*one), Object(*other)], closeness: *closeness })
        .collect()
}

/// A random graph: groups of about four nodes, with more edges inside than between them.
fn random(draws: &mut Draws, nodes: u32, most: u32) -> Vec<Edge> {
    let mut list = Vec::new();
    for one in 0..nodes {
        for other in 0..one {
            let alike = one / 4 == other / 4;
            if draws.below(if alike { 4 } else { 9 }) < if alike { 3 } else { 2 } {
                list.push((one, other, 1 + draws.below(if alike { most } else { most.div_ceil(6) })));
            }
        }
    }
    edges(&list)
}

/// Weights between nodes, and between each node and the sink, which is last.
fn matrix(nodes: usize, edges: &[Edge], w: u64) -> Vec<Vec<u64>> {
    let mut weights = vec![vec![0; nodes + 1]; nodes + 1];
    for edge in edges {
        let [one, other] = edge.ends.map(|end| end.0 as usize);
        weights[one][other] += u64::from(edge.closeness);
        weights[other][one] += u64::from(edge.closeness);
    }
    weights[nodes].fill(w);
    weights.iter_mut().for_each(|row| row[nodes] = w);
    weights[nodes][nodes] = 0;
    weights
}

/// Weight from nodes whose bit is set to the others.
fn cut(weights: &[Vec<u64>], side: u32) -> u64 {
    let is_in = |node: usize| side >> node & 1 == 1;
    let from =
        |node: usize| (0..weights.len()).filter(|other| !is_in(*other)).map(|other| weights[node][other]).sum::<u64>();
    (0..weights.len()).filter(|node| is_in(*node)).map(from).sum()
}

/// The largest communities, each found by enumerating all cuts.
fn by_all_cuts(nodes: usize, weights: &[Vec<u64>]) -> Vec<u32> {
    let cuts: Vec<u64> = (0..1u32 << nodes).map(|side| cut(weights, side)).collect();
    let community = |node: usize| {
        let sides = (0..1u32 << nodes).filter(|side| side >> node & 1 == 1);
        sides.min_by_key(|side| (cuts[*side as usize], side.count_ones())).expect("a node has a side")
    };
    let communities: Vec<u32> = (0..nodes).map(community).collect();
    let mut largest: Vec<u32> = communities.clone();
    largest.retain(|one| communities.iter().all(|other| one & other != *one || one == other) && one.count_ones() > 1);
    largest.sort_unstable();
    largest.dedup();
    largest
}

/// A node's side of a minimum cut to another, and its weight, by augmenting paths.
fn minimum_cut(weights: &[Vec<u64>], from: usize, to: usize) -> (u64, Vec<bool>) {
    let mut left = weights.to_vec();
    let mut flow = 0;
    loop {
        let mut before = vec![None; left.len()];
        before[from] = Some(from);
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for other in 0..left.len() {
                if left[node][other] > 0 && before[other].is_none() {
                    before[other] = Some(node);
                    queue.push_back(other);
                }
            }
        }
        if before[to].is_none() {
            return (flow, before.iter().map(Option::is_some).collect());
        }
        let mut way = vec![to];
        while *way.last().expect("a way has an end") != from {
            way.push(before[way[way.len() - 1]].expect("it was reached"));
        }
        let sent = way.windows(2).map(|ends| left[ends[1]][ends[0]]).min().expect("a way has a step");
        for ends in way.windows(2) {
            left[ends[1]][ends[0]] -= sent;
            left[ends[0]][ends[1]] += sent;
        }
        flow += sent;
    }
}

/// Clusters of Gusfield's minimum cut tree (1990) after removal of the sink.
fn by_a_cut_tree(weights: &[Vec<u64>]) -> Vec<u32> {
    let sink = weights.len() - 1;
    let mut parents = vec![sink; weights.len()];
    for node in 0..sink {
        let target = parents[node];
        let (_, side) = minimum_cut(weights, node, target);
        for other in 0..weights.len() {
            if other != node && side[other] && parents[other] == target {
                parents[other] = node;
            }
        }
        if target != sink && side[parents[target]] {
            parents[node] = parents[target];
            parents[target] = node;
        }
    }
    let top = |mut node: usize| {
        while parents[node] != sink {
            node = parents[node];
        }
        node
    };
    let mut clusters = vec![0u32; sink];
    (0..sink).for_each(|node| clusters[top(node)] |= 1 << node);
    clusters.retain(|cluster| cluster.count_ones() > 1);
    clusters.sort_unstable();
    clusters
}

fn bits(clusters: &[Vec<u32>]) -> Vec<u32> {
    let mut sets: Vec<u32> = clusters.iter().map(|cluster| cluster.iter().map(|node| 1 << node).sum()).collect();
    sets.sort_unstable();
    sets
}

#[test]
fn two_triangles_are_two_clusters_for_some_w() {
    // Each triangle's edges weigh 6, the bridge 2.
    let edges = edges(&[(0, 1, 6), (0, 2, 6), (1, 2, 6), (3, 4, 6), (3, 5, 6), (4, 5, 6), (2, 3, 2)]);
    let both = [vec![0, 1, 2], vec![3, 4, 5]];
    // A triangle alone cuts 3w + 2, both together 6w: separate from w = 2/3 on. A node alone cuts w + 12 (14 at the bridge), so a
    // triangle is a cluster if 3w + 2 < w + 12, below 5; at the bridge's end w + 14, below 6, but not as a node alone.
    assert_eq!(cut_clusters(6, &edges, 1), both);
    assert_eq!(cut_clusters(6, &edges, 4), both);
    // From 5 on node 1 is alone: 5 + 12 = 3 · 5 + 2, and the smaller side counts. 2's community, from 17 to 19: the triangle.
    assert_eq!(cut_clusters(6, &edges, 5), both);
    assert_eq!(cut_clusters(6, &edges, 6), [] as [Vec<u32>; 0]);
    assert_eq!(cut_clusters(6, &edges, 0), [[0, 1, 2, 3, 4, 5]]);
}

#[test]
fn weakly_linked_nodes_are_alone() {
    // 3 is linked to the triangle by 5, 4 to 3 by 2: for w = 5 both are alone, 4 by its edges, 3 without 4.
    let edges = edges(&[(0, 1, 9), (0, 2, 9), (1, 2, 9), (2, 3, 5), (3, 4, 2)]);
    assert_eq!(cut_clusters(6, &edges, 5), [[0, 1, 2]]);
    // For w = 3: with 3, 4w + 2 = 14; without, 3w + 5 = 14, equal: the smaller. 3 itself: w + 7 = 10.
    assert_eq!(cut_clusters(6, &edges, 3), [[0, 1, 2]]);
    // For w = 2, 4 is alone, and 3 is not: 4w + 2 = 10 is less than 3w + 5 = 11.
    assert_eq!(cut_clusters(6, &edges, 2), [[0, 1, 2, 3]]);
}

#[test]
fn no_requests_give_no_clusters() {
    assert_eq!(cut_clusters(0, &[], 3), [] as [Vec<u32>; 0]);
    assert_eq!(cut_clusters(9, &[], 3), [] as [Vec<u32>; 0]);
}

#[test]
fn clusters_are_the_largest_communities_among_all_cuts() {
    let mut several = 0;
    for seed in 0..400 {
        let mut draws = Draws(seed);
        let (nodes, w) = (2 + draws.below(9), u64::from(1 + draws.below(25)));
        let edges = random(&mut draws, nodes, 12);
        let clusters = cut_clusters(nodes as usize, &edges, w);
        assert_eq!(
            bits(&clusters),
            by_all_cuts(nodes as usize, &matrix(nodes as usize, &edges, w)),
            "seed {seed}, w {w}"
        );
        several += usize::from(clusters.len() > 1);
    }
    assert!(several > 20, "but {several} graphs had several clusters");
}

#[test]
fn clusters_equal_those_of_cut_tree() {
    let mut several = 0;
    for seed in 0..200 {
        let mut draws = Draws(seed);
        let nodes = 4 + draws.below(24);
        // Weights so large that no two cuts are equal: the tree is unique.
        let edges = random(&mut draws, nodes, 1 << 28);
        let w = u64::from(draws.below(1 << 29));
        let clusters = cut_clusters(nodes as usize, &edges, w);
        assert_eq!(bits(&clusters), by_a_cut_tree(&matrix(nodes as usize, &edges, w)), "seed {seed}, w {w}");
        several += usize::from(clusters.len() > 1);
    }
    assert!(several > 20, "but {several} graphs had several clusters");
}

#[test]
fn clusters_are_disjoint_and_within_bounds() {
    for seed in 0..60 {
        let mut draws = Draws(seed);
        let (nodes, w) = (40 + draws.below(200), u64::from(1 + draws.below(30)));
        let edges = random(&mut draws, nodes, 20);
        let clusters = cut_clusters(nodes as usize, &edges, w);
        let mut of = vec![u32::MAX; nodes as usize];
        for (number, cluster) in clusters.iter().enumerate() {
            for node in cluster {
                assert_eq!(std::mem::replace(&mut of[*node as usize], number as u32), u32::MAX, "{node} is in two");
            }
        }
        let between = |one: &dyn Fn(u32) -> bool, other: &dyn Fn(u32) -> bool| {
            let weight = |edge: &Edge| {
                let [a, b] = edge.ends.map(|end| end.0);
                if one(a) && other(b) || one(b) && other(a) { u64::from(edge.closeness) } else { 0 }
            };
            edges.iter().map(weight).sum::<u64>()
        };
        for (number, cluster) in clusters.iter().enumerate() {
            let inside = |node: u32| of[node as usize] == number as u32;
            let outside = nodes as u64 - cluster.len() as u64;
            assert!(between(&inside, &|node| !inside(node)) <= w * outside, "seed {seed}: {cluster:?} is not apart");
            for _ in 0..20 {
                // Any part of it: mostly half of its nodes.
                let part: Vec<bool> = (0..nodes).map(|node| inside(node) && draws.below(2) == 0).collect();
                let size = part.iter().filter(|is_in| **is_in).count() as u64;
                let smaller = size.min(cluster.len() as u64 - size);
                let is_in = |node: u32| part[node as usize];
                let apart = between(&is_in, &|node| inside(node) && !is_in(node));
                assert!(apart >= w * smaller, "seed {seed}: {cluster:?} falls into parts");
            }
        }
    }
}
