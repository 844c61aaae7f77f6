//! Rendezvous hashing: every server draws a number for a key, and the highest wins (Thaler and Ravishankar, 1998). Adding or removing a
//! server moves only its own keys.

use super::hash::Hash;
use super::weighted::Weighted;

/// Rendezvous hashing over servers.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// Seed and weight of each server.
    servers: Vec<(u64, f64)>,
    even: bool,
}

impl Rendezvous {
    /// Seeds servers by their names; their order does not matter.
    pub fn new(servers: &[Weighted]) -> Rendezvous {
        let seed = |name: &str| {
            mixed(u64::from(Hash::Fnv1_64.of(name.as_bytes())) << 32 | u64::from(Hash::Murmur.of(name.as_bytes())))
        };
        let even = servers.windows(2).all(|two| two[0].weight == two[1].weight);
        let servers = servers.iter().map(|server| (seed(&server.name), f64::from(server.weight))).collect();
        Rendezvous { servers, even }
    }

    /// Server of a key with this hash.
    pub fn server(&self, hash: u32) -> usize {
        let draws = self.servers.iter().map(|(seed, weight)| (mixed(seed ^ u64::from(hash)), weight));
        if self.even {
            let best = draws.enumerate().max_by_key(|(index, (draw, _))| (*draw, std::cmp::Reverse(*index)));
            return best.map_or(0, |(index, _)| index);
        }
        let mut best = (0, f64::NEG_INFINITY);
        for (index, (draw, weight)) in draws.enumerate() {
            let score = score(draw, *weight);
            if score > best.1 {
                best = (index, score);
            }
        }
        best.0
    }

    /// Calls `each` with the servers of a key with this hash, the highest number first, until it returns false.
    pub fn each_server(&self, hash: u32, mut each: impl FnMut(usize) -> bool) {
        let draws = self.servers.iter().map(|(seed, weight)| (mixed(seed ^ u64::from(hash)), *weight));
        let mut ranked: Vec<(usize, u64, f64)> =
            draws.enumerate().map(|(index, (draw, weight))| (index, draw, score(draw, weight))).collect();
        // With even weights, the scores of different draws may be equal.
        ranked.sort_by(|one, other| if self.even { other.1.cmp(&one.1) } else { other.2.total_cmp(&one.2) });
        ranked.iter().map(|(index, ..)| *index).find(|index| !each(*index));
    }
}

/// Score of a server with this draw and weight.
fn score(draw: u64, weight: f64) -> f64 {
    // Strictly between zero and one.
    let uniform = ((draw >> 12) as f64 + 0.5) / (1u64 << 52) as f64;
    -weight / libm::log(uniform)
}

/// Mixes all bits (last step of SplitMix64).
pub(super) fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
