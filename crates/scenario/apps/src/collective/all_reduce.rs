//! All-reduces: every host has a vector, and all get the sum of all vectors.

use fanin_spec::{Algorithm, Workload};

use super::schedule::{Schedule, Transfer};

/// The transfers of an all-reduce of a vector over hosts.
pub(super) fn schedule(workload: &Workload, hosts: u32, vector: u64) -> Schedule {
    match workload.algorithm {
        Algorithm::Ring => ring(hosts, vector),
        Algorithm::Tree => trees(hosts, vector, workload.chunk.0),
        Algorithm::HalvingDoubling => halving_doubling(hosts, vector),
    }
}

/// The size of a part, of parts whose sizes differ by at most a byte.
pub(super) fn part(bytes: u64, parts: u32, number: u32) -> u64 {
    let parts = u64::from(parts);
    bytes / parts + u64::from(u64::from(number) < bytes % parts)
}

/// A ring after Patarasuk and Yuan ("Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009, section 4):
/// each of n hosts splits its vector into n parts. In n - 1 steps each host passes a part to the next host, which adds its own; in
/// n - 1 more steps the sums go around. A host passes a part on once it has received it.
fn ring(hosts: u32, vector: u64) -> Schedule {
    around(hosts, 2 * (hosts - 1), |number| part(vector, hosts, number))
}

/// The first half of a ring: each host ends with the sum of a part.
pub(super) fn reduce_scatter(hosts: u32, vector: u64) -> Schedule {
    around(hosts, hosts - 1, |number| part(vector, hosts, number))
}

/// The second half of a ring: each host gives a vector, and ends with all of them.
pub(super) fn all_gather(hosts: u32, vector: u64) -> Schedule {
    around(hosts, hosts - 1, |_| vector)
}

/// Steps around a ring of parts with these numbers and sizes.
fn around(hosts: u32, steps: u32, size: impl Fn(u32) -> u64) -> Schedule {
    let mut schedule = Schedule::default();
    for step in 0..steps {
        for host in 0..hosts {
            // Parts go around: each step sends that of the host one further back.
            let bytes = size((host + 2 * hosts - step) % hosts);
            let received = step.checked_sub(1).map(|before| before * hosts + (host + hosts - 1) % hosts);
            schedule.add(Transfer { from: host, to: (host + 1) % hosts, bytes }, received);
        }
    }
    schedule.finish()
}

/// A host's parent in a binary tree over the hosts by number, in which every second host is a leaf; `None` for the root, host 0.
/// A host's lowest bit that is set is its height; its parent is the neighbour by that distance with the next higher one.
fn parent(host: u32, hosts: u32) -> Option<u32> {
    let height = 1_u32.checked_shl(host.trailing_zeros())?;
    let higher = (host - height) | height << 1;
    Some(if higher < hosts { higher } else { host - height })
}

/// Two binary trees after Sanders, Speck and Traeff ("Two-tree algorithms for full bandwidth broadcast, reduction and scan",
/// Parallel Computing 35, 2009): each carries half of the vector in chunks, sums going up and the results down. A host that is inside
/// one tree is a leaf of the other, or nearly so, so that no host carries more than its share of both.
fn trees(hosts: u32, vector: u64, chunk: u64) -> Schedule {
    let mut schedule = Schedule::default();
    for tree in 0..2 {
        // The second tree's hosts are mirrored, or with an odd number of hosts are the next ones.
        let host = |place: u32| match (tree, hosts % 2) {
            (0, _) => place,
            (_, 0) => hosts - 1 - place,
            _ => (place + 1) % hosts,
        };
        let parents: Vec<Option<u32>> = (0..hosts).map(|place| parent(place, hosts)).collect();
        let mut order: Vec<u32> = (1..hosts).collect();
        order.sort_by_key(|&place| depth(place, &parents));
        let mut children = vec![Vec::new(); hosts as usize];
        for &place in &order {
            children[parents[place as usize].unwrap_or(0) as usize].push(place);
        }
        let half = part(vector, 2, tree);
        let chunks = half.div_ceil(chunk).max(1) as u32;
        for number in 0..chunks {
            let bytes = part(half, chunks, number);
            let mut up = vec![0; hosts as usize];
            for &place in order.iter().rev() {
                let to = parents[place as usize].unwrap_or(0);
                let sums: Vec<u32> = children[place as usize].iter().map(|&child| up[child as usize]).collect();
                up[place as usize] = schedule.add(Transfer { from: host(place), to: host(to), bytes }, sums);
            }
            let mut down = vec![None; hosts as usize];
            for &place in &order {
                let from = parents[place as usize].unwrap_or(0);
                let result: Vec<u32> = match down[from as usize] {
                    Some(received) => vec![received],
                    None => children[from as usize].iter().map(|&child| up[child as usize]).collect(),
                };
                down[place as usize] =
                    Some(schedule.add(Transfer { from: host(from), to: host(place), bytes }, result));
            }
        }
    }
    schedule.finish()
}

/// Links between a place and its tree's root.
fn depth(place: u32, parents: &[Option<u32>]) -> u32 {
    std::iter::successors(parents[place as usize], |&above| parents[above as usize]).count() as u32
}

/// Recursive halving and doubling after Rabenseifner (Thakur, Rabenseifner and Gropp, IJHPCA 19, 2005, section 4.5): pairs of hosts exchange
/// halves of their vectors, then halves of these, until each host has the sum of a part; the same pairs in reverse order exchange the
/// sums. Hosts beyond a power of two give their vectors to partners first, and get the result at the end.
fn halving_doubling(hosts: u32, vector: u64) -> Schedule {
    let mut schedule = Schedule::default();
    let power = 1 << hosts.ilog2();
    let beyond = hosts - power;
    // Pairs 0 and 1, 2 and 3, ...: the even host of each gives its vector to the odd one.
    let host = |place: u32| if place < beyond { 2 * place + 1 } else { place + beyond };
    // Transfers that each host has received.
    let mut received: Vec<Vec<u32>> = vec![Vec::new(); power as usize];
    for place in 0..beyond {
        let give = Transfer { from: 2 * place, to: 2 * place + 1, bytes: vector };
        received[place as usize].push(schedule.add(give, []));
    }
    let parts = |from: u32, count: u32| (from..from + count).map(|number| part(vector, power, number)).sum::<u64>();
    let mut exchange = |distance: u32, sums: bool| {
        let mut sent = Vec::new();
        for place in 0..power {
            let partner = place ^ distance;
            // The partner's half while they sum, the own half afterwards.
            let half = if sums { partner } else { place } & !(distance - 1);
            let after = received[place as usize].iter().copied();
            let exchanged = Transfer { from: host(place), to: host(partner), bytes: parts(half, distance) };
            sent.push(schedule.add(exchanged, after));
        }
        (0..power).for_each(|place| received[place as usize].push(sent[(place ^ distance) as usize]));
    };
    let distances: Vec<u32> = (0..power.ilog2()).map(|bit| 1 << bit).collect();
    distances.iter().rev().for_each(|&distance| exchange(distance, true));
    distances.iter().for_each(|&distance| exchange(distance, false));
    for place in 0..beyond {
        let after = received[place as usize].iter().copied();
        schedule.add(Transfer { from: 2 * place + 1, to: 2 * place, bytes: vector }, after);
    }
    schedule.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALGORITHMS: [fn(u32, u64) -> Schedule; 3] = [ring, |hosts, vector| trees(hosts, vector, 7), halving_doubling];

    /// Bytes that each host sends.
    fn sent(schedule: &Schedule, hosts: u32) -> Vec<u64> {
        let of = |host| schedule.transfers.iter().filter(move |t| t.from == host).map(|t| t.bytes).sum();
        (0..hosts).map(of).collect()
    }

    #[test]
    fn hosts_send_what_the_algorithms_say() {
        // Twice all parts but one.
        assert_eq!(sent(&ring(4, 800), 4), [1_200; 4]);
        // 400 + 200 + 100, twice.
        assert_eq!(sent(&halving_doubling(8, 800), 8), [1_400; 8]);
        // Host 0 gives its vector to host 1 and gets the result: 800 each; the other four exchange 400 + 200, twice.
        assert_eq!(sent(&halving_doubling(5, 800), 5), [800, 2_000, 1_200, 1_200, 1_200]);
        // Trees of halves: 3 links up and down each; hosts 0 and 3 are the roots, which have one child.
        assert_eq!(sent(&trees(4, 800, 100), 4).iter().sum::<u64>(), 2 * 2 * 3 * 400);
    }

    #[test]
    fn halves_of_a_ring_send_their_part_of_it() {
        assert_eq!(sent(&reduce_scatter(4, 800), 4), [600; 4]);
        // Each host passes three vectors on.
        assert_eq!(sent(&all_gather(4, 800), 4), [2_400; 4]);
        assert!([reduce_scatter(1, 800), all_gather(1, 800)].iter().all(|schedule| schedule.transfers.is_empty()));
    }

    #[test]
    fn trees_are_binary_and_shallow() {
        for hosts in 2..200 {
            let parents: Vec<Option<u32>> = (0..hosts).map(|host| parent(host, hosts)).collect();
            assert_eq!(parents.iter().filter(|parent| parent.is_none()).count(), 1, "{hosts}");
            let children = |host| parents.iter().filter(|&&parent| parent == Some(host)).count();
            assert!((0..hosts).all(|host| children(host) <= 2), "{hosts}");
            let deepest = (0..hosts).map(|host| depth(host, &parents)).max().unwrap_or(0);
            assert!(deepest <= hosts.ilog2() + 1, "{hosts}: {deepest}");
        }
        // Worked out by hand: 4 is above 2 and 6, those are above 1, 3, 5 and 7.
        assert_eq!(
            (0..8).map(|host| parent(host, 8)).collect::<Vec<_>>(),
            [None, Some(2), Some(4), Some(2), Some(0), Some(6), Some(4), Some(6)]
        );
    }

    /// The sum of a host is whole once it has heard of all vectors.
    #[test]
    fn every_host_gets_every_vector() {
        for algorithm in ALGORITHMS {
            for hosts in 2..35 {
                let schedule = algorithm(hosts, 1_000);
                let mut heard: Vec<BTreeSet<u32>> = (0..hosts).map(|host| BTreeSet::from([host])).collect();
                for &Transfer { from, to, .. } in &in_order(&schedule) {
                    let more = heard[from as usize].clone();
                    heard[to as usize].extend(more);
                }
                assert!(heard.iter().all(|of| of.len() == hosts as usize), "{hosts}: {heard:?}");
            }
        }
    }

    /// All transfers, each after those that it waits for.
    fn in_order(schedule: &Schedule) -> Vec<Transfer> {
        let (mut left, mut order) = (schedule.waits(), Vec::new());
        let mut ready: Vec<u32> = (0..left.len() as u32).filter(|&number| left[number as usize] == 0).collect();
        while let Some(number) = ready.pop() {
            order.push(schedule.transfers[number as usize]);
            for later in schedule.followers(number) {
                left[later as usize] -= 1;
                ready.extend((left[later as usize] == 0).then_some(later));
            }
        }
        assert_eq!(order.len(), schedule.transfers.len(), "some wait for ever");
        order
    }
}
