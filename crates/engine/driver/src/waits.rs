//! Clients that wait for data, and stalls: times in which one receives nothing although it waits.

use fanin_fabric::HostId;
use fanin_units::Time;

/// Round trips without an arrival at a client that make a stall.
const ROUND_TRIPS: u64 = 10;

/// Clients that wait for data.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// By host, the time since which nothing has arrived; `NEVER` for one that waits for nothing. Empty before any waits.
    since: Vec<Time>,
    /// Minimum length of a stall.
    most: Time,
    /// Whether clients are servers, too: they wait for data of connections that they opened, and others' requests are none.
    serve: bool,
}

impl Waits {
    /// These clients wait from now on; `work` is a server's maximum service time. If they `serve`, others request from them.
    pub fn wait(&mut self, now: Time, clients: &[HostId], [round_trip, work]: [Time; 2], serve: bool) {
        self.serve = serve;
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

    /// Discards earlier times.
    pub fn forget(&mut self, now: Time) {
        for since in &mut self.since {
            *since = now.max(*since);
        }
    }

    /// Data has arrived at a host, which has `opened` the connection or not: returns the start of the stall that it ends, if any.
    #[inline(always)]
    pub fn heard(&mut self, now: Time, host: HostId, opened: bool) -> Option<Time> {
        if !self.counts(opened) {
            return None;
        }
        let since = self.since.get_mut(host.0 as usize)?;
        let before = *since;
        if before >= now {
            return None;
        }
        *since = now;
        (now.since(before) > self.most).then_some(before)
    }

    /// The one client that waits, if it is alone.
    pub fn only_client(&self) -> Option<HostId> {
        let mut clients = self.since.iter().zip(0..).filter(|(since, _)| **since != Time::NEVER);
        let (_, host) = clients.next()?;
        clients.next().is_none().then_some(HostId(host))
    }

    /// The time after which an arrival at a host ends a stall; `NEVER` if it waits for nothing.
    pub fn stalls_from(&self, host: HostId) -> Time {
        self.since.get(host.0 as usize).map_or(Time::NEVER, |since| since.saturating_add(self.most))
    }

    /// Set a client's wait to another state of it.
    pub fn take_over(&mut self, from: &Waits, client: HostId) {
        self.since[client.0 as usize] = from.since[client.0 as usize];
    }

    /// The clients with a stall in progress, and its start.
    pub fn open(&self, now: Time) -> impl Iterator<Item = (HostId, Time)> {
        let hosts = self.since.iter().zip(0..).map(|(&since, host)| (HostId(host), since));
        hosts.filter(move |(_, since)| now.since(*since) > self.most)
    }

    /// Whether a connection that a host has `opened` or not may have data that its client waits for.
    pub fn counts(&self, opened: bool) -> bool {
        opened || !self.serve
    }

    /// Whether none has ever waited.
    pub fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    /// The first time since which a client waits, or `NEVER`.
    pub fn oldest(&self) -> Time {
        self.since.iter().copied().min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_micros;
    const CLIENT: HostId = HostId::CLIENT;

    fn waiting(now: Time, work: Time) -> Waits {
        let mut waits = Waits::default();
        waits.wait(now, &[CLIENT], [US(20), work], false);
        waits
    }

    #[test]
    fn idle_clients_do_not_stall() {
        let mut waits = waiting(US(0), US(0));
        assert_eq!(waits.heard(US(100), CLIENT, true), None);
        waits.rest(US(100), CLIENT, US(1_000));
        // A last ACK arrives; data wanted from 1,100 us on arrives after 200 and 201 us.
        let heard = [150, 1_300, 1_501].map(|at| waits.heard(US(at), CLIENT, true));
        assert_eq!(heard, [None, None, Some(US(1_300))]);
    }

    #[test]
    fn detects_stalls_beyond_ten_round_trips() {
        let mut waits = waiting(US(100), US(50));
        // Of 200, 250, 250, 251 and 49 us only the fourth is over 10 * 20 + 50.
        let heard = [300, 550, 800, 1_051, 1_100].map(|at| waits.heard(US(at), CLIENT, true));
        assert_eq!(heard, [None, None, None, Some(US(800)), None]);
        assert_eq!(waits.open(US(1_350)).next(), None);
        assert_eq!(waits.open(US(1_351)).next(), Some((CLIENT, US(1_100))));
    }

    #[test]
    fn clients_stall_independently() {
        let mut waits = Waits::default();
        waits.wait(US(0), &[HostId(0), HostId(2)], [US(20), US(0)], false);
        let heard = [0, 1, 2, 3].map(|host| waits.heard(US(900), HostId(host), false).is_some());
        assert_eq!(heard, [true, false, true, false]);
    }

    #[test]
    fn requests_end_no_stall_of_a_client_that_serves() {
        let mut waits = Waits::default();
        waits.wait(US(0), &[CLIENT], [US(20), US(0)], true);
        assert_eq!([false, true].map(|opened| waits.heard(US(900), CLIENT, opened)), [None, Some(US(0))]);
    }
}
