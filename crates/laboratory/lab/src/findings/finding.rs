//! A finding, and a sentence about a single run, which findings quote.

/// A verdict with a short text.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Finding {
    /// The scheme; none for a comparison of several.
    pub scheme: Option<String>,
    /// Verdict.
    pub verdict: Verdict,
    /// Headline.
    pub head: String,
    /// Explanation.
    pub says: String,
}

/// Verdict on a scheme. JSON uses the names of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Sustains its load: at least 80 % of the upper bound at every point.
    Sustains,
    /// Less at some point, without losses or stalls that explain it.
    Slow,
    /// Degrades: less at some point, with losses.
    Degrades,
    /// Less than half at some point, explained by stalls or timeouts.
    Collapsed,
    /// Undecided by the seeds, or not judged.
    Open,
    /// A comparison of all schemes.
    Overall,
}

/// A sentence about one run of a scheme at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Label of the scheme.
    pub scheme: String,
    /// Index of the point in the sweep.
    pub place: usize,
    /// Sentence.
    pub says: String,
}
