//! A prediction in words.

use std::fmt;

use fanin_proxy_core::prediction::{Predicted, Prediction};

/// A prediction for a pool, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncastReport<'a> {
    /// The pool.
    pub pool: &'a str,
    /// Number of its servers.
    pub servers: usize,
    /// Whether its algorithm has a limit.
    pub has_limit: bool,
    /// The prediction.
    pub predicted: Predicted,
}

impl IncastReport<'_> {
    /// Whether an operator should act.
    pub fn is_warning(&self) -> bool {
        !self.predicted.prediction.sustains
    }
}

impl fmt::Display for IncastReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Predicted { workload, observed, prediction } = self.predicted;
        let Prediction { collapse, limit, unlimited, expected, sustains } = prediction;
        let millis = |time: fanin_units::Time| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        let basis = if observed { "observed" } else { "assumed" };
        write!(
            f,
            "{}: multigets of {} keys from {} servers, {} B each ({basis}): ",
            self.pool, workload.keys, workload.servers, workload.value
        )?;
        match (collapse, limit) {
            (None, None) if sustains => {
                return write!(f, "no incast predicted up to {} servers; mean time {}", self.servers, millis(expected));
            }
            (Some(collapse), _) => write!(
                f,
                "without a limit they are predicted to collapse from {collapse} servers on; mean time {}",
                millis(unlimited)
            )?,
            (None, _) => write!(
                f,
                "without a limit they are predicted to lose goodput to incast, up to {} servers without collapse; mean time {}",
                self.servers,
                millis(unlimited)
            )?,
        }
        if let Some(limit) = limit {
            let noun = if limit == 1 { "server" } else { "servers" };
            write!(f, ", with the limit of {limit} {noun} at once {}", millis(expected))?;
        }
        match (sustains, self.has_limit) {
            (true, _) => Ok(()),
            (false, false) => f.write_str("; `one-all` has no limit: set multiget = \"sliding-window\""),
            (false, true) => f.write_str("; no limit prevents that: --advise lists remedies"),
        }
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::Time;

    use super::*;
    use fanin_proxy_core::prediction::Workload;

    #[test]
    fn says_collapse_limit_and_remedy() {
        let prediction = Prediction {
            collapse: Some(12),
            limit: Some(8),
            unlimited: Time::from_millis(86),
            expected: Time::from_micros(8260),
            sustains: true,
        };
        let report = |prediction, has_limit| IncastReport {
            pool: "a",
            servers: 32,
            has_limit,
            predicted: Predicted {
                workload: Workload { keys: 300, servers: 32, value: 585 },
                observed: true,
                prediction,
            },
        };
        let limited = report(prediction, true);
        assert_eq!(
            limited.to_string(),
            "a: multigets of 300 keys from 32 servers, 585 B each (observed): without a limit they are predicted to collapse from 12 servers \
             on; mean time 86.0 ms, with the limit of 8 servers at once 8.3 ms"
        );
        assert!(!limited.is_warning());
        let unlimited = report(Prediction { limit: None, sustains: false, ..prediction }, false);
        assert!(unlimited.is_warning() && unlimited.to_string().ends_with("set multiget = \"sliding-window\""));
        let none = report(Prediction { collapse: None, limit: None, ..prediction }, true);
        assert!(none.to_string().ends_with("(observed): no incast predicted up to 32 servers; mean time 8.3 ms"));
    }
}
