//! Pauses before a failed connection is tried again: they double, and are not the same for all who have lost a peer together.

use fanin_proxy_core::clock::Nanos;

/// First pause.
pub const FIRST_PAUSE: Nanos = 50_000_000;
/// Longest pause.
pub const LONGEST_PAUSE: Nanos = 2_000_000_000;

/// The failures of a connection since it last worked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    /// The longest pause after the next failure.
    pause: Nanos,
}

impl Backoff {
    /// It has failed: returns the pause, which is none after the first failure, and random after others.
    pub fn fail(&mut self, random: u64) -> Nanos {
        let pause = self.pause / 2 + random % (self.pause / 2 + 1);
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        pause
    }

    /// It works; returns whether it had failed.
    pub fn succeed(&mut self) -> bool {
        std::mem::take(&mut self.pause) > 0
    }

    /// Whether it has failed.
    pub fn has_failed(&self) -> bool {
        self.pause > 0
    }

    /// Whether it has failed more than once.
    pub fn has_failed_twice(&self) -> bool {
        self.pause > FIRST_PAUSE
    }
}
