//! Stalls: times in which a client receives nothing although it is waiting for data, with the timers that fired meanwhile as
//! possible causes.

use fanin_apps::ConnectionId;
use fanin_fabric::HostId;
use fanin_tables::Cause;
use fanin_units::Time;

use crate::latency::stamp;

/// Round trips without an arrival on a client's link that make a stall.
const ROUND_TRIPS: u64 = 10;

/// Number of clues at which old ones are removed.
const CLUES: usize = 1024;

/// Number of recent application timers kept: some fire while a packet is in flight.
const ACTS: usize = 64;

/// A timer of a connection that fired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FiredTimer {
    pub at: Time,
    pub connection: ConnectionId,
    /// The hosts of its two ends.
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

/// Clients that wait for data.
pub(crate) struct Stalls {
    /// By host, the time since which nothing has arrived; `NEVER` for one that waits for nothing. Empty before any waits.
    since: Vec<Time>,
    /// Minimum length of a stall.
    most: Time,
    clues: Vec<FiredTimer>,
    /// When the workload's timers were last due, as a ring.
    acted: [Time; ACTS],
    acts: usize,
    pub ended: Vec<Stall>,
}

impl Stalls {
    /// No client waits.
    pub fn new() -> Stalls {
        let (since, most, clues, ended) = Default::default();
        Stalls { since, most, clues, acted: [Time::ZERO; ACTS], acts: 0, ended }
    }

    /// These clients wait from now on; `work` is a server's maximum service time.
    pub fn wait(&mut self, now: Time, clients: &[HostId], round_trip: Time, work: Time) {
        self.most = round_trip.saturating_mul(ROUND_TRIPS).saturating_add(work);
        let last = clients.iter().map(|host| host.0 as usize + 1).max().unwrap_or(0);
        self.since = vec![Time::NEVER; last];
        clients.iter().for_each(|host| self.since[host.0 as usize] = now);
    }

    /// The client waits for nothing for this long.
    pub fn rest(&mut self, now: Time, client: HostId, span: Time) {
        if let Some(since) = self.since.get_mut(client.0 as usize) {
            *since = now.saturating_add(span);
        }
    }

    /// Discard earlier times.
    pub fn forget(&mut self, now: Time) {
        for since in &mut self.since {
            *since = now.max(*since);
        }
        self.ended.clear();
    }

    /// A packet has arrived at a host: returns the start of the stall that it ends, if any.
    #[inline(always)]
    pub fn heard(&mut self, now: Time, host: HostId) -> Option<Time> {
        let since = self.since.get_mut(host.0 as usize)?;
        let before = *since;
        if before >= now {
            return None;
        }
        *since = now;
        (now.since(before) > self.most).then_some(before)
    }

    /// The clients with a stall in progress, and its start.
    pub fn open(&self, now: Time) -> impl Iterator<Item = (HostId, Time)> {
        let hosts = self.since.iter().zip(0..).map(|(&since, host)| (HostId(host), since));
        hosts.filter(move |(_, since)| now.since(*since) > self.most)
    }

    /// Record a timer that has fired.
    pub fn note(&mut self, clue: FiredTimer) {
        if self.since.is_empty() {
            return;
        }
        if self.clues.len() >= CLUES {
            let oldest = self.since.iter().copied().min().unwrap_or(Time::NEVER);
            self.clues.retain(|clue| clue.at >= oldest);
        }
        self.clues.push(clue);
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
    const CLIENT: HostId = HostId::CLIENT;

    fn waiting(now: Time, work: Time) -> Stalls {
        let mut stalls = Stalls::new();
        stalls.wait(now, &[CLIENT], US(20), work);
        stalls
    }

    #[test]
    fn idle_clients_do_not_stall() {
        let mut stalls = waiting(US(0), US(0));
        assert_eq!(stalls.heard(US(100), CLIENT), None);
        stalls.rest(US(100), CLIENT, US(1_000));
        // A last ACK arrives; data wanted from 1,100 us on arrives after 200 and 201 us.
        let heard = [150, 1_300, 1_501].map(|at| stalls.heard(US(at), CLIENT));
        assert_eq!(heard, [None, None, Some(US(1_300))]);
    }

    #[test]
    fn detects_stalls_beyond_ten_round_trips() {
        let mut stalls = waiting(US(100), US(50));
        // Of 200, 250, 250, 251 and 49 us only the fourth is over 10 * 20 + 50.
        let heard = [300, 550, 800, 1_051, 1_100].map(|at| stalls.heard(US(at), CLIENT));
        assert_eq!(heard, [None, None, None, Some(US(800)), None]);
        assert_eq!(stalls.open(US(1_350)).next(), None);
        assert_eq!(stalls.open(US(1_351)).next(), Some((CLIENT, US(1_100))));
    }

    #[test]
    fn clients_stall_independently() {
        let mut stalls = Stalls::new();
        stalls.wait(US(0), &[HostId(0), HostId(2)], US(20), US(0));
        assert_eq!([0, 1, 2, 3].map(|host| stalls.heard(US(900), HostId(host)).is_some()), [true, false, true, false]);
    }

    #[test]
    fn last_timer_is_the_clue() {
        let mut stalls = waiting(US(0), US(0));
        let clue = |at, cause| FiredTimer {
            at: US(at),
            connection: ConnectionId::new(fanin_apps::Owner::WORKLOAD, 0),
            hosts: [CLIENT; 2],
            cause,
        };
        for (at, cause) in [(10, Cause::Syn), (50, Cause::DelayedAck), (90, Cause::Rto)] {
            stalls.note(clue(at, cause));
        }
        assert_eq!(stalls.last_clue(US(20), |_| true), Some(clue(90, Cause::Rto)));
        assert_eq!(stalls.last_clue(US(20), |clue| clue.cause == Cause::Syn), None);
    }
}
