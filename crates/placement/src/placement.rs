//! Which servers have which objects, and what changes that.

use crate::Server;

/// An object, by its place in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object(pub u32);

/// The servers of every object's replicas, as many of each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    replicas: usize,
    homes: Vec<Server>,
}

impl Placement {
    /// Of the servers of all replicas, object by object.
    ///
    /// # Panics
    /// Where they are not as many of each object.
    pub fn new(replicas: usize, homes: Vec<Server>) -> Placement {
        assert!(replicas > 0 && homes.len().is_multiple_of(replicas), "as many replicas of each object");
        Placement { replicas, homes }
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.homes.len() / self.replicas
    }

    /// All objects.
    pub fn all(&self) -> impl Iterator<Item = Object> + use<> {
        (0..self.objects() as u32).map(Object)
    }

    /// How many replicas there are of each object.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// The servers that have an object.
    pub fn homes(&self, object: Object) -> &[Server] {
        let first = object.0 as usize * self.replicas;
        &self.homes[first..first + self.replicas]
    }

    /// A replica is where it was moved.
    ///
    /// # Panics
    /// Where there was none to move.
    pub fn apply(&mut self, of: &Move) {
        let place = self.replica(of);
        self.homes[place] = of.to;
    }

    /// The place among all of the replica that is to be moved.
    pub(crate) fn replica(&self, of: &Move) -> usize {
        let replica = self.homes(of.object).iter().position(|home| *home == of.from);
        of.object.0 as usize * self.replicas + replica.expect("a replica lies where it is moved from")
    }
}

/// Why an object is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is popular: section III-A.
    Popular,
    /// It is asked for together with others: section III-B.
    Correlated,
}

/// A replica of an object goes from one server to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The object.
    pub object: Object,
    /// Where the replica lies.
    pub from: Server,
    /// Where it goes.
    pub to: Server,
    /// Why.
    pub reason: Reason,
}
