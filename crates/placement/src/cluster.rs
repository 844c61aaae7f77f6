//! The servers: in which rack each is, and what it can take.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A server, by its place in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server(pub u32);

/// What objects ask of a server in a period, or what it can give: section III-A's four resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Bytes that lie there.
    pub storage: u64,
    /// Requests that its processors can answer.
    pub computing: u64,
    /// Reads.
    pub io: u64,
    /// Bytes that are sent.
    pub bandwidth: u64,
}

impl Resources {
    /// Whether each of them is no more than the other's.
    pub fn fits(&self, capacity: &Resources) -> bool {
        self.storage <= capacity.storage
            && self.computing <= capacity.computing
            && self.io <= capacity.io
            && self.bandwidth <= capacity.bandwidth
    }

    /// More than anybody has.
    pub(crate) const MOST: Resources =
        Resources { storage: u64::MAX, computing: u64::MAX, io: u64::MAX, bandwidth: u64::MAX };

    /// What a function gives for each of them.
    pub(crate) fn each(of: impl Fn(fn(&Resources) -> u64) -> u64) -> Resources {
        let (storage, computing) = (of(|one| one.storage), of(|one| one.computing));
        Resources { storage, computing, io: of(|one| one.io), bandwidth: of(|one| one.bandwidth) }
    }

    /// The lesser of each.
    pub(crate) fn least(self, other: Resources) -> Resources {
        self.join(other, u64::min)
    }

    /// So many times each.
    pub(crate) fn times(self, by: u64) -> Resources {
        self.join(self, |one, _| one.saturating_mul(by))
    }

    /// So many 256ths of each.
    pub(crate) fn scaled(self, by: u64) -> Resources {
        let of = |one: u64, _| ((u128::from(one) * u128::from(by)) >> 8).min(u64::MAX.into()) as u64;
        self.join(self, of)
    }

    fn join(self, other: Resources, by: impl Fn(u64, u64) -> u64) -> Resources {
        Resources {
            storage: by(self.storage, other.storage),
            computing: by(self.computing, other.computing),
            io: by(self.io, other.io),
            bandwidth: by(self.bandwidth, other.bandwidth),
        }
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { storage, computing, io, bandwidth } = self;
        write!(f, "{storage} bytes of storage, {computing} requests, {io} reads and {bandwidth} bytes to send")
    }
}

impl Add for Resources {
    type Output = Resources;

    fn add(self, other: Resources) -> Resources {
        self.join(other, u64::saturating_add)
    }
}

impl AddAssign for Resources {
    fn add_assign(&mut self, other: Resources) {
        *self = *self + other;
    }
}

impl Sub for Resources {
    type Output = Resources;

    fn sub(self, other: Resources) -> Resources {
        self.join(other, u64::saturating_sub)
    }
}

/// Racks of servers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The rack of each server.
    pub racks: Vec<u32>,
    /// What each server can give in a period.
    pub capacities: Vec<Resources>,
}

impl Cluster {
    /// The rack that a server is in.
    pub fn rack(&self, server: Server) -> u32 {
        self.racks[server.0 as usize]
    }

    /// What a server can give.
    pub fn capacity(&self, server: Server) -> &Resources {
        &self.capacities[server.0 as usize]
    }
}
