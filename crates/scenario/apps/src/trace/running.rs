//! A collective operation in progress, and its row.

use fanin_spec::{Collective, CollectiveKind};
use fanin_tables::CollectiveRow;
use fanin_units::Time;

use crate::collective::OfRanks;

pub(super) struct Running {
    pub of: OfRanks,
    kind: CollectiveKind,
    row: CollectiveRow,
    joined: u32,
    last_join: Time,
    /// Time that ranks have waited for others, together.
    waited: u64,
}

impl Running {
    /// Before any rank has joined.
    pub fn new(number: u32, collective: &Collective, ranks: usize, of: OfRanks) -> Running {
        let Collective { kind, bytes, .. } = *collective;
        let ranks = ranks as u32;
        let row =
            CollectiveRow { number, kind: kind.word().into(), ranks, payload_bytes: bytes, ..CollectiveRow::default() };
        Running { of, kind, row, joined: 0, last_join: Time::ZERO, waited: 0 }
    }

    /// A rank joins; returns for how long all others waited if it is the last one.
    pub fn join(&mut self, now: Time, rank: u32) -> Option<u64> {
        match self.joined {
            0 => self.row.start_ps = now.0,
            joined => {
                let waited = now.since(self.last_join).0.saturating_mul(joined.into());
                self.waited = self.waited.saturating_add(waited);
            }
        }
        (self.last_join, self.row.late_host) = (now, rank);
        self.joined += 1;
        let is_last = self.joined == self.row.ranks;
        is_last.then(|| {
            self.row.late_ps = Some(now.0 - self.row.start_ps);
            self.waited
        })
    }

    /// The row of an operation whose last rank ends.
    pub fn ended(mut self, now: Time, last: u32) -> CollectiveRow {
        let ranks = u64::from(self.row.ranks);
        let took = now.0 - self.row.start_ps;
        // Bytes of the algorithm bandwidth, and those on the bus by the number of ranks.
        let (whole, trips) = match self.kind {
            CollectiveKind::AllReduce => (self.row.payload_bytes, 2),
            CollectiveKind::AllGather | CollectiveKind::Gather => (self.row.payload_bytes.saturating_mul(ranks), 1),
            _ => (self.row.payload_bytes, 1),
        };
        // Each link of a chain carries all of it.
        let shares = match self.kind {
            CollectiveKind::Broadcast | CollectiveKind::Reduce => (1, 1),
            _ => (u128::from(ranks - 1), u128::from(ranks)),
        };
        let bps = |bytes: u128| {
            let bps = (bytes * 8 * 1_000_000_000_000).checked_div(took.into());
            bps.and_then(|bps| u64::try_from(bps).ok()).filter(|_| ranks > 1)
        };
        self.row.algorithm_bps = bps(whole.into());
        self.row.bus_bps = bps(u128::from(whole) * trips * shares.0 / shares.1);
        (self.row.took_ps, self.row.last_host) = (Some(took), Some(last.into()));
        self.row
    }

    /// The row of an operation that the run's end cuts off.
    pub fn cut_off(&self) -> CollectiveRow {
        self.row.clone()
    }
}
