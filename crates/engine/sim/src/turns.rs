//! Turns of the ends at each host: one at a time acts, those that wait in line before those that wait for idleness.

use std::collections::VecDeque;

use fanin_driver::EndpointId;
use fanin_fabric::HostId;
use fanin_transport::Waits;
use fanin_units::Time;

use crate::slot::Slot;

/// The turns of all hosts.
#[derive(Default)]
pub(crate) struct Turns {
    /// By host; those without turns so far may be missing.
    hosts: Vec<Host>,
}

/// An endpoint in its slot, which another one may have when the turn comes.
pub(crate) type End = (EndpointId, Slot);

#[derive(Default)]
struct Host {
    in_line: VecDeque<End>,
    idle: VecDeque<End>,
    /// When the last turn ends.
    free_at: Time,
    /// The next turn is scheduled.
    is_scheduled: bool,
}

impl Host {
    /// When to schedule the next turn, unless that is done or nobody waits.
    fn schedule(&mut self, now: Time) -> Option<Time> {
        let waits = !self.in_line.is_empty() || !self.idle.is_empty();
        let schedules = waits && !self.is_scheduled;
        self.is_scheduled |= schedules;
        schedules.then_some(self.free_at.max(now))
    }
}

impl Turns {
    /// Exchange the state of a host with another network of the same hosts.
    pub fn take_over(&mut self, host: HostId, from: &mut Turns) {
        let at = host.0 as usize;
        if at < self.hosts.len().max(from.hosts.len()) {
            let most = self.hosts.len().max(from.hosts.len());
            self.hosts.resize_with(most, Host::default);
            from.hosts.resize_with(most, Host::default);
            std::mem::swap(&mut self.hosts[at], &mut from.hosts[at]);
        }
    }

    /// An end waits for its turn at a host; returns when to serve the host's next turn, if that is news.
    pub fn wait(&mut self, now: Time, host: HostId, end: End, how: Waits) -> Option<Time> {
        if self.hosts.len() <= host.0 as usize {
            self.hosts.resize_with(host.0 as usize + 1, Host::default);
        }
        let host = &mut self.hosts[host.0 as usize];
        match how {
            Waits::Now => host.in_line.push_back(end),
            Waits::Idle => host.idle.push_back(end),
        }
        host.schedule(now)
    }

    /// The next turn of a host has come: whose it is.
    pub fn next(&mut self, host: HostId) -> Option<(End, Waits)> {
        let host = &mut self.hosts[host.0 as usize];
        let in_line = host.in_line.pop_front().map(|end| (end, Waits::Now));
        in_line.or_else(|| Some((host.idle.pop_front()?, Waits::Idle)))
    }

    /// A host's turn takes so long; returns when to serve the next one, if anybody waits.
    pub fn took(&mut self, now: Time, host: HostId, time: Time) -> Option<Time> {
        let host = &mut self.hosts[host.0 as usize];
        (host.free_at, host.is_scheduled) = (now.saturating_add(time), false);
        host.schedule(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: HostId = HostId(2);

    #[test]
    fn one_end_at_a_time_acts_and_idle_ones_come_last() {
        let mut turns = Turns::default();
        let [a, b, c] = [0, 1, 2].map(|number| (EndpointId::new(number), Slot(number)));
        assert_eq!(turns.wait(Time(5), HOST, a, Waits::Idle), Some(Time(5)));
        assert_eq!(turns.wait(Time(6), HOST, b, Waits::Now), None);
        assert_eq!(turns.wait(Time(6), HOST, c, Waits::Now), None);
        assert_eq!(turns.next(HOST), Some((b, Waits::Now)));
        assert_eq!(turns.took(Time(6), HOST, Time(10)), Some(Time(16)));
        assert_eq!(turns.next(HOST), Some((c, Waits::Now)));
        assert_eq!(turns.took(Time(16), HOST, Time(10)), Some(Time(26)));
        assert_eq!(turns.next(HOST), Some((a, Waits::Idle)));
        // Nobody waits, but the turn lasts: who comes now waits for its end.
        assert_eq!(turns.took(Time(26), HOST, Time(10)), None);
        assert_eq!(turns.wait(Time(30), HOST, b, Waits::Now), Some(Time(36)));
    }
}
