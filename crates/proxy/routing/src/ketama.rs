//! Ketama consistent hashing: each server has many points on a ring, and a key belongs to the server of the next point.
//!
//! twemproxy and libmemcached name points alike, by a server's name (without port 11211) and a number. They differ in the number of points
//! and in the hash, so each has a mode, and a pool can migrate without misses.
//! Verified against the programs' own output in vectors/keys_to_servers.json.

use super::hash::{Hash, md5};
use super::weighted::Weighted;

/// Variant of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// 160 points per server by MD5, four per digest, scaled by weight.
    Twemproxy,
    /// 100 points per server by the keys' hash; with unequal weights as twemproxy.
    Libmemcached,
}

const BY_WEIGHT: u32 = 160;
const PLAIN: u32 = 100;

/// The ring.
#[derive(Clone, Debug)]
pub struct Ketama {
    /// Hash and server of each point, sorted, with the first repeated at the end.
    points: Vec<(u32, u32)>,
    /// Start of a search, by the upper bits of the hash.
    begin: Vec<u32>,
    shift: u32,
}

impl Ketama {
    /// Builds the ring.
    pub fn new(points: Points, hash: Hash, servers: &[Weighted]) -> Ketama {
        let mut circle: Vec<(u32, u32)> = Vec::new();
        let weighted = points == Points::Twemproxy || servers.iter().any(|server| server.weight > 1);
        let total: u64 = servers.iter().map(|server| u64::from(server.weight)).sum();
        for (index, server) in (0..).zip(servers) {
            if weighted {
                for number in 0..digests(server.weight, total, servers.len(), points) {
                    let words = md5(format!("{}-{number}", server.name).as_bytes());
                    circle.extend(words.map(|word| (word, index)));
                }
            } else {
                let name = |number| format!("{}-{number}", server.name);
                circle.extend((0..PLAIN).map(|number| (hash.of(name(number).as_bytes()), index)));
            }
        }
        circle.sort_unstable();
        let bits = (circle.len() + 1).next_power_of_two().trailing_zeros();
        let shift = 32 - bits;
        let begin = (0..1u64 << bits)
            .map(|upper| circle.partition_point(|(value, _)| u64::from(*value) < upper << shift) as u32);
        let begin = begin.collect();
        let first = circle.first().map_or(0, |(_, server)| *server);
        circle.push((u32::MAX, first));
        Ketama { points: circle, begin, shift }
    }

    /// Server of a key with this hash.
    pub fn server(&self, hash: u32) -> usize {
        self.points.get(self.point(hash)).map_or(0, |(_, server)| *server as usize)
    }

    /// Index of the point of a key with this hash.
    fn point(&self, hash: u32) -> usize {
        let begin = self.begin[(hash >> self.shift) as usize] as usize;
        // The last point has the maximum hash.
        begin + self.points[begin..].iter().position(|(value, _)| *value >= hash).unwrap_or(0)
    }

    /// Calls `each` with the servers on the ring from a key's point on, each once, until it returns false.
    pub fn each_server(&self, hash: u32, mut each: impl FnMut(usize) -> bool) {
        let mut seen: Vec<u32> = Vec::new();
        let from = self.point(hash);
        for (_, server) in self.points[from..].iter().chain(&self.points[..from]) {
            if seen.contains(server) {
                continue;
            }
            seen.push(*server);
            if !each(*server as usize) {
                return;
            }
        }
    }
}

/// Number of digests of a server, four points each; computed in 32-bit floats, as the originals do.
fn digests(weight: u32, total: u64, servers: usize, points: Points) -> u32 {
    let share = weight as f32 / total as f32;
    let product = share * BY_WEIGHT as f32 / 4.0 * servers as f32;
    match points {
        Points::Twemproxy => (f64::from(product) + 0.000_000_000_1) as f32 as u32,
        Points::Libmemcached => (product + 0.000_000_000_1_f32) as u32,
    }
}
