//! How a rank spends its time.

use fanin_driver::Watch;
use fanin_tables::{RankPartRow, RankRow};
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
    row: RankRow,
    series: Option<Series>,
}

/// How a rank spends the steps of a watch.
#[derive(Clone)]
struct Series {
    step: u64,
    from: Time,
    to: Time,
    rows: Vec<RankPartRow>,
}

impl Series {
    fn new(watch: &Watch) -> Series {
        Series { step: watch.step.0.max(1), from: watch.from, to: watch.to, rows: Vec::new() }
    }

    /// Adds a time that the rank spent with one thing. Its whole steps are one row.
    fn add(&mut self, host: u32, from: Time, to: Time, doing: Doing) {
        let (mut from, to) = (from.max(self.from).0, to.min(self.to).0);
        while from < to {
            let begin = from - from % self.step;
            let whole = (to - begin) / self.step * self.step;
            let (span, end) = if from == begin && whole > 0 {
                (whole, begin + whole)
            } else {
                (self.step, to.min(begin.saturating_add(self.step)))
            };
            if self.rows.last().is_none_or(|last| last.time_ps != begin) {
                self.rows.push(RankPartRow { host, time_ps: begin, span_ps: span, ..RankPartRow::default() });
            }
            let Some(part) = self.rows.last_mut() else { return };
            let spent = match doing {
                Doing::Computes => &mut part.compute_ps,
                Doing::Moves => &mut part.network_ps,
                Doing::Waits => &mut part.waiting_ps,
            };
            *spent += end - from;
            from = end;
        }
    }
}

impl Rank {
    /// A rank with this number of operations.
    pub fn new(host: u32, operations: usize) -> Rank {
        let end_ps = (operations == 0).then_some(0);
        let row = RankRow { host, end_ps, ..RankRow::default() };
        Rank { doing: [0; 3], since: Time::ZERO, left: operations, row, series: None }
    }

    /// Records how it spends its time.
    pub fn watch(&mut self, watch: &Watch) {
        self.series = Some(Series::new(watch));
    }

    /// Others have waited for it.
    pub fn delays(&mut self, waited: u64) {
        self.row.delays_ps = self.row.delays_ps.saturating_add(waited);
    }

    /// One of its operations ends.
    pub fn operation_ends(&mut self, now: Time) {
        self.left -= 1;
        if self.left == 0 {
            self.row.end_ps = Some(now.0);
        }
    }

    /// Its row and its series at a time.
    pub fn rows_at(&self, now: Time) -> (RankRow, Vec<RankPartRow>) {
        let mut rank = self.clone();
        rank.account(now);
        (rank.row, rank.series.map_or(Vec::new(), |series| series.rows))
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
        let since = std::mem::replace(&mut self.since, now);
        let span = now.since(since).0;
        let row = &mut self.row;
        let doing = match self.doing.map(|operations| operations > 0) {
            [true, moves, _] => {
                row.compute_ps += span;
                row.hidden_ps += if moves { span } else { 0 };
                Doing::Computes
            }
            [false, true, _] => {
                row.network_ps += span;
                Doing::Moves
            }
            [false, false, true] => {
                row.waiting_ps += span;
                Doing::Waits
            }
            [false, false, false] => return,
        };
        if let Some(series) = &mut self.series {
            series.add(row.host, since, now, doing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_has_steps_and_joins_equal_ones() {
        let watch = Watch { step: Time(10), from: Time(5), to: Time(100), servers: Vec::new() };
        let mut series = Series::new(&watch);
        series.add(3, Time(0), Time(12), Doing::Computes);
        series.add(3, Time(12), Time(47), Doing::Waits);
        series.add(3, Time(47), Time(50), Doing::Moves);
        series.add(3, Time(95), Time(200), Doing::Moves);
        let part = |time_ps, span_ps, compute_ps, network_ps, waiting_ps| RankPartRow {
            host: 3,
            time_ps,
            span_ps,
            compute_ps,
            network_ps,
            waiting_ps,
        };
        let expected = [
            part(0, 10, 5, 0, 0),
            part(10, 10, 2, 0, 8),
            part(20, 20, 0, 0, 20),
            part(40, 10, 0, 3, 7),
            part(90, 10, 0, 5, 0),
        ];
        assert_eq!(series.rows, expected);
    }
}
