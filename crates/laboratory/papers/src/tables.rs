//! The curves of reproduced figures, value by value.

use super::reproduced::Reproduced;

impl Reproduced {
    /// One row per value: paper, figure, measure, curve, x, seed index, y.
    pub fn curve_rows(&self) -> Vec<CurveRow> {
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
        rows
    }
}

/// One value of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveRow {
    /// `m21`.
    pub paper: String,
    /// `M-6`.
    pub figure: String,
    /// The name and the unit of y.
    pub measure: String,
    /// The curve's name in the legend.
    pub curve: String,
    /// Its x.
    pub x: f64,
    /// The seed's index, from zero.
    pub run: u64,
    /// The value.
    pub y: f64,
}
