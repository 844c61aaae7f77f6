//! Placement of keys on servers, and writes counted by groups of keys. Placement is deterministic: the same names, weights and keys always
//! give the same servers.

mod hash;
mod ketama;
mod rendezvous;
mod weighted;
pub mod writes;

pub use hash::Hash;
use ketama::Ketama;
pub use ketama::Points;
use rendezvous::Rendezvous;
use sha2::{Digest, Sha256};
pub use weighted::Weighted;

/// Most replicas of a key.
pub const MOST_REPLICAS: usize = 4;
/// Number of keys by which routers are compared.
const PROBES: u32 = 4096;

/// Placement method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Consistent hashing.
    Ketama(Points),
    /// Rendezvous hashing.
    Rendezvous,
}

impl Placement {
    /// Each with its name.
    pub const WORDS: [(&'static str, Placement); 3] = [
        ("ketama", Placement::Ketama(Points::Twemproxy)),
        ("ketama-libmemcached", Placement::Ketama(Points::Libmemcached)),
        ("rendezvous", Placement::Rendezvous),
    ];
}

/// Router of a pool.
#[derive(Clone, Debug)]
pub struct Router {
    hash: Hash,
    placed: Placed,
}

#[derive(Clone, Debug)]
enum Placed {
    One,
    Ketama(Ketama),
    Rendezvous(Rendezvous),
}

impl Router {
    /// Builds a pool's router.
    pub fn new(placement: Placement, hash: Hash, servers: &[Weighted]) -> Router {
        let placed = match placement {
            _ if servers.len() < 2 => Placed::One,
            Placement::Ketama(points) => Placed::Ketama(Ketama::new(points, hash, servers)),
            Placement::Rendezvous => Placed::Rendezvous(Rendezvous::new(servers)),
        };
        Router { hash, placed }
    }

    /// Digest of the placement, equal for equal routers.
    pub fn fingerprint(&self) -> String {
        let mut digest = Sha256::new();
        (0..PROBES).for_each(|probe| digest.update((self.server(probe.to_string().as_bytes()) as u32).to_le_bytes()));
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Server of a key.
    pub fn server(&self, key: &[u8]) -> usize {
        match &self.placed {
            Placed::One => 0,
            Placed::Ketama(circle) => circle.server(self.hash.of(key)),
            Placed::Rendezvous(draws) => draws.server(self.hash.of(key)),
        }
    }

    /// Calls `each` with a key's server, then with the servers that follow it: the next ones on the ring, or those with the next highest
    /// numbers; each once, until `each` returns false.
    pub fn each_server(&self, key: &[u8], mut each: impl FnMut(usize) -> bool) {
        match &self.placed {
            Placed::One => {
                each(0);
            }
            Placed::Ketama(circle) => circle.each_server(self.hash.of(key), each),
            Placed::Rendezvous(draws) => draws.each_server(self.hash.of(key), each),
        }
    }

    /// The first servers of a key, at most this many.
    pub fn first_servers(&self, key: &[u8], count: usize) -> Vec<usize> {
        let mut servers = Vec::with_capacity(count);
        self.each_server(key, |server| {
            servers.push(server);
            servers.len() < count
        });
        servers
    }

    /// Puts servers of a key in an order that depends on the key and on them alone, so that all front ends agree on the first one, and keys
    /// on the same servers have different ones.
    pub fn rank(&self, key: &[u8], servers: &mut [usize]) {
        let hash = u64::from(self.hash.of(key)) << 32;
        servers.sort_by_key(|server| rendezvous::mixed(hash | *server as u64));
    }
}
