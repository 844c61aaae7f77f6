//! Notes that apply to all figures of a comparison.

use crate::Summary;
use crate::figures::three;

/// Notes on all figures: their precision, if requested, and whether nothing is random.
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
    notes
}
