//! Sample comparison for tests.

use fanin_lab::stats::Interval;
use fanin_lab::{Cost, Onset, Onsets, Spread, Summary, SummaryRow};
use fanin_spec::{Point, Scenario, Variant};

/// A scheme's curve: fan-in, goodput in Mbit/s, p99 in ms, timeouts, drops and marks per round.
pub type Curve<'a> = &'a [(u32, f64, f64, f64, f64, f64)];

/// Variants of a scenario with these schemes, and their summary over three seeds of ten rounds each.
pub fn comparison(schemes: &[(&str, Option<u32>, Curve)]) -> (Vec<Variant>, Summary) {
    let names: Vec<&str> = schemes.iter().map(|(name, ..)| *name).collect();
    // Every fan-in, so that a point's index is its fan-in minus one.
    let fan_ins: Vec<u32> = (1..=256).collect();
    let text = format!("schemes = {names:?}\n[workload]\nfragment = \"256 KiB\"\n[sweep]\nfan_in = {fan_ins:?}\n");
    let variants = Scenario::parse("sample.toml", &text).and_then(|s| s.variants()).unwrap();
    let rows = schemes.iter().flat_map(|(name, _, curve)| curve.iter().map(|point| row(name, *point)));
    let summary = Summary {
        provenance: None,
        schema: 1,
        scenario: "sample.toml".into(),
        hash: Scenario::hash(&variants),
        warnings: Vec::new(),
        rows: rows.collect(),
        along: "fan_in".into(),
        onset: Onsets(schemes.iter().map(|(name, at, _)| (name.to_string(), vec![onset(*at)])).collect()),
        searched: false,
        ecn_threshold_k: Default::default(),
        precision: None,
        engine: Cost::default(),
        findings: Vec::new(),
    };
    (variants, summary)
}

fn onset(fan_in: Option<u32>) -> Onset {
    let at = fan_in.map(|n| (n as usize - 1, Point::of_fan_in(n).0.remove(0)));
    Onset { curve: Point::default(), at }
}

fn row(scheme: &str, (fan_in, goodput, p99, rto, drop, mark): (u32, f64, f64, f64, f64, f64)) -> SummaryRow {
    let spread = Spread { mean: Some(p99 / 2.0), p50: Some(p99 / 2.0), p99: Some(p99), ..Spread::default() };
    SummaryRow {
        scheme: scheme.into(),
        point: Point::of_fan_in(fan_in),
        place: fan_in as usize - 1,
        servers: fan_in,
        hosts: fan_in + 1,
        seeds: 3,
        goodput_mbps: Interval { mean: goodput, lo: goodput * 0.98, hi: goodput * 1.02 },
        seeds_differ: Some(true),
        allowed_mbps: Some(1000.0),
        qct_ms: if p99 > 0.0 { spread } else { Spread::default() },
        fct_ms: spread,
        clients: 1,
        measured_ms: 5.0 * p99,
        timeouts: rto * 10.0,
        repair_ms: if rto > 0.0 { 5.0 * p99 } else { 0.0 },
        drops: drop * 10.0,
        marks: mark * 10.0,
        data_packets: 1e5,
        rounds: if p99 > 0.0 { 10.0 } else { 0.0 },
        rounds_open: if p99 > 0.0 { 0.0 } else { 1.0 },
        queue_max_bytes: 65_000,
        jain: Some(1.0),
        ..SummaryRow::default()
    }
}
