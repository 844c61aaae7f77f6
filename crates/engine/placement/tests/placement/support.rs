//! Shared code of the tests.

use fanin_placement::{Move, Object, RequestLog, Resources};
use fanin_units::Time;

/// Objects with these indexes.
pub fn objects(numbers: &[u32]) -> Vec<Object> {
    numbers.iter().map(|number| Object(*number)).collect()
}

/// Capacity for this many requests, and for any amount of other resources.
pub fn requests(computing: u64) -> Resources {
    Resources { storage: 1 << 40, computing, io: 1 << 40, bandwidth: 1 << 40 }
}

/// A log of queries one second apart.
pub fn log(objects: usize, queries: impl IntoIterator<Item = Vec<Object>>) -> RequestLog {
    let mut log = RequestLog::new(objects, 1 << 24);
    for (query, second) in queries.into_iter().zip(0..) {
        log.add(Time::from_secs(second), query);
    }
    log
}

/// Moves without reasons.
pub fn ways(moves: &[Move]) -> Vec<(u32, u32, u32)> {
    moves.iter().map(|of| (of.object.0, of.from.0, of.to.0)).collect()
}
