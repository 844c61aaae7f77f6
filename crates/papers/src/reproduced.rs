//! How papers are reproduced, and what comes out.

use core::fmt;
use core::time::Duration;

use super::curve::Curve;
use super::file::Claim;
use super::judge::Judgement;
use super::measure::Measure;
use super::sensitivity::{ClaimSensitivity, Sensitivity};
use fanin_lab::stats::six_digits;
use fanin_report::Mark;

/// How much of a paper's settings is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The paper's own.
    Full,
    /// Fewer seeds and shorter runs, as its claims file has them.
    Quick,
}

/// How a paper is reproduced.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Full or quick.
    pub mode: Mode,
    /// In place of the scenarios' number of seeds.
    pub seeds: Option<u32>,
    /// In place of the scenarios' first seed.
    pub first_seed: Option<u64>,
    /// Keys of scenarios that are set, as `--set` does.
    pub set: Vec<Setting>,
}

/// A key of some or of all scenarios, set to a value.
#[derive(Clone, Debug)]
pub struct Setting {
    /// `path.to.key=VALUE`.
    pub assignment: String,
    /// The scenarios' files; all where there is none.
    pub scenarios: Vec<String>,
}

impl Setting {
    /// A key of all scenarios.
    pub fn everywhere(assignment: &str) -> Setting {
        Setting { assignment: assignment.into(), scenarios: Vec::new() }
    }

    /// Whether it sets a key of this scenario.
    pub fn is_of(&self, scenario: &str) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|name| name == scenario)
    }
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// How they were reproduced.
    pub conditions: Conditions,
    /// The papers, in the order that was asked for.
    pub papers: Vec<DrawnPaper>,
    /// Runs that came from the cache.
    pub cached_runs: usize,
    /// Wall time of it all.
    pub wall: Duration,
    /// User CPU time of all runs, those of the cache as they were measured then.
    pub cpu: Duration,
    /// What the user may want to know of the cache.
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
    /// How its verdicts hang on what it leaves open.
    pub sensitivity: Sensitivity,
}

/// A figure with its curves and judged claims.
#[derive(Clone, Debug)]
pub struct DrawnFigure {
    /// `M-6`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Whether the y axis is logarithmic.
    pub log: bool,
    /// One chart a measure that is drawn.
    pub charts: Vec<Chart>,
    /// Its claims with their verdicts.
    pub claims: Vec<JudgedClaim>,
    /// What of its runs was not needed; `None` where all were.
    pub spared: Option<Spared>,
}

/// Runs that were not needed, since their points' means were known well enough.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Spared {
    /// Half of a mean's 95 % interval, as a share of the mean: what it was to be known to.
    pub precision: f64,
    /// The figure's points, all schemes'.
    pub points: usize,
    /// Those that were stopped early.
    pub early: usize,
    /// Runs that were planned.
    pub runs: usize,
    /// Those of them that were not made.
    pub spared: usize,
}

impl fmt::Display for Spared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spared { precision, points, early, runs, spared } = self;
        let percent = six_digits(100.0 * precision);
        write!(f, "{early} of {points} points stopped early, known to {percent} %; spared {spared} of {runs} runs")
    }
}

/// One chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What is drawn.
    pub measure: Measure,
    /// The words of the axes.
    pub x: String,
    /// The words of the axes.
    pub y: &'static str,
    /// The curves, in the legend's order.
    pub curves: Vec<Curve>,
    /// The curves that it is drawn over; none where it shows values as they are.
    pub over: Vec<String>,
}

/// A claim with its verdict.
#[derive(Clone, Debug)]
pub struct JudgedClaim {
    /// The claim.
    pub claim: Claim,
    /// The outcome.
    pub judgement: Judgement,
    /// What it expects, for its figure.
    pub mark: Mark,
    /// How it hangs on what the paper leaves open; `None` where nobody looked.
    pub hanging: Option<ClaimSensitivity>,
}
