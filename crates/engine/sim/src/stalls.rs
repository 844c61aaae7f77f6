//! Stalls of clients, with the timers that fired meanwhile as possible causes.

use fanin_driver::{EndpointId, Waits};
use fanin_fabric::HostId;
use fanin_tables::Cause;
use fanin_units::Time;

use crate::latency::stamp;

/// Number of clues at which old ones are removed.
const CLUES: usize = 1024;

/// Number of recent application timers kept: some fire while a packet is in flight.
const ACTS: usize = 64;

/// A timer of a connection that fired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FiredTimer {
    pub at: Time,
    pub end: EndpointId,
    /// The hosts of its two ends, the opener's first.
    pub hosts: [HostId; 2],
    /// Its purpose.
    pub cause: Cause,
}

/// One stall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stall {
    pub client: HostId,
    pub from: Time,
    pub to: Time,
    pub cause: Cause,
    /// Sender of the packet that ended it.
    pub by: Option<HostId>,
}

/// Clients that wait for data, and what may have caused their stalls.
pub(crate) struct Stalls {
    pub waits: Waits,
    clues: Vec<FiredTimer>,
    /// When the workload's timers were last due, as a ring.
    acted: [Time; ACTS],
    acts: usize,
    pub ended: Vec<Stall>,
}

impl Stalls {
    /// No client waits.
    pub fn new() -> Stalls {
        let (waits, clues, ended) = Default::default();
        Stalls { waits, clues, acted: [Time::ZERO; ACTS], acts: 0, ended }
    }

    /// Discard earlier times.
    pub fn forget(&mut self, now: Time) {
        self.waits.forget(now);
        self.ended.clear();
    }

    /// Record a timer that has fired.
    pub fn note(&mut self, clue: FiredTimer) {
        if self.waits.is_empty() {
            return;
        }
        if self.clues.len() >= CLUES {
            let oldest = self.waits.oldest();
            self.clues.retain(|clue| clue.at >= oldest);
        }
        self.clues.push(clue);
    }

    /// Move the timers that have fired in parts of a network here, in the order of their events.
    pub fn take_over<'a>(&mut self, parts: impl Iterator<Item = &'a mut Stalls>) {
        let mut clues: Vec<FiredTimer> = parts.flat_map(|part| part.clues.drain(..)).collect();
        clues.sort_by_key(|clue| (clue.at, clue.end));
        clues.into_iter().for_each(|clue| self.note(clue));
    }

    /// Record a timer of the workload's application.
    #[inline]
    pub fn application_acts(&mut self, now: Time) {
        self.acted[self.acts % ACTS] = now;
        self.acts += 1;
    }

    /// The last matching timer that fired since then.
    pub fn last_clue(&self, from: Time, meant: impl Fn(&FiredTimer) -> bool) -> Option<FiredTimer> {
        self.clues.iter().rev().take_while(|clue| clue.at >= from).find(|clue| meant(clue)).copied()
    }

    /// Whether an application acted in a stall that began then, when a packet with this timestamp was sent.
    pub fn application_acted(&self, from: Time, sent: u32) -> bool {
        self.acted.iter().any(|&at| at >= from && stamp(at.0) == sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;

    #[test]
    fn last_timer_is_the_clue() {
        let mut stalls = Stalls::new();
        stalls.waits.wait(US(0), &[HostId::CLIENT], [US(20), US(0)], false);
        let clue = |at, cause| FiredTimer { at: US(at), end: EndpointId::new(0), hosts: [HostId::CLIENT; 2], cause };
        for (at, cause) in [(10, Cause::Syn), (50, Cause::DelayedAck), (90, Cause::Rto)] {
            stalls.note(clue(at, cause));
        }
        assert_eq!(stalls.last_clue(US(20), |_| true), Some(clue(90, Cause::Rto)));
        assert_eq!(stalls.last_clue(US(20), |clue| clue.cause == Cause::Syn), None);
    }
}
