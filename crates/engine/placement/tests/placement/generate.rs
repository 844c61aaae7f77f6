//! Random logs and clusters, for tests and the benchmark.

use fanin_placement::{Cluster, Object, Placement, Resources, Server};

/// Random numbers (splitmix64).
pub struct Draws(pub u64);

impl Draws {
    /// A number below a bound.
    pub fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(end)) >> 64) as u32
    }
}

/// Ranks from zero, each drawn in proportion to 1/(rank + 1)^0.99.
pub struct Zipfian {
    sums: Vec<f64>,
}

impl Zipfian {
    /// Over this many ranks.
    #[expect(clippy::disallowed_methods, reason = "no test depends on a log's last digits")]
    pub fn new(ranks: u32) -> Zipfian {
        let mut sum = 0.0;
        let add = |rank| {
            sum += f64::from(rank).powf(-0.99);
            sum
        };
        Zipfian { sums: (1..=ranks).map(add).collect() }
    }

    /// Draws a rank.
    pub fn draw(&self, draws: &mut Draws) -> u32 {
        let part = f64::from(draws.below(u32::MAX)) / f64::from(u32::MAX);
        self.sums.partition_point(|sum| *sum < part * self.sums[self.sums.len() - 1]) as u32
    }
}

/// Draws distinct objects.
pub fn distinct(count: usize, mut draw: impl FnMut() -> u32) -> Vec<Object> {
    let mut objects = std::collections::BTreeSet::new();
    while objects.len() < count {
        objects.insert(Object(draw()));
    }
    objects.into_iter().collect()
}

/// Racks of servers with equal capacities.
pub fn cluster(racks: u32, a_rack: u32, capacity: Resources) -> Cluster {
    Cluster {
        racks: (0..racks * a_rack).map(|server| server / a_rack).collect(),
        capacities: vec![capacity; (racks * a_rack) as usize],
    }
}

/// Replicas of objects in different random racks.
pub fn scattered(objects: u32, replicas: usize, racks: u32, a_rack: u32, draws: &mut Draws) -> Placement {
    let mut homes = Vec::new();
    for _ in 0..objects {
        let mut theirs: Vec<u32> = Vec::new();
        while theirs.len() < replicas {
            let rack = draws.below(racks);
            if !theirs.contains(&rack) {
                theirs.push(rack);
            }
        }
        homes.extend(theirs.iter().map(|rack| Server(rack * a_rack + draws.below(a_rack))));
    }
    Placement::new(replicas, homes)
}
