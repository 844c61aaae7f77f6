//! Summary of a comparison: one row per scheme and point, with figures to six digits, and each scheme's collapse point.

use core::time::Duration;
use std::collections::BTreeMap;

use fanin_spec::{Coordinate, FAN_IN, Point, Scenario, Variant};
use fanin_tables::RunTables;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::measures::{PointRuns, SummaryRow};
use crate::setting::thresholds;
use crate::stats::{self, six_digits};
use crate::{CompareOptions, Done, Finding, Outcome, Provenance, Runs};

/// The object that `--json` prints. Everything except `engine` is a function of scenario and seeds, unless it was measured.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Summary {
    /// Version of this format: 1.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Hash of the resolved scenario: equal for equal settings.
    pub hash: String,
    /// Settings without effect, or without the intended one, with their places; [`summarise`] leaves this empty.
    pub warnings: Vec<String>,
    /// By scheme, then point; without points that have no finished run.
    pub rows: Vec<SummaryRow>,
    /// The key along which collapse points are searched: the first with several values.
    pub along: String,
    /// Each scheme's collapse point: the first value along that key where mean goodput is under half of the best before it, there and
    /// at the next point.
    pub onset: Onsets,
    /// Whether the collapse point was searched for, so that points between those of `rows` were not run.
    pub searched: bool,
    /// Marking threshold of the client's port, by the label of each scheme that marks; several values if it is swept.
    pub ecn_threshold_k: BTreeMap<String, Vec<String>>,
    /// Precision of goodputs, if requested.
    pub precision: Option<Precision>,
    /// Where and when the figures were measured; absent if they follow from the scenario alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Cost.
    pub engine: Cost,
    /// Findings in words; [`summarise`] leaves this empty.
    pub findings: Vec<Finding>,
}

/// Requested and achieved precision of goodputs.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Precision {
    /// Requested half width of the 95 % CI over the mean.
    pub wanted: f64,
    /// Largest at any point.
    pub reached: f64,
}

/// The collapse point of a scheme on one curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Onset {
    /// Values of the other keys, shared by all points of the curve; empty if there is one curve.
    pub curve: Point,
    /// Index in the sweep and value along the curve; `None` without a collapse.
    pub at: Option<(usize, Coordinate)>,
}

/// An object with the curve's point, if there are several, and the value.
impl Serialize for Onset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.at.as_ref().map(|(_, coordinate)| &coordinate.value);
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("point", &self.curve)?;
        map.serialize_entry("onset", &value)?;
        map.end()
    }
}

/// Labels with the collapse point of each curve, in the order of the schemes.
#[derive(Clone, Debug, Default)]
pub struct Onsets(pub Vec<(String, Vec<Onset>)>);

/// The value itself for a scheme with one curve, otherwise a list.
impl Serialize for Onsets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (label, onsets) in &self.0 {
            match onsets.as_slice() {
                [only] => map.serialize_entry(label, &only.at.as_ref().map(|(_, coordinate)| &coordinate.value))?,
                several => map.serialize_entry(label, several)?,
            }
        }
        map.end()
    }
}

/// Cost of the finished runs; not part of the results.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Cost {
    /// Events processed.
    pub events: u64,
    /// Packet transmissions over links.
    pub packet_hops: u64,
    /// User CPU time of the simulations.
    pub cpu_s: f64,
}

/// Summarises an outcome. `runs` are the plan of `variants` under `options`, `scenario` the scenario's name.
pub fn summarise(scenario: &str, variants: &[Variant], options: CompareOptions, runs: Runs<'_>) -> Summary {
    let mut points: BTreeMap<(&str, usize), Vec<(u64, &RunTables)>> = BTreeMap::new();
    for (spec, tables) in runs.finished() {
        points.entry((&spec.label, spec.place)).or_default().push((spec.seed, tables));
    }
    let mut rows: Vec<SummaryRow> = Vec::new();
    let mut all_onsets = Vec::new();
    for variant in variants {
        let first = rows.len();
        for place in 0..variant.points.len() {
            if let Some(runs) = points.get(&(variant.label.as_str(), place)) {
                rows.extend(SummaryRow::of(&PointRuns::of(variant, place, runs)));
            }
        }
        all_onsets.push((variant.label.clone(), onsets(variant, &rows[first..])));
    }
    let precision = options.precision.map(|wanted| {
        let reached = rows.iter().map(SummaryRow::half_width).fold(0.0, f64::max);
        Precision { wanted, reached: six_digits(reached) }
    });
    let thresholds = variants.iter().map(|variant| (variant.label.clone(), thresholds(variant)));
    Summary {
        schema: 2,
        scenario: scenario.into(),
        hash: Scenario::hash(variants),
        warnings: Vec::new(),
        rows,
        along: along(variants),
        onset: Onsets(all_onsets),
        searched: options.onset,
        ecn_threshold_k: thresholds.filter(|(_, values)| !values.is_empty()).collect(),
        precision,
        provenance: runs.outcome.provenance.clone(),
        engine: cost(runs.outcome),
        findings: Vec::new(),
    }
}

/// The key along which curves are drawn.
fn along(variants: &[Variant]) -> String {
    let coordinate = variants.first().and_then(|c| c.points[0].point.0.get(c.along()));
    coordinate.map_or(FAN_IN, |coordinate| &coordinate.key).into()
}

/// The collapse point of each curve of a scheme with these rows.
fn onsets(variant: &Variant, rows: &[SummaryRow]) -> Vec<Onset> {
    let along = variant.along();
    let onset = |curve: Vec<usize>| {
        let rows: Vec<&SummaryRow> = rows.iter().filter(|row| curve.contains(&row.place)).collect();
        let goodputs: Vec<f64> = rows.iter().map(|row| row.goodput_mbps.mean).collect();
        let at = stats::onset(&goodputs).map(|i| (rows[i].place, rows[i].point.0[along].clone()));
        Onset { curve: variant.points[curve[0]].point.without(along), at }
    };
    variant.curves().into_iter().map(onset).collect()
}

fn cost(outcome: &Outcome) -> Cost {
    let done = || outcome.runs.iter().flatten();
    Cost {
        events: done().map(|d| d.tables.engine.events).sum(),
        packet_hops: done().map(|d| d.tables.engine.packet_hops).sum(),
        cpu_s: done().map(|d: &Done| d.cpu).sum::<Duration>().as_secs_f64(),
    }
}
