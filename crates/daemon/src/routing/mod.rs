//! Which server has a key. Pure: the same names, weights and keys give the same servers, for ever.

mod hash;
mod ketama;
mod rendezvous;
mod weighted;

pub use hash::Hash;
use ketama::Ketama;
pub use ketama::Points;
use rendezvous::Rendezvous;
use sha2::{Digest, Sha256};
pub use weighted::Weighted;

/// Keys by which two routers are compared.
const PROBES: u32 = 4096;

/// How keys are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// On a circle of points.
    Ketama(Points),
    /// By every server's draw.
    Rendezvous,
}

impl Placement {
    /// Each with its word.
    pub const WORDS: [(&'static str, Placement); 3] = [
        ("ketama", Placement::Ketama(Points::Twemproxy)),
        ("ketama-libmemcached", Placement::Ketama(Points::Libmemcached)),
        ("rendezvous", Placement::Rendezvous),
    ];
}

/// The servers of a pool.
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
    /// A pool's.
    pub fn new(placement: Placement, hash: Hash, servers: &[Weighted]) -> Router {
        let placed = match placement {
            _ if servers.len() < 2 => Placed::One,
            Placement::Ketama(points) => Placed::Ketama(Ketama::new(points, hash, servers)),
            Placement::Rendezvous => Placed::Rendezvous(Rendezvous::new(servers)),
        };
        Router { hash, placed }
    }

    /// A digest of where keys go: the same for routers that agree.
    pub fn fingerprint(&self) -> String {
        let mut digest = Sha256::new();
        (0..PROBES).for_each(|probe| digest.update((self.server(probe.to_string().as_bytes()) as u32).to_le_bytes()));
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The number of a key's server.
    pub fn server(&self, key: &[u8]) -> usize {
        match &self.placed {
            Placed::One => 0,
            Placed::Ketama(circle) => circle.server(self.hash.of(key)),
            Placed::Rendezvous(draws) => draws.server(self.hash.of(key)),
        }
    }
}
