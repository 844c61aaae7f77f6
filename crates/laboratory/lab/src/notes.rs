//! Notes that apply to all figures of a comparison.

use std::collections::BTreeSet;

use crate::Summary;
use crate::figures::three;

/// Notes on all figures: their precision, if requested, whether nothing is random, and schemes that could not move objects.
pub fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(precision) = summary.precision {
        let [wanted, reached] = [precision.wanted, precision.reached].map(|share| three(100.0 * share));
        notes.push(match precision.reached <= precision.wanted {
            true => format!("precision: {reached} % ({wanted} % requested)"),
            false => {
                format!("precision not reached: {reached} % ({wanted} % requested) with the maximum number of seeds")
            }
        });
    }
    if !summary.rows.is_empty() && summary.rows.iter().all(|row| row.seeds_differ == Some(false)) {
        notes.push("nothing is random: all seeds give the same run".into());
    }
    let schemes: BTreeSet<&str> =
        summary.rows.iter().filter(|row| row.has_no_plan).map(|row| row.scheme.as_str()).collect();
    notes.extend(schemes.into_iter().map(|scheme| {
        format!(
            "{scheme} moved nothing: some object is requested more often than any server of its rack can serve \
             (`picc.requests_per_s`, `picc.memory`)"
        )
    }));
    notes
}
