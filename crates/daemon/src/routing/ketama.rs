//! Ketama: a circle of hashes with many points of each server; a key is at the server of the next point.
//!
//! twemproxy and libmemcached name their points alike, a server's name and a number, the port left out where it is 11211. They differ
//! in how many there are and in what they are hashed with, so that each has its mode: a pool moves over without a miss.
//! Checked: vectors/keys_to_servers.json, which the programs themselves were asked for.

use super::hash::{Hash, md5};
use super::weighted::Weighted;

/// Whose circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Points {
    /// 160 a server by MD5, four from each digest, by weight.
    Twemproxy,
    /// 100 a server by the keys' own hash; where weights differ from one, as twemproxy's.
    Libmemcached,
}

const BY_WEIGHT: u32 = 160;
const PLAIN: u32 = 100;

/// The circle.
#[derive(Clone, Debug)]
pub struct Ketama {
    /// Each point's hash and server, in order, and the first one again at the end.
    points: Vec<(u32, u32)>,
    /// Where to begin for a hash, by its upper bits.
    begin: Vec<u32>,
    shift: u32,
}

impl Ketama {
    /// The circle of some servers; none is one server's.
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

    /// The server of a key with this hash.
    pub fn server(&self, hash: u32) -> usize {
        let begin = self.begin[(hash >> self.shift) as usize] as usize;
        let from = &self.points[begin..];
        // The last point is as high as can be.
        from.iter().find(|(value, _)| *value >= hash).map_or(0, |(_, server)| *server as usize)
    }
}

/// How many digests a server of this weight has, four points each: as they compute it, in floats of 32 bits.
fn digests(weight: u32, total: u64, servers: usize, points: Points) -> u32 {
    let share = weight as f32 / total as f32;
    let product = share * BY_WEIGHT as f32 / 4.0 * servers as f32;
    match points {
        Points::Twemproxy => (f64::from(product) + 0.000_000_000_1) as f32 as u32,
        Points::Libmemcached => (product + 0.000_000_000_1_f32) as u32,
    }
}
