//! A finding, and a sentence about a single run, which findings quote.

use super::verdict::Verdict;

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
