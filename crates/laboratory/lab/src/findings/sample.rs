//! Sample rows for tests.

use fanin_spec::{Point as At, Scenario, Variant};

use super::finding::Finding;
use super::{Seen, findings_with};
use crate::stats::Interval;
use crate::{Cost, Onset, Onsets, Spread, Summary, SummaryRow};

/// Fan-in, goodput in Mbit/s, mean query time in ms (0: no round ended); timeouts, drops and marks a round.
pub(super) type Point = (u32, f64, f64, f64, f64, f64);

/// Schemes with every fan-in up to 256, so that a point's index is its fan-in minus one.
pub(super) fn variants(schemes: &[&str]) -> Vec<Variant> {
    variants_with(schemes, "")
}

/// The same with other sections.
pub(super) fn variants_with(schemes: &[&str], sections: &str) -> Vec<Variant> {
    let fan_ins: Vec<u32> = (1..=256).collect();
    let text =
        format!("schemes = {schemes:?}\n[workload]\nfragment = \"256 KiB\"\n[sweep]\nfan_in = {fan_ins:?}\n{sections}");
    Scenario::parse("sample.toml", &text).and_then(|scenario| scenario.variants()).unwrap()
}

/// Rows of a scheme, over three seeds of ten rounds each.
pub(super) fn rows(scheme: &str, points: &[Point]) -> Vec<SummaryRow> {
    let row = |&(fan_in, goodput, mean, rto, drop, mark): &Point| {
        let spread = Spread { mean: Some(mean), p50: Some(mean), p99: Some(mean * 2.0), ..Spread::default() };
        let ended = mean > 0.0;
        SummaryRow {
            scheme: scheme.into(),
            point: At::of_fan_in(fan_in),
            place: fan_in as usize - 1,
            servers: fan_in,
            hosts: fan_in + 1,
            seeds: 3,
            goodput_mbps: Interval { mean: goodput, lo: goodput * 0.98, hi: goodput * 1.02 },
            seeds_differ: Some(true),
            allowed_mbps: Some(1000.0),
            qct_ms: if ended { spread } else { Spread::default() },
            fct_ms: if ended { spread } else { Spread::default() },
            clients: 1,
            measured_ms: 10.0 * mean,
            timeouts: rto * 10.0,
            repair_ms: if rto > 0.0 { 10.0 * (200.0 * rto).min(200.0).min(mean) } else { 0.0 },
            drops: drop * 10.0,
            marks: mark * 10.0,
            data_packets: 1e5,
            rounds: if ended { 10.0 } else { 0.0 },
            rounds_open: if ended { 0.0 } else { 1.0 },
            queue_max_bytes: 65_000,
            jain: Some(1.0),
            ..SummaryRow::default()
        }
    };
    points.iter().map(row).collect()
}

/// A collapse point at a fan-in.
pub(super) fn onset_of(fan_in: Option<u32>) -> Onset {
    let at = fan_in.map(|n| (n as usize - 1, At::of_fan_in(n).0.remove(0)));
    Onset { curve: At::default(), at }
}

/// A sentence about a run of a scheme at a fan-in.
pub(super) fn seen(scheme: &str, fan_in: usize) -> Seen {
    Seen { scheme: scheme.into(), place: fan_in - 1, says: "One flow was seen to wait.".into() }
}

/// A scheme that collapses with its third point.
pub(super) const COLLAPSE: &[Point] =
    &[(4, 900.0, 10.0, 0.0, 3.0, 0.0), (8, 905.0, 20.0, 0.0, 9.0, 0.0), (16, 212.0, 203.0, 2.1, 50.0, 0.0)];

/// Summary of schemes with these curves and collapse points.
pub(super) fn summed(schemes: &[(&str, Option<u32>, &[Point])]) -> Summary {
    Summary {
        provenance: None,
        schema: 2,
        scenario: "sample.toml".into(),
        hash: String::new(),
        warnings: Vec::new(),
        rows: schemes.iter().flat_map(|(name, _, points)| rows(name, points)).collect(),
        along: "fan_in".into(),
        onset: Onsets(schemes.iter().map(|(name, onset, _)| (name.to_string(), vec![onset_of(*onset)])).collect()),
        searched: false,
        ecn_threshold_k: Default::default(),
        precision: None,
        engine: Cost::default(),
        findings: Vec::new(),
    }
}

/// Findings of schemes with these curves and collapse points.
pub(super) fn found(schemes: &[(&str, Option<u32>, &[Point])], seen: &[Seen]) -> Vec<Finding> {
    let names: Vec<&str> = schemes.iter().map(|(name, ..)| *name).collect();
    findings_with(&variants(&names), &summed(schemes), seen)
}
