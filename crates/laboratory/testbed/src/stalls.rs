//! Stalls of clients over sockets, with causes as far as the kernel's counters tell them.

use fanin_driver::Waits;
use fanin_fabric::HostId;
use fanin_tables::{Cause, StallRow};
use fanin_units::Time;

use crate::counters::Events;

/// Clients that wait for data, and their stalls.
#[derive(Debug, Default)]
pub struct Stalls {
    /// Clients that wait.
    pub waits: Waits,
    /// Counts of each host after the last stall that it ended.
    before: Vec<Events>,
    ended: Vec<StallRow>,
}

impl Stalls {
    /// Forgets earlier times; the hosts have these counts now.
    pub fn forget(&mut self, now: Time, counts: Vec<Events>) {
        self.waits.forget(now);
        self.ended.clear();
        self.before = counts;
    }

    /// Data of a host has ended a client's stall, and that host has these counts.
    pub fn ends(&mut self, client: HostId, span: [Time; 2], by: HostId, counts: Events) {
        let before = std::mem::replace(&mut self.before[by.0 as usize], counts);
        self.ended.push(row(client, span, Some(by), counts.since(&before).cause()));
    }

    /// All stalls, with those in progress, whose times are those since `began`.
    pub fn rows(&self, began: Time, now: Time, counts: &[Events]) -> Vec<StallRow> {
        let causes = || counts.iter().zip(&self.before).map(|(now, before)| now.since(before).cause());
        let cause = causes().find(|cause| *cause != Cause::Unknown).unwrap_or_default();
        let open = self.waits.open(now).map(|(client, from)| row(client, [from, now], None, cause));
        let since = |row: StallRow| StallRow { start_ps: Time(row.start_ps).since(began).0, ..row };
        self.ended.iter().cloned().chain(open).map(since).collect()
    }
}

fn row(client: HostId, [from, to]: [Time; 2], by: Option<HostId>, cause: Cause) -> StallRow {
    StallRow {
        client_host: client.0,
        start_ps: from.0,
        took_ps: to.since(from).0,
        cause,
        from_host: by.map(|host| host.0.into()),
    }
}
