//! Prediction of incast before a pool, and its multigets as observed.
//!
//! A front end does not simulate. Its caller gives it a [`Predictor`], which a thread of low priority asks at the start, after a reload, and
//! when multigets have changed much. The prediction limits the servers that a multiget requests from at once.

mod report;
mod state;
mod thread;

use std::sync::atomic::AtomicBool;

use fanin_units::Time;
use serde::{Deserialize, Serialize};

use crate::settings::Pool;
pub use report::IncastReport;
pub use state::{EndedMultiget, IncastState};
pub use thread::IncastThread;

/// Mean multiget of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Keys.
    pub keys: u32,
    /// Servers.
    pub servers: u32,
    /// Bytes of a value in a response, its line included.
    pub value: u32,
}

/// Prediction for a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Smallest number of servers whose responses collapse if all are requested at once; none up to the pool's servers.
    pub collapse: Option<u32>,
    /// Most servers to request from at once, if more are in danger and the pool's algorithm has a limit.
    pub limit: Option<u32>,
    /// Mean time of a multiget without a limit.
    pub unlimited: Time,
    /// Mean time with the pool's algorithm and this limit.
    pub expected: Time,
    /// Whether multigets sustain their goodput then.
    pub sustains: bool,
}

/// A prediction, and the workload for which it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The workload.
    pub workload: Workload,
    /// Whether it was observed, not assumed.
    pub observed: bool,
    /// The prediction.
    pub prediction: Prediction,
}

/// Predicts incast before a pool.
pub trait Predictor: Send {
    /// The prediction for a workload; ends early when `stop` is set.
    ///
    /// # Errors
    /// Why there is none.
    fn predict(&self, pool: &Pool, workload: &Workload, stop: &AtomicBool) -> Result<Prediction, String>;
}

impl Workload {
    /// Bytes of the line and the end of a value: `VALUE key:1234 0 560`, and newlines.
    const LINE: u32 = 25;

    /// The workload that a pool's settings assume; none without them.
    pub fn assumed(pool: &Pool) -> Option<Workload> {
        let incast = pool.incast?;
        let servers = widths(pool.servers.len() as f64, f64::from(incast.keys)).round().max(1.0) as u32;
        Some(Workload { keys: incast.keys, servers, value: incast.value.0 as u32 + Workload::LINE })
    }

    /// Whether one of its figures differs by more than a half.
    fn differs(&self, other: &Workload) -> bool {
        let pairs = [(self.keys, other.keys), (self.servers, other.servers), (self.value, other.value)];
        pairs.iter().any(|(a, b)| 2 * u64::from(*a.max(b)) > 3 * u64::from(*a.min(b)))
    }
}

/// Mean number of servers that have some of this many keys, if each key is on any of `servers`.
pub fn widths(servers: f64, keys: f64) -> f64 {
    servers * (1.0 - libm::pow(1.0 - 1.0 / servers, keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn workload_is_assumed_from_settings_and_differs_by_a_half() {
        let text = "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n\
                    incast = { buffer = \"64 KiB\", rto_min = \"200 ms\", keys = 2, value = \"75 B\" }\n";
        let mut pool = Settings::of_file("f.toml", text).unwrap().pools.remove(0);
        let workload = Workload::assumed(&pool).unwrap();
        // 1.5 servers on average.
        assert_eq!(workload, Workload { keys: 2, servers: 2, value: 100 });
        assert!(!workload.differs(&Workload { value: 150, ..workload }));
        assert!(workload.differs(&Workload { value: 151, ..workload }));
        assert!(workload.differs(&Workload { value: 66, ..workload }));
        pool.incast = None;
        assert_eq!(Workload::assumed(&pool), None);
    }
}
