//! Published papers as data: figures, claims, and whether the claims hold in this simulator.
//!
//! A folder `papers/NAME` has scenarios, `claims.toml` ([`Paper::parse`]), the recorded verdicts ([`Expected`], `expected.json`),
//! and their dependence on parameters that the paper leaves open ([`Sensitivity`], `sensitivity.json`). The runs of the scenarios
//! ([`Measured`]) give each figure's [`Curve`]s, by which its claims are judged: a [`Scorecard`].

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
mod setting;
mod tables;
mod typescript;

pub use along::Along;
pub use apart::Apart;
pub use claim::{ReadFrom, Without};
pub use curve::Curve;
pub use draw::Measured;
pub use expected::{Changed, Expected};
pub use file::{CLAIMS, Claim, Figure, Paper, PaperProblem, Scenarios, Source};
pub use judge::Verdict;
pub use measure::Measure;
#[cfg(test)]
pub(crate) use page::ScorecardData;
pub use reproduced::{Conditions, DrawnPaper, Mode, Reproduced, Spared};
pub use scorecard::{Count, Scorecard, ScoredClaim};
pub use sensitivity::{Change, ClaimSensitivity, Sensitivity};
pub use setting::Setting;
pub use tables::CurveRow;
