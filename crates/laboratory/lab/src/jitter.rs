//! Detection of results that depend on phase effects, by repeating runs with packet jitter.

use fanin_spec::{RunSpec, Variant};

use crate::figures::three;
use crate::findings::verdict_if;
use crate::{Axis, Runs, Summary, SummaryRow, Verdict};

/// Ratios above this are not phase effects: goodput near a threshold between verdicts, or slightly less fair flows.
const ALIKE: f64 = 0.8;

/// Variants without jitter whose workload is judged, with jitter and one seed, to run in addition.
pub fn with_jitter(variants: &[Variant]) -> Vec<Variant> {
    let judged = variants.iter().filter(|variant| variant.settings.workload.kind.many_to_one());
    judged.filter_map(Variant::with_jitter).collect()
}

/// Number of points that a warning names.
const NAMED: usize = 4;

/// A warning about points whose results under every seed differ from those with jitter; `None` without such points.
pub fn hang_on_phases(
    variants: &[Variant],
    summary: &Summary,
    runs: Runs<'_>,
    with_jitter: &Summary,
) -> Option<String> {
    let axis = Axis::of(variants);
    // For other workloads, the index measures waiting for the last round.
    let endless = variants.iter().all(|variant| variant.settings.workload.kind.facts().endless);
    let differs = |jittery: &SummaryRow| {
        let own = |row: &&SummaryRow| row.scheme == jittery.scheme && row.place == jittery.place;
        let row = summary.rows.iter().find(own)?;
        let there = |(spec, _): &(&RunSpec, _)| spec.label == row.scheme && spec.place == row.place;
        let goodputs = runs.finished().filter(there).map(|(_, tables)| tables.goodput_mbps());
        let verdicts: Vec<Verdict> = goodputs.map(|mbps| verdict_if(row, mbps)).collect();
        let now = verdict_if(jittery, jittery.goodput_mbps.mean);
        let [here, there] = [row, jittery].map(|row| three(row.goodput_mbps.mean));
        let [less, more] = [f64::min, f64::max].map(|of| of(row.goodput_mbps.mean, jittery.goodput_mbps.mean));
        let how = match row.jain.zip(jittery.jain).filter(|_| endless) {
            _ if !verdicts.contains(&now) && less < ALIKE * more => {
                format!("reaches {here} Mbit/s, with jitter {there}")
            }
            Some((here, there)) if here < ALIKE * there => {
                format!("has a Jain's index of {here:.2}, with jitter {there:.2}")
            }
            _ => return None,
        };
        let curve = Some(axis.curve(row)).filter(|curve| !curve.is_empty());
        let place = [Some(axis.at(&axis.tick(row))), curve].into_iter().flatten().collect::<Vec<_>>().join(", ");
        Some((format!("{} {place}", row.scheme), how))
    };
    let found: Vec<(String, String)> = with_jitter.rows.iter().filter_map(differs).collect();
    let phases = "phase effects that real hosts do not have (`host.packet_jitter = \"none\"`)";
    let named = found.iter().take(NAMED).map(|(who, how)| format!("{who} {how}")).collect::<Vec<_>>().join("; ");
    match (&found[..], found.len().saturating_sub(NAMED)) {
        ([], _) => None,
        ([(who, how)], _) => Some(format!("{who} depends on {phases}: it {how}")),
        (all, 0) => Some(format!("{} points depend on {phases}: {named}", all.len())),
        (all, more) => Some(format!("{} points depend on {phases}: {named}; and {more} others", all.len())),
    }
}
