//! Servers: racks and capacities.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A server, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server(pub u32);

/// Resource demand on a server in a period, or its capacity: the four resources of section III-A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Stored bytes.
    pub storage: u64,
    /// Requests processed.
    pub computing: u64,
    /// Reads.
    pub io: u64,
    /// Bytes sent.
    pub bandwidth: u64,
}

impl Resources {
    /// Whether no resource exceeds the capacity.
    pub fn fits(&self, capacity: &Resources) -> bool {
        self.storage <= capacity.storage
            && self.computing <= capacity.computing
            && self.io <= capacity.io
            && self.bandwidth <= capacity.bandwidth
    }

    /// Above any capacity.
    pub(crate) const MOST: Resources =
        Resources { storage: u64::MAX, computing: u64::MAX, io: u64::MAX, bandwidth: u64::MAX };

    /// Computes each resource by a function.
    pub(crate) fn each(of: impl Fn(fn(&Resources) -> u64) -> u64) -> Resources {
        let (storage, computing) = (of(|one| one.storage), of(|one| one.computing));
        Resources { storage, computing, io: of(|one| one.io), bandwidth: of(|one| one.bandwidth) }
    }

    /// Minimum of each resource.
    pub(crate) fn least(self, other: Resources) -> Resources {
        self.join(other, u64::min)
    }

    /// Multiplies each resource.
    pub(crate) fn times(self, by: u64) -> Resources {
        self.join(self, |one, _| one.saturating_mul(by))
    }

    /// Scales each resource by 256ths.
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

/// A cluster of servers in racks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The rack of each server.
    pub racks: Vec<u32>,
    /// Capacity of each server in a period.
    pub capacities: Vec<Resources>,
}

impl Cluster {
    /// Rack of a server.
    pub fn rack(&self, server: Server) -> u32 {
        self.racks[server.0 as usize]
    }

    /// Capacity of a server.
    pub fn capacity(&self, server: Server) -> &Resources {
        &self.capacities[server.0 as usize]
    }
}
