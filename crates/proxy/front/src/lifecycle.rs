//! Start and end of connections and of the front end itself: pauses of accepting, idle clients, and the stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fanin_units::Time;

use fanin_proxy_config::Settings;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_net::ACCEPT_PAUSE;

/// Minimum time for clients to go to a successor.
const LEAST_DEPARTURE: Nanos = 1_000_000_000;
/// Number of checks for idle clients per idle timeout.
const IDLE_LOOKS: Nanos = 8;

/// Times at which a front end accepts, closes idle clients, and stops.
#[derive(Debug)]
pub struct Lifecycle {
    stop: Arc<AtomicBool>,
    drain: Nanos,
    /// When to try to accept again.
    accept_at: Option<Nanos>,
    /// When to stop if there is a successor that takes the clients.
    departs: Option<Nanos>,
    /// When to stop, even with unfinished requests.
    ends: Option<Nanos>,
    /// Idle timeout, and the next check for idle clients; none if there is no timeout.
    idle: Option<(Nanos, Nanos)>,
}

impl Lifecycle {
    /// A front end that stops when `stop` is set.
    pub fn new(settings: &Settings, stop: Arc<AtomicBool>) -> Lifecycle {
        let mut lifecycle = Lifecycle { stop, drain: 0, accept_at: None, departs: None, ends: None, idle: None };
        lifecycle.install(settings);
        lifecycle
    }

    /// Follows other settings.
    pub fn install(&mut self, settings: &Settings) {
        self.idle = (settings.idle_timeout > Time::ZERO).then(|| (nanos(settings.idle_timeout), 0));
        self.drain = nanos(settings.drain);
    }

    /// Accepts again after a pause.
    pub fn pause_accepting(&mut self, now: Nanos) {
        self.accept_at = Some(now + ACCEPT_PAUSE);
    }

    /// Whether such a pause is over.
    pub fn accepts_again(&mut self, now: Nanos) -> bool {
        self.accept_at.take_if(|at| *at <= now).is_some()
    }

    /// The idle timeout, if a check for idle clients is due.
    pub fn idle_check(&mut self, now: Nanos) -> Option<Nanos> {
        let (longest, at) = self.idle.as_mut().filter(|(_, at)| *at <= now)?;
        *at = now + *longest / IDLE_LOOKS;
        Some(*longest)
    }

    /// Whether to begin to stop; true once.
    pub fn begins_to_stop(&mut self, now: Nanos) -> bool {
        let is_due = self.stop.load(Relaxed) || self.departs.is_some_and(|at| at <= now);
        let begins = self.ends.is_none() && is_due;
        if begins {
            self.ends = Some(now + self.drain);
        }
        begins
    }

    /// There is a successor, which takes the clients.
    pub fn departs(&mut self, now: Nanos) {
        self.departs = Some(now + self.drain.max(LEAST_DEPARTURE));
    }

    /// Whether it is stopping.
    pub fn is_stopping(&self) -> bool {
        self.ends.is_some()
    }

    /// Whether it has been stopped or has a successor, and has no clients; or has passed its deadline.
    pub fn is_over(&self, now: Nanos, clients: usize) -> bool {
        clients == 0 && self.departs.is_some() || self.ends.is_some_and(|ends| ends <= now || clients == 0)
    }

    /// The next time at which there is work without an event.
    pub fn next_due(&self, clients: usize) -> Option<Nanos> {
        let idle = self.idle.filter(|_| clients > 0).map(|(_, at)| at);
        let stops = self.ends.or(self.departs);
        self.accept_at.into_iter().chain(stops).chain(idle).min()
    }
}
