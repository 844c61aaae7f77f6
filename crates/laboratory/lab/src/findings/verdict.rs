//! Verdicts on schemes: identifiers and verbs.

/// Verdict on a scheme, at one point or over a sweep. A later variant of the first five is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Sustains its load: at least 80 % of the upper bound, and idle rounds are not the rule.
    Sustains,
    /// Less, without losses or stalls that explain it.
    Slow,
    /// Pauses of lossless ports take a significant part of senders' time.
    Paused,
    /// Less than 80 %, with losses; at least half if stalls or timeouts explain the deficit.
    Degrades,
    /// Less than half, and stalls or timeouts explain at least half of the deficit.
    Collapsed,
    /// Undecided by the seeds, or not judged.
    Open,
    /// A comparison of all schemes.
    Overall,
}

impl Verdict {
    /// Verdicts on a point, the best first.
    pub const OF_POINTS: [Verdict; 5] =
        [Verdict::Sustains, Verdict::Slow, Verdict::Paused, Verdict::Degrades, Verdict::Collapsed];

    /// Its name in JSON and style sheets.
    pub fn id(self) -> &'static str {
        match self {
            Verdict::Sustains => "sustains",
            Verdict::Slow => "slow",
            Verdict::Paused => "paused",
            Verdict::Degrades => "degrades",
            Verdict::Collapsed => "collapsed",
            Verdict::Open => "open",
            Verdict::Overall => "overall",
        }
    }

    /// Its verb in the third person; `open` and `overall` have none.
    pub fn verb(self) -> &'static str {
        match self {
            Verdict::Sustains => "sustains",
            Verdict::Slow => "is slow",
            Verdict::Paused => "is paused",
            Verdict::Degrades => "degrades",
            Verdict::Collapsed => "collapses",
            Verdict::Open => "open",
            Verdict::Overall => "",
        }
    }

    /// The same after "may".
    pub(super) fn infinitive(self) -> &'static str {
        match self {
            Verdict::Sustains => "sustain",
            Verdict::Slow => "be slow",
            Verdict::Paused => "be paused",
            Verdict::Degrades => "degrade",
            Verdict::Collapsed => "collapse",
            Verdict::Open | Verdict::Overall => "",
        }
    }

    /// Whether losses, stalls or pauses take much of the time.
    pub fn is_impaired(self) -> bool {
        matches!(self, Verdict::Paused | Verdict::Degrades | Verdict::Collapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_identifiers() {
        for verdict in Verdict::OF_POINTS.into_iter().chain([Verdict::Open, Verdict::Overall]) {
            assert_eq!(serde_json::to_value(verdict).ok(), Some(verdict.id().into()));
        }
    }
}
