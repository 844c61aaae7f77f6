//! A paper as data: its figures, what it says of them, and whether that holds here.
//!
//! A folder `papers/NAME` has scenarios, `claims.toml` ([`Paper::parse`]), the verdicts that were recorded ([`Expected`],
//! `expected.json`), and how far they hang on what the paper leaves open ([`Sensitivity`], `sensitivity.json`). From what runs of
//! the scenarios gave ([`Measured`]) each figure's [`Curve`]s are drawn and the claims judged: a [`Scorecard`].

mod along;
mod apart;
mod claim;
mod curve;
mod draw;
mod expected;
mod file;
mod judge;
mod measure;
mod page;
mod reproduced;
mod scorecard;
mod sensitivity;
mod tables;
mod typescript;

pub use along::Along;
pub use apart::Apart;
pub use claim::Without;
pub use curve::Curve;
pub use draw::Measured;
pub use expected::{Changed, Expected};
pub use file::{CLAIMS, Claim, Figure, Paper, PaperProblem, Scenarios, Source};
pub use judge::Verdict;
pub use measure::Measure;
#[cfg(test)]
pub(crate) use page::ScorecardData;
pub use reproduced::{Conditions, DrawnPaper, Mode, Reproduced, Setting, Spared};
pub use scorecard::{Count, Scorecard, ScoredClaim};
pub use sensitivity::{Change, ClaimSensitivity, Sensitivity};
pub use tables::CurveRow;
