//! How long a thread waits before it looks for events again, so that more of them come together: a write to a server, a read from it
//! and a wake-up are then shared by many requests. Only under load: while few requests come in a nap's time, it takes none.
//!
//! Pure: times are arguments.

use crate::clock::Nanos;

/// Requests, and batches of theirs, that must come in a nap's time for it to be worth taking.
const WORTH: u64 = 8;

/// One thread's.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    nap: Nanos,
    /// Since when requests are counted, and how many there have been.
    since: Nanos,
    seen: u64,
    /// Whether the last window had enough of them.
    busy: bool,
}

impl Pace {
    /// Naps as long as this; zero: none.
    pub fn new(nap: Nanos) -> Pace {
        Pace { nap, since: 0, seen: 0, busy: false }
    }

    /// So many requests and batches were taken in a turn: how long to sleep now.
    pub fn nap(&mut self, now: Nanos, requests: u64) -> Nanos {
        self.seen += requests;
        let passed = now.saturating_sub(self.since);
        if passed >= 8 * self.nap {
            self.busy = self.nap > 0 && self.seen * self.nap >= WORTH * passed;
            (self.since, self.seen) = (now, 0);
        }
        if self.busy { self.nap } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_are_taken_under_load_alone_and_end_with_it() {
        let mut pace = Pace::new(100_000);
        // A request every 50 us: one client that waits for each answer.
        let idle = (1..1000u64).map(|turn| pace.nap(turn * 50_000, 1));
        assert_eq!(idle.max(), Some(0));
        let busy: Vec<u64> = (1000..2000u64).map(|turn| pace.nap(turn * 50_000, 10)).collect();
        assert_eq!(busy.last(), Some(&100_000));
        assert_eq!((2000..2100u64).map(|turn| pace.nap(turn * 50_000, 0)).last(), Some(0));
        assert_eq!(Pace::new(0).nap(1_000_000, 1_000_000), 0);
    }
}
