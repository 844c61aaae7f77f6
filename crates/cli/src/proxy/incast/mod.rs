//! Incast before a pool of the memcached front end, by simulation.

mod scenario;
mod search;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use fanin::{Error, Scenario};
use fanin_daemon::incast::{Prediction, Predictor, Workload};
use fanin_daemon::settings::Pool;

use scenario::Multigets;
use search::Search;

/// Longest time of a prediction, on one core.
const LONGEST: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Predicts with the simulator, on one core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated;

impl Predictor for Simulated {
    fn predict(&self, pool: &Pool, workload: &Workload, stop: &AtomicBool) -> Result<Prediction, String> {
        let (stops, done) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| stop_in_time(&stops, &[stop, &done]));
            let prediction = Search::new(pool, *workload, stops.clone()).and_then(|mut search| search.predict());
            done.store(true, Relaxed);
            prediction
        })
    }
}

/// Sets `stops` after the longest time, or when one of the others is set.
#[expect(clippy::disallowed_methods, reason = "a prediction's time is bounded")]
fn stop_in_time(stops: &AtomicBool, others: &[&AtomicBool]) {
    let begun = Instant::now();
    while begun.elapsed() < LONGEST && !others.iter().any(|other| other.load(Relaxed)) {
        thread::sleep(LOOK);
    }
    stops.store(true, Relaxed);
}

/// The scenario of a pool's mean multiget with its own request algorithm, which requests from at most `limit` servers at once.
///
/// # Errors
/// [`Error::Scenario`]; [`Error::Asked`] if the pool has no `incast`.
pub fn scenario(pool: &Pool, workload: &Workload, limit: Option<u32>) -> Result<Scenario, Error> {
    let multigets = Multigets::of_pool(pool, workload).limited(limit);
    let text = scenario::text(pool, &multigets).ok_or_else(|| Error::Asked(format!("{}: no `incast`", pool.name)))?;
    Scenario::parse(&format!("{}.toml", pool.name), text)
}

#[cfg(test)]
mod tests {
    use fanin::Time;
    use fanin_daemon::Settings;

    use super::*;

    /// A pool of 32 servers behind a port of 200 Mbit/s with this buffer.
    fn pool(multiget: &str, buffer: &str) -> Pool {
        let servers: Vec<String> = (1..=32).map(|server| format!("10.0.0.{server}:11211")).collect();
        let text = format!(
            "[[pool]]\nlisten = \"127.0.0.1:0\"\nservers = {servers:?}\nmultiget = \"{multiget}\"\nlink = \"200 Mbit/s\"\n\
             incast = {{ buffer = \"{buffer}\", rto_min = \"200 ms\" }}\n"
        );
        Settings::of_file("f.toml", &text).unwrap().pools.remove(0)
    }

    fn predicted(multiget: &str, buffer: &str) -> Prediction {
        let workload = Workload { keys: 300, servers: 32, value: 585 };
        // Without the limit of time, which a busy machine may reach.
        let pool = pool(multiget, buffer);
        let search = Search::new(&pool, workload, Arc::default());
        search.and_then(|mut search| search.predict()).unwrap()
    }

    #[test]
    fn limit_prevents_predicted_collapse() {
        let found = predicted("sliding-window", "64 KiB");
        // 64 KiB are twelve responses of 5.5 kB.
        assert!((9..=14).contains(&found.collapse.unwrap()), "{found:?}");
        assert!((5..=11).contains(&found.limit.unwrap()), "{found:?}");
        // Their bytes take 7.6 ms.
        assert!(found.sustains && found.expected < Time::from_millis(10), "{found:?}");
        assert!(found.unlimited > Time::from_millis(40), "{found:?}");
    }

    #[test]
    fn algorithm_without_limit_collapses() {
        let found = predicted("one-all", "64 KiB");
        assert!(found.collapse.is_some() && found.limit.is_none() && !found.sustains, "{found:?}");
        assert_eq!(found.expected, found.unlimited);
    }

    #[test]
    fn large_buffer_needs_no_limit() {
        for multiget in ["one-all", "sliding-window"] {
            let found = predicted(multiget, "1 MiB");
            assert_eq!((found.collapse, found.limit, found.sustains), (None, None, true), "{found:?}");
        }
    }

    #[test]
    fn algorithm_that_avoids_incast_needs_no_limit() {
        let found = predicted("ictcp-window", "64 KiB");
        assert_eq!((found.collapse.is_some(), found.limit, found.sustains), (true, None, true), "{found:?}");
    }

    #[test]
    fn stops_at_once_when_asked() {
        let workload = Workload { keys: 300, servers: 32, value: 585 };
        let stop = AtomicBool::new(true);
        Simulated.predict(&pool("one-all", "64 KiB"), &workload, &stop).unwrap_err();
    }
}
