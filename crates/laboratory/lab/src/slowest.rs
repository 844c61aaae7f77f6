//! Slow rounds: the slowest of all, and slow rounds at the start of a run.

use std::cmp::Reverse;

use fanin_spec::Settings;
use fanin_tables::{FlowKind, RunTables};

use crate::catalogue::{Figure, Kind, Part, Shaped, Value, figures};
use crate::stats::{self, six_digits};

figures! {
    /// Some rounds of a point.
    #[derive(Clone, Debug, PartialEq, serde::Serialize)]
    #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
    Slowest {} {
        /// Seed and round, the longest first; at most five.
        rounds: Vec<(u64, u32)>, "number";
        /// Number of rounds.
        count: usize, "count";
        /// Number of finished rounds over all seeds.
        of: usize, "count";
        /// Goodput without them, mean over seeds.
        goodput_mbps: f64, "Mbit/s";
    }
}

impl Shaped for Vec<(u64, u32)> {
    fn parts(of: &Figure) -> Vec<Part> {
        vec![Part { json: format!("{}[]", of.name), column: None, ..of.alone(Kind::List) }]
    }
    fn values(&self) -> Vec<Value> {
        let named = self.iter().map(|(seed, round)| format!("{seed}:{round}"));
        vec![Value::Text(named.collect::<Vec<_>>().join(" "))]
    }
    fn absent() -> Vec<Value> {
        vec![Value::Text(String::new())]
    }
}

impl Slowest {
    /// Number of rounds listed.
    pub const NAMED: usize = 5;
}

/// Whether one client's rounds are consecutive and equal in size, so that some can be excluded.
fn in_turn(s: &Settings) -> bool {
    matches!(s.workload.kind, fanin_spec::Kind::Barrier | fanin_spec::Kind::WebSearch) && s.clients() == 1
}

/// A finished round: its duration, seed and number.
type Ended = (u64, u64, u32);

fn ended(runs: &[(u64, &RunTables)]) -> Vec<Ended> {
    let of = |(seed, run): &(u64, &RunTables)| {
        let seed = *seed;
        run.queries.iter().filter_map(move |q| Some((q.qct_ps?, seed, q.round))).collect::<Vec<_>>()
    };
    runs.iter().flat_map(of).collect()
}

/// The longest of all finished rounds, up to 1 %.
pub(crate) fn slowest(runs: &[(u64, &RunTables)], s: &Settings) -> Option<Slowest> {
    let mut left_out = ended(runs);
    let of = left_out.len();
    left_out.sort_unstable_by_key(|&(took, seed, round)| (Reverse(took), seed, round));
    left_out.truncate(of / 100);
    without(runs, &left_out, of).filter(|_| in_turn(s))
}

/// A round at the start is cold if it takes this many medians.
const COLD: u64 = 3;
/// Rounds that may be a run's start. The first one may be fast: connections lose packets once their windows have grown.
const COLD_ROUNDS: u32 = 6;

/// The rounds at the start of runs up to the last slow one.
pub(crate) fn cold(runs: &[(u64, &RunTables)], s: &Settings) -> Option<Slowest> {
    let all = ended(runs);
    let mut times: Vec<u64> = all.iter().map(|&(took, ..)| took).collect();
    times.sort_unstable();
    let median = *times.get(times.len() / 2)?;
    let mut left_out = Vec::new();
    for &(seed, _) in runs {
        let own = |round| all.iter().find(|&&(_, of, number)| (of, number) == (seed, round)).copied();
        let first: Vec<Ended> = (0..COLD_ROUNDS).map_while(own).collect();
        let last = first.iter().rposition(|&(took, ..)| took >= COLD.saturating_mul(median));
        left_out.extend(first.into_iter().take(last.map_or(0, |last| last + 1)));
    }
    without(runs, &left_out, all.len()).filter(|_| in_turn(s))
}

/// Goodput without some rounds, if any. All rounds deliver the same amount.
fn without(runs: &[(u64, &RunTables)], left_out: &[Ended], of: usize) -> Option<Slowest> {
    let without = |(seed, run): &(u64, &RunTables)| {
        let own = || left_out.iter().filter(|(_, of, _)| of == seed);
        let left = run.totals.measured_ps.saturating_sub(own().map(|(took, ..)| took).sum());
        let a_round = run
            .flows
            .iter()
            .filter(|f| f.class == FlowKind::Answer && f.round == Some(0))
            .filter_map(|f| f.payload_bytes)
            .sum::<u64>();
        let bytes = run.totals.payload_bytes.saturating_sub(own().count() as u64 * a_round);
        if left == 0 { 0.0 } else { bytes as f64 * 8.0 / (left as f64 / 1e6) }
    };
    let goodputs: Vec<f64> = runs.iter().map(without).collect();
    (!left_out.is_empty()).then(|| Slowest {
        rounds: left_out.iter().take(Slowest::NAMED).map(|&(_, seed, round)| (seed, round)).collect(),
        count: left_out.len(),
        of,
        goodput_mbps: stats::mean(&goodputs).map_or(0.0, six_digits),
    })
}
