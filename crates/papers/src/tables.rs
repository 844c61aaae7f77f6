//! The curves of reproduced figures, value by value.

use super::reproduced::Reproduced;

impl Reproduced {
    /// One row a value: paper, figure, measure, curve, x, the seed's place, y.
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
    /// Names y and its unit.
    pub measure: String,
    /// What the legend calls it.
    pub curve: String,
    /// Where it stands.
    pub x: f64,
    /// The seed's place, from zero.
    pub run: u64,
    /// The value.
    pub y: f64,
}
