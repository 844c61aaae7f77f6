//! Start and end of connections and of the front end itself: listeners, pauses of accepting, idle clients, the stop, and the departure of
//! clients to a successor process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fanin_units::Time;

use crate::context::Context;
use crate::listening::Listening;
use fanin_proxy_config::Settings;
use fanin_proxy_core::clock::{Nanos, nanos};
use fanin_proxy_net::{ACCEPT_PAUSE, Address, Entry, Net};
use fanin_proxy_state::handover::Departures;

/// Minimum time for clients to go to a successor.
const LEAST_DEPARTURE: Nanos = 1_000_000_000;
/// Number of checks for idle clients per idle timeout.
const IDLE_LOOKS: Nanos = 8;

/// Times at which a front end accepts, closes idle clients, and stops.
#[derive(Debug)]
pub struct Lifecycle {
    stop: Arc<AtomicBool>,
    drain: Nanos,
    listening: Listening,
    /// The way to a successor, if there is one.
    departures: Option<Arc<Departures>>,
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
        let mut lifecycle = Lifecycle {
            stop,
            drain: 0,
            listening: Listening::default(),
            departures: None,
            accept_at: None,
            departs: None,
            ends: None,
            idle: None,
        };
        lifecycle.install(settings);
        lifecycle
    }

    /// Follows other settings.
    pub fn install(&mut self, settings: &Settings) {
        self.idle = (settings.idle_timeout > Time::ZERO).then(|| (nanos(settings.idle_timeout), 0));
        self.drain = nanos(settings.drain);
    }

    /// Listens at these addresses, each for a pool, and at no others, unless it is stopping.
    pub fn listen<N: Net>(&mut self, pools: &[(Address, usize)], context: &mut Context<N>) {
        if !self.is_stopping() {
            self.listening.install(pools, &mut context.net);
        }
    }

    /// Accepts a connection of a listener, for a pool, whose requirements `entry` returns.
    pub fn accept<'e, N: Net>(
        &mut self,
        listener: usize,
        entry: impl FnOnce(usize) -> &'e Arc<Entry>,
        context: &mut Context<N>,
    ) -> Option<(N::Stream, usize)> {
        let pool = self.listening.pool(listener)?;
        match context.net.accept(listener, entry(pool)) {
            Ok(stream) => Some((stream, pool)),
            Err(error) => {
                // There is no event for free file descriptors.
                if error.kind() != io::ErrorKind::WouldBlock {
                    self.accept_at = Some(context.now + ACCEPT_PAUSE);
                }
                None
            }
        }
    }

    /// The listeners, if a pause of accepting is over.
    pub fn accepts_again(&mut self, now: Nanos) -> Vec<usize> {
        let is_over = self.accept_at.take_if(|at| *at <= now).is_some();
        if is_over { self.listening.numbers() } else { Vec::new() }
    }

    /// The idle timeout, if a check for idle clients is due.
    pub fn idle_check(&mut self, now: Nanos) -> Option<Nanos> {
        let (longest, at) = self.idle.as_mut().filter(|(_, at)| *at <= now)?;
        *at = now + *longest / IDLE_LOOKS;
        Some(*longest)
    }

    /// Whether to begin to stop; true once. It accepts no clients any more then.
    pub fn begins_to_stop<N: Net>(&mut self, context: &mut Context<N>) -> bool {
        let is_due = self.stop.load(Relaxed) || self.departs.is_some_and(|at| at <= context.now);
        let begins = self.ends.is_none() && is_due;
        if begins {
            self.ends = Some(context.now + self.drain);
            self.listening.close(&mut context.net);
        }
        begins
    }

    /// Whether to begin to hand over clients, since there is a successor; true once. It accepts none any more then.
    pub fn begins_to_depart<N: Net>(&mut self, context: &mut Context<N>) -> bool {
        if self.departures.is_some() {
            return false;
        }
        let Some(departures) = context.shared.departures() else { return false };
        self.departs = Some(context.now + self.drain.max(LEAST_DEPARTURE));
        self.listening.close(&mut context.net);
        departures.has_stopped(context.thread);
        self.departures = Some(departures);
        true
    }

    /// The way to the successor, if there is one.
    pub fn departures(&self) -> Option<&Arc<Departures>> {
        self.departures.as_ref()
    }

    /// Whether clients leave for good: it is stopping, or has a successor.
    pub fn is_ending(&self) -> bool {
        self.is_stopping() || self.departures.is_some()
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
