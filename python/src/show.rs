//! Text table of a comparison: one row per scheme and point, then the findings.

use fanin::{Comparison, figures};

/// Column heads.
const HEADS: [&str; 7] = ["scheme", "", "goodput, Mbit/s", "±", "p99", "timeouts", "drops"];

/// The whole text.
pub fn comparison(comparison: &Comparison) -> String {
    let (scenario, summary) = (comparison.scenario(), comparison.summary());
    let rows = summary.rows.iter().map(|row| {
        let goodput = row.goodput_mbps;
        [
            row.scheme.clone(),
            row.point.to_string(),
            figures::three(goodput.mean),
            row.seeds_differ.map_or(String::new(), |_| figures::three((goodput.hi - goodput.lo) / 2.0)),
            row.qct_ms.p99.map_or("-".into(), figures::time),
            figures::three(row.timeouts),
            figures::three(row.drops),
        ]
    });
    let rows: Vec<[String; 7]> = [HEADS.map(String::from)].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    let mut text = format!("{}\n\n", scenario.title().unwrap_or(scenario.name()));
    let [done, planned] = comparison.finished();
    if done < planned {
        text += &format!("cut short: {done} of {planned} runs finished\n\n");
    }
    for row in &rows {
        text += &(line(row) + "\n");
    }
    for finding in comparison.findings() {
        let scheme = finding.scheme.as_deref().map_or(String::new(), |scheme| format!("{scheme} "));
        text += &format!("\n{scheme}{}. {}", finding.head, finding.says);
    }
    for warning in comparison.warnings() {
        text += &format!("\nwarning: {warning}");
    }
    text
}
