//! Synthetic runs and rows for tests.

use fanin_lab::SummaryRow;
use fanin_lab::stats::Interval;
use fanin_spec::{RunSpec, Scenario};

/// Fan-in, goodput in Mbit/s of an upper bound of 1000, and timeouts in ten rounds.
pub(crate) type Point = (u32, f64, f64);

/// A run of a small scenario over every fan-in up to 256, which determines a point's index.
pub(crate) fn run(scheme: &str, fan_in: u32, seed: u64) -> RunSpec {
    let fan_ins: Vec<u32> = (1..=256).collect();
    let text = format!("schemes = [{scheme:?}]\n[workload]\nfragment = \"256 KiB\"\n[sweep]\nfan_in = {fan_ins:?}\n");
    let variants = Scenario::parse("sample.toml", &text).and_then(|scenario| scenario.variants()).unwrap();
    variants[0].run(fan_in, seed).unwrap()
}

/// The rows of a scheme; only the time of its timeouts is missing.
pub(crate) fn rows(scheme: &str, points: &[Point]) -> Vec<SummaryRow> {
    let row = |&(fan_in, goodput, timeouts): &Point| SummaryRow {
        scheme: scheme.into(),
        place: fan_in as usize - 1,
        seeds: 3,
        goodput_mbps: Interval { mean: goodput, lo: goodput, hi: goodput },
        seeds_differ: Some(true),
        allowed_mbps: Some(1000.0),
        clients: 1,
        measured_ms: 100.0,
        timeouts,
        repair_ms: if timeouts > 0.0 { 100.0 } else { 0.0 },
        rounds: 10.0,
        ..SummaryRow::default()
    };
    points.iter().map(row).collect()
}
