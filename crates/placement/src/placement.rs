//! Which servers have which objects, and what changes that.

use crate::Server;

/// An object, by its place in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object(pub u32);

/// The servers of every object's replicas, as many of each.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let first = of.object.0 as usize * self.replicas;
        let home = self.homes[first..first + self.replicas].iter_mut().find(|home| **home == of.from);
        *home.expect("a replica lies where it is moved from") = of.to;
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
