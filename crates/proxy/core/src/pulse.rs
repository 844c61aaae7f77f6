//! The present iteration of an event loop, and whether it lasts too long.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::clock::{Clock, Nanos};
use crate::token::Token;

/// Time from which an iteration counts as stalled.
const STALLED: Nanos = 1_000_000_000;

/// Work of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// An event of this connection or listener.
    Event(Token),
    /// Settings, plans, timers.
    Timers,
    /// Writes of responses and requests.
    Writes,
}

/// Codes of work that is not an event.
const TIMERS: usize = usize::MAX;
const WRITES: usize = usize::MAX - 1;

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Event(Token::Listener(number)) => write!(f, "accepting connections of listener {number}"),
            Work::Event(Token::Waker) => f.write_str("waking up"),
            Work::Event(Token::Server(slot)) => write!(f, "input of server connection {slot}"),
            Work::Event(Token::Client(slot)) => write!(f, "input of client connection {slot}"),
            Work::Event(Token::Agent(slot)) => write!(f, "input of agent connection {slot}"),
            Work::Timers => f.write_str("timers and settings"),
            Work::Writes => f.write_str("writing"),
        }
    }
}

/// The present iteration of a thread.
#[derive(Debug)]
pub struct Pulse {
    clock: Clock,
    /// When it began; zero while the thread waits for events.
    since: AtomicU64,
    work: AtomicUsize,
}

/// An iteration that lasts too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it began.
    pub since: Nanos,
    /// For how long it has lasted.
    pub lasts: Nanos,
    /// Its work.
    pub work: Work,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a loop iteration has lasted {:.1} s: {}", self.lasts as f64 / 1e9, self.work)
    }
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse { clock: Clock::start(), since: AtomicU64::new(0), work: AtomicUsize::new(TIMERS) }
    }
}

impl Pulse {
    /// An iteration begins.
    pub fn begins(&self) {
        self.since.store(self.clock.now().max(1), Relaxed);
    }

    /// The iteration ends.
    pub fn ends(&self) {
        self.since.store(0, Relaxed);
    }

    /// The iteration goes on with this work.
    #[inline]
    pub fn works(&self, work: Work) {
        let code = match work {
            Work::Event(token) => token.encode(),
            Work::Timers => TIMERS,
            Work::Writes => WRITES,
        };
        self.work.store(code, Relaxed);
    }

    /// The iteration, if it lasts too long.
    pub fn stall(&self) -> Option<Stall> {
        self.stall_at(self.clock.now())
    }

    fn stall_at(&self, now: Nanos) -> Option<Stall> {
        let since = self.since.load(Relaxed);
        let lasts = now.saturating_sub(since);
        let work = match self.work.load(Relaxed) {
            TIMERS => Work::Timers,
            WRITES => Work::Writes,
            token => Work::Event(Token::decode(token)),
        };
        (since > 0 && lasts >= STALLED).then_some(Stall { since, lasts, work })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iteration_is_reported_while_it_lasts() {
        let pulse = Pulse::default();
        assert_eq!(pulse.stall_at(5 * STALLED), None, "it waits for events");
        pulse.begins();
        pulse.works(Work::Event(Token::Server(3)));
        let begun = pulse.since.load(Relaxed);
        assert_eq!(pulse.stall_at(begun + STALLED - 1), None);
        let stall = pulse.stall_at(begun + 2 * STALLED).unwrap();
        assert_eq!(stall.to_string(), "a loop iteration has lasted 2.0 s: input of server connection 3");
        pulse.ends();
        assert_eq!(pulse.stall_at(begun + 2 * STALLED), None);
    }
}
