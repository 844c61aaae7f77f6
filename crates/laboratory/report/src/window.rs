//! Selection of the part of a run that a timeline shows.

use fanin_spec::RunSpec;
use fanin_tables::{QueryRow, RunTables, StallRow};
use fanin_units::Time;

/// A part of a run, by rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub from: Time,
    pub to: Time,
    /// The round to look up servers' times in: the one that stalls, else the first one shown.
    pub round: u32,
    /// Whether that round is idle, or waits for a timeout while others respond.
    pub stalls: bool,
}

/// Maximum length, unless the timeout itself is longer.
const LONGEST: Time = Time::from_millis(400);
/// Number of rounds shown if none stalls.
const ROUNDS: usize = 3;

impl Window {
    /// The first round that is idle for a fourth of its time or that a timeout stalls, with a margin; else the first rounds.
    pub fn of(spec: &RunSpec, tables: &RunTables) -> Window {
        let rto_min = spec.settings.tcp.rto_min;
        let times_out = |q: &QueryRow| q.timeouts > Some(0) && q.qct_ps.is_none_or(|ps| ps >= rto_min.0);
        let still = |q: &QueryRow| {
            let took = q.qct_ps.or(q.waited_ps).unwrap_or(0);
            let within = |row: &&StallRow| row.start_ps >= q.start_ps && row.start_ps < q.start_ps.saturating_add(took);
            let own = tables.stalls.iter().filter(|row| row.client_host == q.client_host);
            own.filter(within).map(|row| row.took_ps).sum::<u64>() >= took.div_ceil(4).max(1)
        };
        let stalled = tables.queries.iter().filter(|q| q.client_host == 0).find(|q| still(q) || times_out(q));
        let shown = match (stalled, tables.queries.first()) {
            (Some(stalled), _) => std::slice::from_ref(stalled),
            (None, Some(_)) => &tables.queries[..tables.queries.len().min(ROUNDS)],
            (None, None) => &[],
        };
        let longest = LONGEST.0.max(rto_min.0.saturating_mul(2));
        let from = shown.first().map_or(0, |q| q.start_ps);
        let end = shown.last().and_then(|q| q.qct_ps.map(|ps| q.start_ps.saturating_add(ps)));
        let length = end.map_or(longest, |end| (end - from).saturating_add((end - from) / 20));
        let run = spec.settings.workload.duration.0.saturating_sub(from).max(1);
        Window {
            from: Time(from),
            to: Time(from.saturating_add(length.clamp(1, longest).min(run))),
            round: shown.first().map_or(0, |q| q.round),
            stalls: stalled.is_some(),
        }
    }

    /// Fine enough to tell a thousand packets apart; samples are thinned afterwards.
    pub fn step(&self) -> Time {
        Time(((self.to.0 - self.from.0) / 200_000).max(100_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::run;

    const MS: u64 = 1_000_000_000;

    fn spec() -> RunSpec {
        run("newreno", 8, 1)
    }

    /// Consecutive rounds: how long each takes in ms, and its timeouts.
    fn window(rounds: &[(Option<u64>, u64)]) -> Window {
        let mut start_ps = 0;
        let mut queries = Vec::new();
        for (&(ms, timeouts), round) in rounds.iter().zip(0..) {
            queries.push(QueryRow {
                round,
                start_ps,
                qct_ps: ms.map(|ms| ms * MS),
                timeouts: Some(timeouts),
                ..QueryRow::default()
            });
            start_ps += ms.unwrap_or(0) * MS;
        }
        Window::of(&spec(), &RunTables { queries, ..RunTables::default() })
    }

    fn ms(from: u64, to: u64, round: u32, stalls: bool) -> Window {
        Window { from: Time::from_millis(from), to: Time::from_millis(to), round, stalls }
    }

    #[test]
    fn the_first_round_that_waits_for_a_timeout_is_shown_with_a_margin() {
        // The second round has a timeout that nothing waits for.
        assert_eq!(window(&[(Some(20), 0), (Some(20), 1), (Some(220), 2), (Some(240), 3)]), ms(40, 271, 2, true));
    }

    #[test]
    fn without_stalls_the_first_three_rounds_are_shown() {
        assert_eq!(window(&[(Some(20), 0); 9]), ms(0, 63, 0, false));
        assert_eq!(window(&[(Some(20), 0)]), ms(0, 21, 0, false));
    }

    #[test]
    fn a_round_that_does_not_end_is_shown_for_400_ms() {
        assert_eq!(window(&[(Some(20), 0), (None, 9)]), ms(20, 420, 1, true));
        assert_eq!(window(&[(Some(900), 9)]), ms(0, 400, 0, true));
    }

    #[test]
    fn nothing_is_shown_after_the_run() {
        // Rounds are requested for five seconds.
        assert_eq!(window(&[(Some(4_900), 0), (None, 9)]), ms(4_900, 5_000, 1, true));
    }

    #[test]
    fn a_run_without_rounds_is_shown_from_its_start() {
        assert_eq!(window(&[]), ms(0, 400, 0, false));
    }
}
