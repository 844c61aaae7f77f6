//! Batching delay: under load a thread waits before it polls for events, so that more requests share a write, a read and a wake-up.
//!
//! Does no I/O; times are arguments.

use crate::clock::Nanos;

/// Minimum number of requests and batches per delay that makes it worthwhile.
const WORTH: u64 = 8;

/// Batching of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    delay: Nanos,
    /// Start of the counting window, and its number of requests.
    since: Nanos,
    seen: u64,
    /// Whether the last window was busy.
    busy: bool,
}

impl Pace {
    /// Uses this delay; zero: none.
    pub fn new(delay: Nanos) -> Pace {
        Pace { delay, since: 0, seen: 0, busy: false }
    }

    /// Uses another delay.
    pub fn set_delay(&mut self, delay: Nanos) {
        self.delay = delay;
    }

    /// Counts the requests and batches of a loop iteration; returns how long to sleep.
    pub fn delay(&mut self, now: Nanos, requests: u64) -> Nanos {
        self.seen += requests;
        let passed = now.saturating_sub(self.since);
        if passed >= 8 * self.delay {
            self.busy = self.delay > 0 && self.seen * self.delay >= WORTH * passed;
            (self.since, self.seen) = (now, 0);
        }
        if self.busy { self.delay } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_only_under_load() {
        let mut pace = Pace::new(100_000);
        // A request every 50 us: one client that waits for each response.
        let idle = (1..1000u64).map(|turn| pace.delay(turn * 50_000, 1));
        assert_eq!(idle.max(), Some(0));
        let busy: Vec<u64> = (1000..2000u64).map(|turn| pace.delay(turn * 50_000, 10)).collect();
        assert_eq!(busy.last(), Some(&100_000));
        assert_eq!((2000..2100u64).map(|turn| pace.delay(turn * 50_000, 0)).last(), Some(0));
        assert_eq!(Pace::new(0).delay(1_000_000, 1_000_000), 0);
    }
}
