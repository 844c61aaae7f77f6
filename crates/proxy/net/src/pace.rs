//! Batching delay: under load a thread waits before it polls for events, so that more requests share a write, a read and a wake-up.
//!
//! Does no I/O; times are arguments.

use fanin_proxy_core::clock::Nanos;

/// Minimum number of requests and batches per delay that makes it worthwhile.
const WORTH: u64 = 8;
/// A sleep that lasts this many times as long as intended shows that others use the processor.
const LATE: u64 = 5;
/// Time without delays after such a sleep, in multiples of the sleep: late sleeps take at most a thousandth of the time.
const WITHOUT: u64 = 1_000;

/// Batching of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    delay: Nanos,
    /// Start of the counting window, and its number of requests.
    since: Nanos,
    seen: u64,
    /// Whether the last window was busy.
    busy: bool,
    /// Before this time there are no delays.
    resumes: Nanos,
}

impl Pace {
    /// Uses this delay; zero: none.
    pub fn new(delay: Nanos) -> Pace {
        Pace { delay, since: 0, seen: 0, busy: false, resumes: 0 }
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
        if self.busy && now >= self.resumes { self.delay } else { 0 }
    }

    /// A delay has lasted this long. On a busy processor a thread that sleeps waits for its turn, much longer than the delay.
    pub fn has_lasted(&mut self, now: Nanos, took: Nanos) {
        if took > LATE * self.delay {
            self.resumes = now + WITHOUT * took;
        }
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

    #[test]
    fn late_sleeps_stop_delays_for_a_while() {
        let mut pace = Pace::new(100_000);
        let mut delay = |now, took: Option<u64>| {
            took.into_iter().for_each(|took| pace.has_lasted(now, took));
            pace.delay(now, 1_000)
        };
        assert_eq!(delay(1_000_000, None), 100_000);
        // Timers are late by some 50 us on an idle processor.
        assert_eq!(delay(2_000_000, Some(160_000)), 100_000);
        // It waited 4 ms for the processor.
        assert_eq!(delay(6_000_000, Some(4_000_000)), 0);
        assert_eq!((delay(4_005_000_000, None), delay(4_006_000_000, None)), (0, 100_000));
    }
}
