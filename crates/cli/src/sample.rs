//! Sample comparison for tests.

use fanin_lab::stats::Interval;
use fanin_lab::{Cost, Onset, Onsets, Spread, Summary, SummaryRow};
use fanin_spec::{Point, Scenario, Variant};

/// A scheme's curve.
pub type Curve<'a> = &'a [CurvePoint];

/// A point of a curve; counts are per round.
#[derive(Clone, Copy)]
pub struct CurvePoint {
    pub fan_in: u32,
    pub goodput_mbps: f64,
    pub p99_ms: f64,
    pub timeouts: f64,
    pub drops: f64,
    pub marks: f64,
}

impl CurvePoint {
    /// A point without drops, timeouts or marks.
    pub const NO_LOSS: CurvePoint =
        CurvePoint { fan_in: 0, goodput_mbps: 0.0, p99_ms: 0.0, timeouts: 0.0, drops: 0.0, marks: 0.0 };
}

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
        schema: 2,
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

fn row(scheme: &str, point: CurvePoint) -> SummaryRow {
    let CurvePoint { fan_in, goodput_mbps: goodput, p99_ms: p99, timeouts, drops, marks } = point;
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
        timeouts: timeouts * 10.0,
        repair_ms: if timeouts > 0.0 { 5.0 * p99 } else { 0.0 },
        drops: drops * 10.0,
        marks: marks * 10.0,
        data_packets: 1e5,
        rounds: if p99 > 0.0 { 10.0 } else { 0.0 },
        rounds_open: if p99 > 0.0 { 0.0 } else { 1.0 },
        queue_max_bytes: 65_000,
        jain: Some(1.0),
        ..SummaryRow::default()
    }
}
