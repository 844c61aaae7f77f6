//! Figures of a pool in one thread.

use super::histogram::{Histogram, Times};
use super::sizes::Sizes;

/// Class of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A get of one key.
    Get,
    /// A get of several keys.
    Multiget,
    /// A command that stores a value.
    Store,
    /// A deletion.
    Delete,
    /// Anything else.
    Other,
}

impl Class {
    /// All of them, with their names.
    pub const ALL: [(Class, &'static str); 5] = [
        (Class::Get, "get"),
        (Class::Multiget, "multiget"),
        (Class::Store, "store"),
        (Class::Delete, "delete"),
        (Class::Other, "other"),
    ];

    /// Whether it only reads values.
    pub fn is_get(self) -> bool {
        matches!(self, Class::Get | Class::Multiget)
    }
}

/// Figures of a pool.
#[derive(Debug)]
pub struct PoolFigures {
    /// By class of request, from its arrival to its response.
    latencies: [Histogram; Class::ALL.len()],
    /// Figures of multigets, if metrics are exposed.
    pub multigets: Option<Multigets>,
}

/// Figures of a pool's multigets.
#[derive(Debug)]
pub struct Multigets {
    /// Keys of each.
    pub keys: Sizes,
    /// Servers of each, which are its batches.
    pub servers: Sizes,
    /// Concurrency limit at the end of each, if it has one.
    pub limits: Sizes,
    /// Time that each batch waits until the concurrency limit allows it.
    pub waits: Times,
}

impl PoolFigures {
    /// Empty figures; `exposed`: with those that an exposition reports.
    pub fn new(exposed: bool) -> PoolFigures {
        let multigets = || Multigets {
            keys: Sizes::default(),
            servers: Sizes::default(),
            limits: Sizes::default(),
            waits: Times::coarse(),
        };
        let latencies = Class::ALL.map(|_| Histogram::new(exposed));
        PoolFigures { latencies, multigets: exposed.then(multigets) }
    }

    /// Latencies of a class.
    pub fn latencies(&self, class: Class) -> &Histogram {
        &self.latencies[class as usize]
    }
}
