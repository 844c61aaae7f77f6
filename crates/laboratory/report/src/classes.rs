//! Traffic classes at the port that most of them share, in one run of a scheme.

use std::collections::BTreeMap;

use fanin_lab::place_of;
use fanin_lab::stats::six_digits;
use fanin_spec::RunSpec;
use fanin_tables::{ClassRow, RunTables};

use crate::chart::{DrawnChart, DrawnCurve};

/// Charts of one port: a bar per class.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct Classes {
    scheme: String,
    /// The sweep point, in words.
    at: String,
    seed: u64,
    /// The port with the most classes; of several, the one that sent the most bytes.
    port: String,
    charts: Vec<DrawnChart<'static>>,
}

impl Classes {
    /// `None` without `[classes]`, or if no port sent packets of two classes.
    pub fn new(spec: &RunSpec, tables: &RunTables) -> Option<Classes> {
        let mut ports: BTreeMap<&str, Vec<&ClassRow>> = BTreeMap::new();
        for row in &tables.classes {
            ports.entry(&row.port).or_default().push(row);
        }
        let bytes = |rows: &[&ClassRow]| rows.iter().map(|row| row.wire_bytes).sum::<u64>();
        let (port, mut rows) = ports.into_iter().max_by_key(|(_, rows)| (rows.len(), bytes(rows)))?;
        if rows.len() < 2 {
            return None;
        }
        rows.sort_by_key(|row| row.class);
        let charts = vec![
            chart("share of the port's bytes, %", &rows, |row| row.share_ppm as f64 / 1e4),
            chart("longest queue, KB", &rows, |row| row.queue_max_bytes as f64 / 1e3),
            chart("dropped packets", &rows, |row| row.drops as f64),
            chart("marked packets", &rows, |row| row.marks as f64),
            chart("time paused, ms", &rows, |row| row.paused_ps as f64 / 1e9),
        ];
        let charts = charts.into_iter().filter(|chart| chart.curves.iter().any(|curve| curve.y[0] > 0.0)).collect();
        Some(Classes { scheme: spec.label.clone(), at: place_of(spec), seed: spec.seed, port: port.into(), charts })
    }
}

fn chart(y: &str, rows: &[&ClassRow], value: impl Fn(&ClassRow) -> f64) -> DrawnChart<'static> {
    let bar =
        |row: &&ClassRow| DrawnCurve::of_one_run(format!("class {}", row.class), &[(0.0, six_digits(value(row)))]);
    let curves = rows.iter().map(bar).collect();
    DrawnChart { x: "".into(), y: y.into(), steps: false, bars: true, ratios: false, curves, expected: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::run;

    fn row(port: &str, class: u64, wire_bytes: u64, drops: u64) -> ClassRow {
        ClassRow { port: port.into(), class, wire_bytes, share_ppm: wire_bytes * 1_000, drops, ..ClassRow::default() }
    }

    fn classes(rows: &[ClassRow]) -> Option<Classes> {
        Classes::new(&run("newreno", 16, 1), &RunTables { classes: rows.to_vec(), ..RunTables::default() })
    }

    #[test]
    fn shows_the_port_with_most_classes_and_only_charts_with_values() {
        let rows =
            [row("a", 0, 900, 0), row("b", 3, 250, 0), row("b", 0, 750, 7), row("c", 0, 1, 0), row("c", 3, 1, 0)];
        let drawn = classes(&rows).expect("classes");
        assert_eq!(drawn.port, "b");
        let bars = |chart: &DrawnChart<'_>| chart.curves.iter().map(|bar| (bar.name.to_string(), bar.y[0])).collect();
        let charts: Vec<(&str, Vec<(String, f64)>)> =
            drawn.charts.iter().map(|chart| (chart.y.as_str(), bars(chart))).collect();
        let expected = vec![
            ("share of the port's bytes, %", vec![("class 0".into(), 75.0), ("class 3".into(), 25.0)]),
            ("dropped packets", vec![("class 0".into(), 7.0), ("class 3".into(), 0.0)]),
        ];
        assert_eq!(charts, expected);
    }

    #[test]
    fn ports_with_one_class_have_no_chart() {
        assert!(classes(&[]).is_none() && classes(&[row("a", 0, 900, 0), row("b", 3, 900, 0)]).is_none());
    }
}
