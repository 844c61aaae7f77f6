//! Prediction of incast before a pool, and its multigets as observed.
//!
//! A front end does not simulate. Its caller gives it a [`Predictor`], which a thread of low priority asks at the start, after a reload, and
//! when multigets have changed much. The prediction limits the servers that a multiget requests from at once.

mod state;

use std::sync::atomic::AtomicBool;

use fanin_proxy_config::Pool;
pub use fanin_proxy_core::prediction::{Predicted, Prediction, Workload};
pub use state::{EndedMultiget, IncastState};

/// Predicts incast before a pool.
pub trait Predictor: Send {
    /// The prediction for a workload; ends early when `stop` is set.
    ///
    /// # Errors
    /// Why there is none.
    fn predict(&self, pool: &Pool, workload: &Workload, stop: &AtomicBool) -> Result<Prediction, String>;
}

/// Bytes of the line and the end of a value: `VALUE key:1234 0 560`, and newlines.
const LINE: u32 = 25;

/// The workload that a pool's settings assume; none without them.
pub fn assumed_workload(pool: &Pool) -> Option<Workload> {
    let incast = pool.incast?;
    let servers = widths(pool.servers.len() as f64, f64::from(incast.keys)).round().max(1.0) as u32;
    Some(Workload { keys: incast.keys, servers, value: incast.value.0 as u32 + LINE })
}

/// Mean number of servers that have some of this many keys, if each key is on any of `servers`.
pub fn widths(servers: f64, keys: f64) -> f64 {
    servers * (1.0 - libm::pow(1.0 - 1.0 / servers, keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_proxy_config::Settings;

    #[test]
    fn workload_is_assumed_from_settings_and_differs_by_a_half() {
        let text = "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n\
                    incast = { buffer = \"64 KiB\", rto_min = \"200 ms\", keys = 2, value = \"75 B\" }\n";
        let mut pool = Settings::of_file("f.toml", text).unwrap().pools.remove(0);
        let workload = assumed_workload(&pool).unwrap();
        // 1.5 servers on average.
        assert_eq!(workload, Workload { keys: 2, servers: 2, value: 100 });
        assert!(!workload.differs(&Workload { value: 150, ..workload }));
        assert!(workload.differs(&Workload { value: 151, ..workload }));
        assert!(workload.differs(&Workload { value: 66, ..workload }));
        pool.incast = None;
        assert_eq!(assumed_workload(&pool), None);
    }
}
