//! `scorecard.json`: the contract that programs read.

use serde::Serialize;

use super::reproduced::{JudgedClaim, Mode, Reproduced};
use crate::stats::six_digits;

/// Every claim of the reproduced figures, with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Scorecard {
    /// The version of this form: 1.
    pub schema: u32,
    /// The version of the program.
    pub fanin: String,
    /// Full or quick.
    pub mode: Mode,
    /// Wall time, seconds.
    pub wall_s: f64,
    /// User CPU time of all runs, seconds.
    pub cpu_s: f64,
    /// Runs that came from the cache.
    pub cached_runs: usize,
    /// By paper, in the order that was asked for.
    pub papers: Vec<ScoredPaper>,
}

/// One paper's part.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredPaper {
    /// `m21`.
    pub paper: String,
    /// Its figures.
    pub figures: Vec<ScoredFigure>,
}

/// One figure's part.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredFigure {
    /// `M-6`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Its claims.
    pub claims: Vec<ScoredClaim>,
}

/// One claim.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredClaim {
    /// `M-6.2`.
    pub id: String,
    /// What the paper says, in plain words.
    pub says: String,
    /// Where it says so.
    pub r#where: String,
    /// The class that sets the tolerance.
    pub class: &'static str,
    /// `pass` or `fail`.
    pub verdict: &'static str,
    /// What was seen.
    pub measured: String,
    /// What would pass.
    pub expected: String,
    /// Whether the verdict keeps over the ranges of what the paper leaves open; `None` where nobody looked.
    pub robust: Option<bool>,
    /// Only where it fails: what was found to be the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Scorecard {
    /// Scores what came out, by a program of this version.
    pub fn new(reproduced: &Reproduced, version: &str) -> Scorecard {
        let papers = reproduced.papers.iter().map(|paper| ScoredPaper {
            paper: paper.name.clone(),
            figures: paper
                .figures
                .iter()
                .map(|figure| ScoredFigure {
                    id: figure.id.clone(),
                    title: figure.title.clone(),
                    claims: figure.claims.iter().map(score).collect(),
                })
                .collect(),
        });
        Scorecard {
            schema: 1,
            fanin: version.into(),
            mode: reproduced.conditions.mode,
            wall_s: six_digits(reproduced.wall.as_secs_f64()),
            cpu_s: six_digits(reproduced.cpu.as_secs_f64()),
            cached_runs: reproduced.cached_runs,
            papers: papers.collect(),
        }
    }

    /// Every claim with its paper.
    pub fn claims(&self) -> impl Iterator<Item = (&str, &ScoredClaim)> {
        self.papers.iter().flat_map(|p| p.figures.iter().flat_map(|f| f.claims.iter().map(|c| (p.paper.as_str(), c))))
    }
}

fn score(judged: &JudgedClaim) -> ScoredClaim {
    let JudgedClaim { claim, judgement, robust } = judged;
    ScoredClaim {
        id: claim.id.clone(),
        says: claim.says.clone(),
        r#where: claim.place.clone(),
        class: claim.test.class(),
        verdict: if judgement.pass { "pass" } else { "fail" },
        measured: judgement.measured.clone(),
        expected: judgement.expected.clone(),
        robust: *robust,
        why: claim.why.clone().filter(|_| !judgement.pass),
    }
}
