//! `fanin reproduce`: figures of papers, and verdicts on their claims.

use std::collections::BTreeSet;
use std::io::{Write, stderr};
use std::path::Path;
use std::slice;

use fanin::Out;
use fanin::paper::{
    self, Changed, Conditions, Count, Expected, Figure, Mode, Paper, PaperProblem, Reproduced, Scorecard, ScoredClaim,
    Setting, Verdict,
};

use crate::arguments::ReproduceArguments;
use crate::failure::Failure;
use crate::figures::{BOLD, GREEN, GREY, RED, YELLOW, clean, wrap};
use crate::signal;
use crate::stop::listen;
use crate::terminal::{fold, say};
use crate::work::{Means, in_lab, notice};

/// Reproduces papers or figures.
pub fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let papers = read(arguments)?;
    let means = Means { jobs: arguments.jobs, cached: !arguments.no_cache };
    if arguments.sensitivity {
        let mut tell = |paper: &Paper, what: &str| drop(writeln!(stderr(), "{}: {what}", paper.name));
        return in_lab(means, |lab, hear| lab.sensitivity(&papers, &mut tell, hear)).map_err(resumable);
    }
    if arguments.check_causes {
        return check_causes(arguments, &papers, means);
    }
    let recorded = papers.iter().map(|p| paper::recorded(&p.folder)).collect::<Result<Vec<_>, _>>()?;
    listen()?;
    let out = arguments.out.as_deref().map(Out::claim).transpose().map_err(Failure::unclaimed)?;
    let conditions = Conditions {
        mode: if arguments.quick { Mode::Quick } else { Mode::Full },
        seeds: arguments.seeds,
        first_seed: arguments.first_seed,
        set: arguments.set.iter().map(|assignment| Setting::everywhere(assignment)).collect(),
    };
    let wanted = |figure: &Figure| arguments.figure.as_ref().is_none_or(|id| *id == figure.id);
    let reproduced =
        in_lab(means, |lab, hear| lab.reproduce(&papers, &wanted, &conditions, hear)).map_err(resumable)?;
    let card = Scorecard::new(&reproduced, env!("CARGO_PKG_VERSION"));
    finish(arguments, papers.iter().zip(recorded), &reproduced, &card, out)
}

/// Runs failed claims without their recorded causes, and prints the results.
fn check_causes(arguments: &ReproduceArguments, papers: &[Paper], means: Means) -> Result<(), Failure> {
    listen()?;
    let wanted = |figure: &Figure| arguments.figure.as_ref().is_none_or(|id| *id == figure.id);
    let (mut checked, mut refuted) = (0, Vec::new());
    for (set, paper) in papers.iter().flat_map(Paper::without_causes) {
        let conditions = Conditions {
            mode: if arguments.quick { Mode::Quick } else { Mode::Full },
            seeds: arguments.seeds,
            first_seed: arguments.first_seed,
            set: set.iter().map(|assignment| Setting::everywhere(assignment)).collect(),
        };
        let reproduced = in_lab(means, |lab, hear| lab.reproduce(slice::from_ref(&paper), &wanted, &conditions, hear))
            .map_err(resumable)?;
        let card = Scorecard::new(&reproduced, env!("CARGO_PKG_VERSION"));
        for (_, scored) in card.claims() {
            let expected = paper.claims().find(|claim| claim.id == scored.id).and_then(|claim| claim.without.as_ref());
            let as_recorded = expected.is_some_and(|without| without.verdict == scored.verdict);
            let (colour, end) = if as_recorded { (GREEN, "as recorded") } else { (RED, "NOT as recorded") };
            let line =
                format!("{} with {}: {}, {end}; {}", scored.id, set.join(", "), scored.verdict.word(), scored.measured);
            say(&fold(&format!("{colour}{}{colour:#}\n", clean(&line))))?;
            checked += 1;
            if !as_recorded {
                refuted.push(scored.id.clone());
            }
        }
    }
    say(&format!("{} of {checked} causes hold\n", checked - refuted.len()))?;
    match refuted.is_empty() {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "the results without these causes differ from the record: {}",
            refuted.join(", ")
        ))),
    }
}

fn finish<'a>(
    arguments: &ReproduceArguments,
    papers: impl Iterator<Item = (&'a Paper, Expected)>,
    reproduced: &Reproduced,
    card: &Scorecard,
    out: Option<Out>,
) -> Result<(), Failure> {
    let mut changed = Vec::new();
    for (paper, expected) in papers {
        if arguments.record {
            let unwritten = |error| Failure::Environment(format!("{}: {error}", paper.folder.display()));
            paper::record(expected, paper, card).map_err(unwritten)?;
        } else if expected.is_empty(card.mode) {
            notice(&format!("{}: no verdicts are recorded for such runs; use `--record`", paper.name));
        } else {
            changed.extend(expected.changed(&paper.name, card));
        }
    }
    if arguments.json {
        let json = serde_json::to_string(card).unwrap_or_default();
        say(&format!("{json}\n"))?;
    } else {
        say(&fold(&told(card)))?;
    }
    if let Some(out) = out {
        out.fill_scorecard(reproduced, card).map_err(Failure::unwritten)?;
    }
    let unheld = |&(_, claim): &(&str, &ScoredClaim)| claim.verdict != Verdict::Pass;
    let unheld: Vec<&str> = card.claims().filter(unheld).map(|(_, c)| c.id.as_str()).collect();
    if !changed.is_empty() {
        return Err(Failure::Check(format!("verdicts differ from the recorded ones: {}", differences(&changed))));
    }
    if arguments.strict && !unheld.is_empty() {
        return Err(Failure::Check(format!(
            "{} of {} claims fail or are undecided: {}",
            unheld.len(),
            card.claims().count(),
            unheld.join(", ")
        )));
    }
    Ok(())
}

fn differences(changed: &[Changed]) -> String {
    let one = |c: &Changed| match &c.was {
        Some(was) => format!("{} was {}, is {}", c.id, was.word(), c.is.word()),
        None => format!("{} was not recorded, is {}", c.id, c.is.word()),
    };
    changed.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Default folder of papers.
const PAPERS: &str = "papers";

/// Reads and checks the requested papers and figure.
fn read(arguments: &ReproduceArguments) -> Result<Vec<Paper>, Failure> {
    let folder = match &arguments.papers_in {
        Some(folder) => folder.as_path(),
        None if !paper::names(Path::new(PAPERS)).is_empty() => Path::new(PAPERS),
        None if arguments.record || arguments.sensitivity => {
            let what = "records are written to the papers' folders: run from the project's folder, or use --papers-in";
            return Err(Failure::Environment(what.into()));
        }
        None => Path::new(paper::EMBEDDED),
    };
    let known = paper::names(folder);
    if known.is_empty() {
        return Err(Failure::Environment(format!("{}: contains no papers", folder.display())));
    }
    let mut names: Vec<String> = Vec::new();
    for name in &arguments.papers {
        match name.as_str() {
            "all" => names.extend(known.clone()),
            name if known.iter().any(|k| k == name) => names.push(name.into()),
            name => {
                let what = format!("unknown paper `{name}`; the papers are {}, or all", known.join(", "));
                return Err(Failure::Input(what));
            }
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let mut papers = names.iter().map(|name| paper::read(folder, name)).collect::<Result<Vec<_>, _>>()?;
    if let Some(id) = &arguments.figure {
        let ids: Vec<&str> = papers.iter().flat_map(|p| &p.figures).map(|f| f.id.as_str()).collect();
        if !ids.contains(&id.as_str()) {
            return Err(Failure::Input(format!("--figure {id}: unknown figure; use one of {}", ids.join(", "))));
        }
        papers.retain(|p| p.figures.iter().any(|f| f.id == *id));
        let whole = papers.iter().flat_map(|p| &p.figures).any(|f| f.id == *id && f.whole_runs);
        if arguments.quick && whole {
            return Err(Failure::Input(format!(
                "--figure {id}: shorter runs would show something else; leave out --quick"
            )));
        }
    }
    Ok(papers)
}

/// Indentation of claims after their ids.
const INDENT: &str = "       ";
const WIDTH: usize = 100;

/// The scorecard as text.
fn told(card: &Scorecard) -> String {
    let mut text = String::new();
    for paper in &card.papers {
        text += &format!("{BOLD}{}{BOLD:#}\n", clean(&paper.paper));
        for figure in &paper.figures {
            text += &format!("\n{BOLD}{}{BOLD:#} {}\n", clean(&figure.id), clean(&figure.title));
            for claim in &figure.claims {
                text += &told_claim(claim);
            }
        }
        text += "\n";
    }
    for figure in card.papers.iter().flat_map(|paper| &paper.figures) {
        if let Some(spared) = figure.spared {
            text += &format!("{}: {spared}\n", clean(&figure.id));
        }
    }
    let count = Count::of(card.claims().map(|(_, claim)| claim));
    text + &format!(
        "{} of {} claims hold, {} are undecided, {} are fragile (their verdict depends on parameters that the paper leaves open), not counting repeats, \
         claims that were not read in the paper itself, and the project's own; {:.1} s, {:.1} s CPU, {} cached runs\n",
        count.held, count.all, count.undecided, count.fragile, card.wall_s, card.cpu_s, card.cached_runs
    )
}

fn told_claim(claim: &ScoredClaim) -> String {
    let colour = match claim.verdict {
        Verdict::Pass => GREEN,
        Verdict::Undecided => YELLOW,
        Verdict::Fail => RED,
    };
    // Backticks mark code in the HTML page.
    let lines =
        |words: &str| format!("{INDENT}{}\n", wrap(&clean(words).replace('`', ""), WIDTH - INDENT.len(), INDENT));
    let fragile = if claim.robust == Some(false) { ", fragile" } else { "" };
    let repeats = claim.repeats.as_ref().map_or(String::new(), |id| format!(", repeats {}", clean(id)));
    let own = if claim.own { ", the project's own" } else { "" };
    let read_from = claim.read_from.says().map_or(String::new(), |says| format!(", {says}"));
    let mut text = format!(
        "  {colour}{}{colour:#} {}{fragile}{repeats}{own}{read_from}\n",
        claim.verdict.word(),
        clean(&claim.id)
    );
    text += &lines(&claim.says);
    let seen = format!("measured {}; passes with {}", claim.measured, claim.expected);
    text += &format!("{GREY}{}{GREY:#}", lines(&seen));
    text += &claim.open_words().map_or(String::new(), |words| lines(&words));
    let words = [claim.cause_words(), claim.note.clone()].into_iter().flatten();
    text + &words.map(|words| lines(&words)).collect::<String>()
}

impl From<PaperProblem> for Failure {
    fn from(problem: PaperProblem) -> Failure {
        Failure::Input(problem.to_string())
    }
}

/// The message after a stop: finished runs are in the cache.
fn resumable(failure: Failure) -> Failure {
    match failure {
        Failure::Stopped(_) => Failure::Stopped(format!(
            "stopped by {}; finished runs are cached: repeat the command to continue",
            signal::name()
        )),
        other => other,
    }
}
