//! Placement of objects on servers, and moves.

use crate::Server;

/// An object, by index in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object(pub u32);

/// Servers of every object's replicas, the same number for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    replicas: usize,
    homes: Vec<Server>,
}

impl Placement {
    /// A placement from the servers of all replicas, object by object.
    ///
    /// # Panics
    /// The numbers of replicas differ.
    pub fn new(replicas: usize, homes: Vec<Server>) -> Placement {
        assert!(replicas > 0 && homes.len().is_multiple_of(replicas), "the same number of replicas of each object");
        Placement { replicas, homes }
    }

    /// Number of objects.
    pub fn objects(&self) -> usize {
        self.homes.len() / self.replicas
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = Object> + use<> {
        (0..self.objects() as u32).map(Object)
    }

    /// Number of replicas per object.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// Servers of an object.
    pub fn homes(&self, object: Object) -> &[Server] {
        let first = object.0 as usize * self.replicas;
        &self.homes[first..first + self.replicas]
    }

    /// Applies a move.
    ///
    /// # Panics
    /// The replica to move does not exist.
    pub fn apply(&mut self, of: &Move) {
        let place = self.replica(of);
        self.homes[place] = of.to;
    }

    /// Index of the replica to move.
    pub(crate) fn replica(&self, of: &Move) -> usize {
        let replica = self.homes(of.object).iter().position(|home| *home == of.from);
        of.object.0 as usize * self.replicas + replica.expect("the replica to move exists")
    }
}

/// Reason of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Popular: section III-A.
    Popular,
    /// Requested together with others: section III-B.
    Correlated,
}

/// A move of a replica from one server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The object.
    pub object: Object,
    /// Old server.
    pub from: Server,
    /// New server.
    pub to: Server,
    /// Reason.
    pub reason: Reason,
}
