//! A paper as data: its figures, what it says of them, and whether that holds here.
//!
//! A folder `papers/NAME` has scenarios, `claims.toml` ([`Paper::read`]), the verdicts that were recorded
//! (`expected.json`), and how far they hang on what the paper leaves open (`sensitivity.toml`, `sensitivity.json`).
//! [`reproduce`] runs the scenarios, draws each figure's [`Curve`]s and judges the claims: a [`Scorecard`].

mod claim;
mod curve;
mod expected;
mod file;
mod judge;
mod measure;
mod page;
mod reproduce;
mod scorecard;
mod sensitivity;
mod tables;

pub use curve::Curve;
pub use expected::{Changed, Expected};
pub use file::{Claim, Figure, Paper, PaperProblem, Source};
pub(crate) use page::DrawnChart;
pub use reproduce::{Conditions, Mode, Reproduced, Setting, Unreproduced, reproduce};
pub use scorecard::Scorecard;
pub use sensitivity::{Sensitivity, sweep};
pub(crate) use tables::CurveRow;
