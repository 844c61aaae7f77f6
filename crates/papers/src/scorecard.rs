//! `scorecard.json`: the contract that programs read.

use serde::Serialize;

use super::judge::Verdict;
use super::reproduced::{JudgedClaim, Mode, Reproduced, Spared};
use fanin_lab::stats::six_digits;

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
    /// What of its runs was not needed; absent where all were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spared: Option<Spared>,
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
    /// `pass`, `fail` or `undecided`.
    pub verdict: Verdict,
    /// What was seen.
    pub measured: String,
    /// What would pass.
    pub expected: String,
    /// Whether the verdict keeps over the ranges of what the paper leaves open; `None` where nobody looked.
    pub robust: Option<bool>,
    /// What it was in the runs beside which that was tried, which may have other seeds than these; absent where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried_beside: Option<Verdict>,
    /// Where its verdict was another than that; absent where it nowhere was, or nobody looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hangs_on: Vec<HangsOn>,
    /// Only where it does not pass: what was found to be the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What is to be known of it however it comes out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The claim whose measurement it repeats: it is not counted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// Whether it is the project's own: it is not counted. Absent where it is the paper's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

impl ScoredClaim {
    /// Whether it is counted among what the paper says.
    pub fn counts(&self) -> bool {
        self.repeats.is_none() && !self.own
    }

    /// What the verdict is under other readings of what the paper leaves open; `None` where it is the same under all that were tried.
    pub fn open_words(&self) -> Option<String> {
        let there = self.hangs_on.iter().map(|on| format!("{} with `{}`", on.verdict.says(), on.setting));
        let there = there.collect::<Vec<_>>().join(", ");
        let head = match self.robust {
            Some(false) => "Fragile, since what the paper leaves open decides",
            _ => "What the paper leaves open changes it, though not from holding to failing",
        };
        let here = self.tried_beside.map_or("stands", Verdict::says);
        (!there.is_empty()).then(|| format!("{head}: it {here} as the scenarios have it, {there}."))
    }
}

/// A setting of what the paper leaves open under which a claim's verdict is another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HangsOn {
    /// `tcp.delayed_ack=1`.
    pub setting: String,
    /// What it is then.
    pub verdict: Verdict,
}

/// How many claims, each measurement once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub all: usize,
    /// Those that hold.
    pub held: usize,
    /// Those that seeds do not tell.
    pub undecided: usize,
    /// Those whose verdict is another within the range of something that the paper leaves open.
    pub fragile: usize,
    /// Those of which nobody knows whether it is.
    pub untried: usize,
}

impl Count {
    /// Counts those that are the paper's and repeat no other.
    pub fn of<'a>(claims: impl Iterator<Item = &'a ScoredClaim>) -> Count {
        claims.filter(|claim| claim.counts()).fold(Count::default(), |count, claim| Count {
            all: count.all + 1,
            held: count.held + usize::from(claim.verdict == Verdict::Pass),
            undecided: count.undecided + usize::from(claim.verdict == Verdict::Undecided),
            fragile: count.fragile + usize::from(claim.robust == Some(false)),
            untried: count.untried + usize::from(claim.robust.is_none()),
        })
    }
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
                    spared: figure.spared,
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
    let JudgedClaim { claim, judgement, hanging, .. } = judged;
    ScoredClaim {
        id: claim.id.clone(),
        says: claim.says.clone(),
        r#where: claim.place.clone(),
        class: claim.test.class(),
        verdict: judgement.verdict,
        measured: judgement.measured.clone(),
        expected: judgement.expected.clone(),
        robust: hanging.as_ref().map(|hanging| !hanging.fragile()),
        tried_beside: hanging.as_ref().map(|hanging| hanging.here),
        hangs_on: hanging.iter().flat_map(|hanging| &hanging.there).map(hangs_on).collect(),
        why: claim.why.clone().filter(|_| judgement.verdict != Verdict::Pass),
        note: claim.note.clone(),
        repeats: claim.repeats.clone(),
        own: claim.own,
    }
}

fn hangs_on((setting, &verdict): (&String, &Verdict)) -> HangsOn {
    HangsOn { setting: setting.clone(), verdict }
}
