//! `scorecard.json`, the machine-readable result.

use serde::Serialize;

use super::claim::ReadFrom;
use super::judge::Verdict;
use super::reproduced::{JudgedClaim, Mode, Reproduced, Spared};
use fanin_lab::stats::six_digits;

/// Every claim of the reproduced figures, with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Scorecard {
    /// Schema version: 1.
    pub schema: u32,
    /// fanin's version.
    pub fanin: String,
    /// Full or quick.
    pub mode: Mode,
    /// Wall time, seconds.
    pub wall_s: f64,
    /// User CPU time of all runs, seconds.
    pub cpu_s: f64,
    /// Runs that came from the cache.
    pub cached_runs: usize,
    /// By paper, in the requested order.
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
    /// Its title.
    pub title: String,
    /// Its claims.
    pub claims: Vec<ScoredClaim>,
    /// Skipped runs; absent if all were needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spared: Option<Spared>,
}

/// One claim.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredClaim {
    /// `M-6.2`.
    pub id: String,
    /// The paper's statement, in plain words.
    pub says: String,
    /// Its place in the paper.
    pub r#where: String,
    /// The class that sets the tolerance.
    pub class: &'static str,
    /// `pass`, `fail` or `undecided`.
    pub verdict: Verdict,
    /// The measured result.
    pub measured: String,
    /// The condition to pass.
    pub expected: String,
    /// Whether the verdict is stable over the ranges of the open parameters; `None` if this was not tried.
    pub robust: Option<bool>,
    /// The verdict in the baseline of those trials, whose seeds may differ; absent if it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Verdict>,
    /// Settings under which the verdict differs from that baseline; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<OpenSetting>,
    /// The cause, only if it does not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether a run without that cause has been recorded; only with a cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause_tested: Option<bool>,
    /// A remark that applies to any verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The claim whose measurement it repeats: it is not counted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// Whether it is the project's own claim, which is not counted; absent for the paper's claims.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Where it was read: only claims that were read in the paper count.
    pub read_from: ReadFrom,
}

impl ScoredClaim {
    /// Whether it counts among the paper's claims.
    pub fn counts(&self) -> bool {
        self.repeats.is_none() && !self.own && self.read_from == ReadFrom::Paper
    }

    /// The cause with whether a run tested it; `None` if it passes or nobody knows the cause.
    pub fn cause_words(&self) -> Option<String> {
        let tested = if self.cause_tested == Some(true) { "" } else { " (Not tested by a run without this cause.)" };
        self.why.as_ref().map(|why| format!("{why}{tested}"))
    }

    /// The verdict under other values of the open parameters; `None` if it never changes.
    pub fn open_words(&self) -> Option<String> {
        let there = self.depends_on.iter().map(|on| format!("{} with `{}`", on.verdict.says(), on.setting));
        let there = there.collect::<Vec<_>>().join(", ");
        let head = match self.robust {
            Some(false) => "Fragile: the verdict depends on parameters that the paper leaves open",
            _ => "Parameters that the paper leaves open change the verdict, but not from pass to fail",
        };
        let here = self.baseline.map_or("stays the same", Verdict::says);
        (!there.is_empty()).then(|| format!("{head}. It {here} as in the scenarios, {there}."))
    }
}

/// A value of an open parameter that changes a claim's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenSetting {
    /// `tcp.delayed_ack=1`.
    pub setting: String,
    /// The verdict with it.
    pub verdict: Verdict,
}

/// Numbers of claims, each measurement counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub all: usize,
    /// Claims that hold.
    pub held: usize,
    /// Claims that these seeds cannot decide.
    pub undecided: usize,
    /// Claims whose verdict changes within the range of an open parameter.
    pub fragile: usize,
    /// Claims for which this was not tried.
    pub untried: usize,
}

impl Count {
    /// Counts the paper's claims that repeat no other.
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
    /// Scores the results; `version` is fanin's.
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
            schema: 2,
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
    let depends_on = |(setting, &verdict): (&String, &Verdict)| OpenSetting { setting: setting.clone(), verdict };
    let JudgedClaim { claim, judgement, hanging, .. } = judged;
    let why = claim.why.clone().filter(|_| judgement.verdict != Verdict::Pass);
    ScoredClaim {
        id: claim.id.clone(),
        says: claim.says.clone(),
        r#where: claim.place.clone(),
        class: claim.test.class(),
        verdict: judgement.verdict,
        measured: judgement.measured.clone(),
        expected: judgement.expected.clone(),
        robust: hanging.as_ref().map(|hanging| !hanging.fragile()),
        baseline: hanging.as_ref().map(|hanging| hanging.here),
        depends_on: hanging.iter().flat_map(|hanging| &hanging.there).map(depends_on).collect(),
        cause_tested: why.as_ref().map(|_| claim.without.is_some()),
        why,
        note: claim.note.clone(),
        repeats: claim.repeats.clone(),
        own: claim.own,
        read_from: claim.read_from,
    }
}
