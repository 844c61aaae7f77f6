//! Ranks of a trace over time, in one run of a scheme that is watched again.

use core::sync::atomic::AtomicBool;

use fanin_lab::{Broken, Runner, place_of};
use fanin_spec::{RunSpec, Watch};
use fanin_tables::{RankPartRow, RunError, RunTables};
use fanin_units::Time;

use super::points::round_to;

/// A row per rank, a column per slice of the run.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct RankChart {
    scheme: String,
    /// The sweep point, in words.
    at: String,
    seed: u64,
    /// The length of a slice.
    span_ms: f64,
    /// Mean shares of the ranks' time, in per cent: computes, moves data, waits.
    percent: [f64; 3],
    /// By rank, three characters per slice: the shares in which it computes, moves data and waits, in 63rds, as digits of base64 (RFC 4648).
    /// Slices at the end without work are left out.
    ranks: Vec<String>,
}

/// Slices of all ranks, and of one.
const CELLS: u64 = 1 << 19;
const SLICES: u64 = 2_048;
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl RankChart {
    /// Watches a trace again; `None` for other workloads, after a stop, or if the runner cannot watch runs.
    pub fn look(
        runner: &dyn Runner,
        spec: &RunSpec,
        tables: &RunTables,
        stop: &AtomicBool,
    ) -> Result<Option<RankChart>, Broken> {
        let Some(end) = tables.ranks.iter().map(|rank| rank.end_ps.unwrap_or(tables.totals.measured_ps)).max() else {
            return Ok(None);
        };
        let slices = (CELLS / tables.ranks.len() as u64).clamp(1, SLICES);
        let step = Time(end.div_ceil(slices).max(1));
        let watch = Watch { step, from: Time::ZERO, to: Time(end), servers: Vec::new() };
        match runner.watch(spec, watch, stop) {
            Ok(seen) => Ok(RankChart::new(spec, &seen, step.0)),
            Err(RunError::Stopped | RunError::Raised(_)) => Ok(None),
            Err(RunError::Broken(what)) => Err(Broken::new(spec, what)),
        }
    }

    /// `None` if no rank did anything.
    fn new(spec: &RunSpec, seen: &RunTables, step: u64) -> Option<RankChart> {
        // Ranks and their parts are in the order of hosts.
        let mut parts = seen.rank_series.chunk_by(|a, b| a.host == b.host).peekable();
        let mut of = |host: u32| parts.next_if(|parts| parts[0].host == host).unwrap_or(&[]);
        let ranks = seen.ranks.iter().map(|rank| digits(of(rank.host), step)).collect();
        let end = seen.rank_series.iter().map(|part| part.time_ps + part.span_ps).max()?;
        let whole = end as f64 * seen.ranks.len() as f64;
        let percent = |pick: fn(&RankPartRow) -> u64| {
            let sum: u128 = seen.rank_series.iter().map(|part| u128::from(pick(part))).sum();
            round_to(sum as f64 / whole * 100.0, 0.1)
        };
        Some(RankChart {
            scheme: spec.label.clone(),
            at: place_of(spec),
            seed: spec.seed,
            span_ms: step as f64 / 1e9,
            percent: [
                percent(|part| part.compute_ps),
                percent(|part| part.network_ps),
                percent(|part| part.waiting_ps),
            ],
            ranks,
        })
    }
}

/// The digits of a rank.
fn digits(parts: &[RankPartRow], step: u64) -> String {
    let mut text = String::new();
    for part in parts {
        // Slices without work before this one.
        let before = (part.time_ps / step) as usize * 3;
        text.extend(core::iter::repeat_n(DIGITS[0] as char, before.saturating_sub(text.len())));
        let shares = [part.compute_ps, part.network_ps, part.waiting_ps].map(|ps| {
            let share = u128::from(ps) * 63 / u128::from(part.span_ps.max(1));
            DIGITS[share.min(63) as usize] as char
        });
        (0..part.span_ps / step).for_each(|_| text.extend(shares));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::run;
    use fanin_tables::RankRow;

    #[test]
    fn shares_of_slices_are_digits() {
        let part = |host, time_ps, span_ps, compute_ps, waiting_ps| RankPartRow {
            host,
            time_ps,
            span_ps,
            compute_ps,
            waiting_ps,
            ..RankPartRow::default()
        };
        let rank = |host| RankRow { host, ..RankRow::default() };
        let seen = RunTables {
            ranks: vec![rank(0), rank(1), rank(2)],
            rank_series: vec![part(0, 0, 20, 20, 0), part(0, 30, 10, 5, 5), part(2, 10, 10, 0, 10)],
            ..RunTables::default()
        };
        let chart = RankChart::new(&run("newreno", 1, 1), &seen, 10).unwrap();
        assert_eq!(chart.ranks, ["/AA/AAAAAfAf", "", "AAAAA/"]);
        // 25, 0 and 15 of three times 40.
        assert_eq!(chart.percent, [20.8, 0.0, 12.5]);
        assert!(RankChart::new(&run("newreno", 1, 1), &RunTables::default(), 10).is_none());
    }
}
