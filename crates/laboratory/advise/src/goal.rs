//! Goals: `p99 < 10 ms`, `goodput > 80 %`.

use core::fmt;
use core::str::FromStr;

use fanin_lab::SummaryRow;
use fanin_units::Time;

/// Metric of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Mean,
    P50,
    P95,
    P99,
    P999,
    Max,
    Goodput,
}

const MEASURES: [(&str, Of); 7] = [
    ("mean", Of::Mean),
    ("p50", Of::P50),
    ("p95", Of::P95),
    ("p99", Of::P99),
    ("p99.9", Of::P999),
    ("max", Of::Max),
    ("goodput", Of::Goodput),
];

/// A threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    of: Of,
    /// In ms, or as a share of the upper bound.
    value: f64,
    text: String,
}

impl Goal {
    /// Distance of a point from the goal: at most one if it is met; `None` without the metric.
    pub fn distance(&self, row: &SummaryRow, line_mbps: f64) -> Option<f64> {
        let q = &row.qct_ms;
        let time = match self.of {
            Of::Mean => q.mean,
            Of::P50 => q.p50,
            Of::P95 => q.p95,
            Of::P99 => q.p99,
            Of::P999 => q.p999,
            Of::Max => q.max,
            Of::Goodput => {
                let share = row.goodput_mbps.mean / row.allowed_mbps.unwrap_or(line_mbps);
                return Some(self.value / share.max(1e-9));
            }
        };
        time.map(|ms| ms / self.value)
    }

    /// Whether a round that takes this long on the wire, in ms, can meet the goal.
    pub fn is_possible(&self, wire_ms: Option<f64>) -> bool {
        match self.of {
            Of::Goodput => self.value <= 1.0,
            _ => wire_ms.is_none_or(|wire| self.value > wire),
        }
    }

    /// The point's value of the metric, in words.
    pub fn reached(&self, row: &SummaryRow, line_mbps: f64) -> String {
        match (self.of, self.distance(row, line_mbps)) {
            (_, None) => "no result to compare".into(),
            (Of::Goodput, Some(distance)) => format!("{:.0} %", 100.0 * self.value / distance),
            (_, Some(distance)) => fanin_lab::figures::time(self.value * distance),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Goal, String> {
        let wrong = || {
            let words: Vec<&str> = MEASURES.iter().map(|(word, _)| *word).collect();
            format!(
                "`{text}` is not a goal; use \"p99 < 10 ms\" (or one of {}), or \"goodput > 80 %\"",
                words[..words.len() - 1].join(", ")
            )
        };
        let (measure, under, value) = match (text.split_once('<'), text.split_once('>')) {
            (Some((measure, value)), None) => (measure.trim(), true, value.trim()),
            (None, Some((measure, value))) => (measure.trim(), false, value.trim()),
            _ => return Err(wrong()),
        };
        let of = MEASURES.iter().find(|(word, _)| *word == measure).map(|(_, of)| *of).ok_or_else(wrong)?;
        let value = match (of, under) {
            (Of::Goodput, false) => {
                value.strip_suffix('%').and_then(|share| share.trim().parse::<f64>().ok()).map(|p| p / 100.0)
            }
            (Of::Goodput, true) | (_, false) => None,
            _ => value.parse::<Time>().ok().map(|time| time.as_secs_f64() * 1e3),
        };
        let value = value.filter(|v| v.is_finite() && *v > 0.0).ok_or_else(wrong)?;
        Ok(Goal { of, value, text: text.trim().into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_times_from_above_and_goodput_from_below() {
        let of = |text: &str| text.parse::<Goal>();
        assert_eq!(of("p99 < 10 ms").unwrap().value, 10.0);
        assert_eq!(of("goodput > 80 %").unwrap().value, 0.8);
        for micro in ["p99 < 10 \u{b5}s", "p99 < 10\u{3bc}s"] {
            assert_eq!(of(micro).unwrap().value, 0.01, "{micro}");
        }
        for wrong in
            ["fast", "p99 > 10 ms", "goodput < 80 %", "p99 < 10", "goodput > x %", "goodput > -3 %", "p98 < 1 ms"]
        {
            assert!(of(wrong).unwrap_err().contains("is not a goal"), "{wrong}");
        }
    }

    #[test]
    fn goal_is_met_at_its_threshold() {
        let row =
            SummaryRow { qct_ms: fanin_lab::Spread { p99: Some(5.0), ..Default::default() }, ..SummaryRow::default() };
        assert_eq!("p99 < 10 ms".parse::<Goal>().unwrap().distance(&row, 1e3), Some(0.5));
        assert_eq!("p50 < 10 ms".parse::<Goal>().unwrap().distance(&row, 1e3), None);
        let under = |wire_ms| "p99 < 10 ms".parse::<Goal>().unwrap().is_possible(wire_ms);
        assert_eq!([under(Some(9.9)), under(Some(10.0)), under(None)], [true, false, true]);
    }
}
