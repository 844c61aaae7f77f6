//! How a rank spends its time.

use fanin_tables::RankRow;
use fanin_units::Time;

/// State of an operation in progress.
#[derive(Clone, Copy)]
pub(super) enum Doing {
    /// A processor computes.
    Computes,
    /// Data are on their way.
    Moves,
    /// It awaits another rank.
    Waits,
}

/// A rank: its operations in progress by state, and its row so far.
#[derive(Clone)]
pub(super) struct Rank {
    doing: [u32; 3],
    since: Time,
    /// Operations that have not ended.
    left: usize,
    pub row: RankRow,
}

impl Rank {
    /// A rank with this number of operations.
    pub fn new(host: u32, operations: usize) -> Rank {
        let end_ps = (operations == 0).then_some(0);
        Rank { doing: [0; 3], since: Time::ZERO, left: operations, row: RankRow { host, end_ps, ..RankRow::default() } }
    }

    /// One of its operations ends.
    pub fn operation_ends(&mut self, now: Time) {
        self.left -= 1;
        if self.left == 0 {
            self.row.end_ps = Some(now.0);
        }
    }

    /// The row at a time.
    pub fn row_at(&self, now: Time) -> RankRow {
        let mut rank = self.clone();
        rank.account(now);
        rank.row
    }

    /// An operation begins to do something.
    pub fn begins(&mut self, now: Time, doing: Doing) {
        self.account(now);
        self.doing[doing as usize] += 1;
    }

    /// An operation no longer does it.
    pub fn ends(&mut self, now: Time, doing: Doing) {
        self.account(now);
        self.doing[doing as usize] -= 1;
    }

    /// Adds the time since the last change.
    fn account(&mut self, now: Time) {
        let span = now.since(self.since).0;
        self.since = now;
        let row = &mut self.row;
        match self.doing.map(|operations| operations > 0) {
            [true, moves, _] => {
                row.compute_ps += span;
                row.hidden_ps += if moves { span } else { 0 };
            }
            [false, true, _] => row.network_ps += span,
            [false, false, true] => row.waiting_ps += span,
            [false, false, false] => {}
        }
    }
}
