//! Conditions and results of a reproduction.

use core::fmt;
use core::time::Duration;

use super::curve::Curve;
use super::file::Claim;
use super::judge::Judgement;
use super::measure::Measure;
use super::sensitivity::{ClaimSensitivity, Sensitivity};
use super::setting::Setting;
use fanin_lab::stats::six_digits;
use fanin_report::Mark;

/// Which settings to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Those of the paper.
    Full,
    /// Fewer seeds and shorter runs, as set in the claims file.
    Quick,
}

/// The conditions of a reproduction.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Full or quick.
    pub mode: Mode,
    /// Overrides the scenarios' number of seeds.
    pub seeds: Option<u32>,
    /// Overrides the scenarios' first seed.
    pub first_seed: Option<u64>,
    /// Scenario keys to set, as with `--set`.
    pub set: Vec<Setting>,
}

/// The results.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// The conditions.
    pub conditions: Conditions,
    /// The papers, in the requested order.
    pub papers: Vec<DrawnPaper>,
    /// Runs that came from the cache.
    pub cached_runs: usize,
    /// Total wall time.
    pub wall: Duration,
    /// User CPU time of all runs; for cached runs as originally measured.
    pub cpu: Duration,
    /// Notices about the cache for the user.
    pub notices: Vec<String>,
}

/// A paper with its figures drawn.
#[derive(Clone, Debug)]
pub struct DrawnPaper {
    /// `m21`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its figures.
    pub figures: Vec<DrawnFigure>,
    /// How its verdicts depend on the parameters it leaves open.
    pub sensitivity: Sensitivity,
}

/// A figure with its curves and judged claims.
#[derive(Clone, Debug)]
pub struct DrawnFigure {
    /// `M-6`.
    pub id: String,
    /// Title.
    pub title: String,
    /// Whether the y axis is logarithmic.
    pub log: bool,
    /// One chart per measure.
    pub charts: Vec<Chart>,
    /// Its claims with their verdicts.
    pub claims: Vec<JudgedClaim>,
    /// Skipped runs; `None` if all were needed.
    pub spared: Option<Spared>,
}

/// Runs skipped because the means of their points were known precisely enough.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Spared {
    /// The target: half-width of a mean's 95 % CI, as a share of the mean.
    pub precision: f64,
    /// The figure's points over all schemes.
    pub points: usize,
    /// Points that were stopped early.
    pub early: usize,
    /// Runs that were planned.
    pub runs: usize,
    /// Planned runs that were skipped.
    pub spared: usize,
}

impl fmt::Display for Spared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spared { precision, points, early, runs, spared } = self;
        let percent = six_digits(100.0 * precision);
        write!(
            f,
            "{early} of {points} points stopped early, at a precision of {percent} %, saving {spared} of {runs} runs"
        )
    }
}

/// One chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The measure.
    pub measure: Measure,
    /// The x axis title.
    pub x: String,
    /// The y axis title.
    pub y: &'static str,
    /// The curves, in legend order.
    pub curves: Vec<Curve>,
    /// The curves whose ratios are drawn; empty if values are drawn as they are.
    pub over: Vec<String>,
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub struct JudgedClaim {
    /// The claim.
    pub claim: Claim,
    /// The outcome.
    pub judgement: Judgement,
    /// Its expectation, as marked in the figure.
    pub mark: Mark,
    /// How it depends on the open parameters; `None` if this was not tried.
    pub hanging: Option<ClaimSensitivity>,
}
