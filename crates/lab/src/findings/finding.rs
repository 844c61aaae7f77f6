//! What one finding is.

/// A sentence or two.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Finding {
    /// The scheme; none where several are spoken of.
    pub scheme: Option<String>,
    /// How it fares.
    pub verdict: Verdict,
    /// In a few words.
    pub head: String,
    /// What is behind it.
    pub says: String,
}

/// How a scheme fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It has at least four fifths of what is allowed, at every point.
    Holds,
    /// It has less somewhere, and no losses or stalls tell why.
    Slow,
    /// It has less somewhere, with losses.
    Sags,
    /// It has less than half somewhere, and stalls or timeouts explain it.
    Collapses,
    /// The seeds do not tell, or nothing is judged.
    Open,
    /// Not one scheme, but all.
    Overall,
}
