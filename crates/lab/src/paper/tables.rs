//! The curves of reproduced figures as one table.

use super::reproduce::Reproduced;
use crate::tables::Table;

impl Reproduced {
    /// One row a value: paper, figure, measure, curve, x, the seed's place, y.
    pub(crate) fn table(&self) -> Table {
        let mut rows = Vec::new();
        for paper in &self.papers {
            for figure in &paper.figures {
                for chart in &figure.charts {
                    for curve in &chart.curves {
                        for point in &curve.points {
                            for (run, &value) in (0..).zip(&point.values) {
                                let measure = serde_json::to_value(chart.measure).unwrap_or_default();
                                rows.push(CurveRow {
                                    paper: paper.name.clone(),
                                    figure: figure.id.clone(),
                                    measure: measure.as_str().unwrap_or_default().into(),
                                    curve: curve.name.clone(),
                                    x: point.x,
                                    run,
                                    y: value,
                                });
                            }
                        }
                    }
                }
            }
        }
        Table::of_curves(&rows)
    }
}

/// One value of a curve.
pub(crate) struct CurveRow {
    pub paper: String,
    pub figure: String,
    /// Names y and its unit.
    pub measure: String,
    pub curve: String,
    pub x: f64,
    /// The seed's place, from zero.
    pub run: u64,
    pub y: f64,
}
