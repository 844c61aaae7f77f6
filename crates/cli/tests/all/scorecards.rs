//! The bundled papers: every reported result is judged, and no recorded verdict changes unnoticed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::process::Command;

use fanin_papers::{Claim, Paper};
use fanin_reproduce as paper;
use serde_json::Value;

use crate::support::{kept, root};

/// The figures with results about the network; each must have a verdict if its paper is there.
const FIGURES: [(&str, &[&str]); 8] = [
    ("m21", &["M-4", "M-5", "M-6", "M-7", "M-8", "M-9"]),
    ("gss", &["G-2", "G-3", "G-4", "G-5", "G-6", "G-7", "G-8", "G-9"]),
    ("aqm", &["H-2", "H-3", "H-4", "H-5", "H-6", "H-r"]),
    ("sicc", &["S-4a", "S-4b", "S-5", "S-6", "S-7a", "S-7b", "S-8a", "S-8b", "S-9", "S-10", "S-11"]),
    ("picc", &["P-4", "P-5", "P-6", "P-7a", "P-7b", "P-8", "P-9", "P-10", "P-11", "P-q"]),
    ("dctcp", &["D-1", "D-13", "D-14", "D-15", "D-16", "D-17", "D-18", "D-19", "D-20", "D-21", "D-t2"]),
    ("hpcc", &["HC-11", "HC-R", "HC-I"]),
    ("swift", &["SW-17", "SW-18", "SW-20", "SW-21", "SW-T3"]),
];

fn papers() -> PathBuf {
    root().join("papers")
}

fn read(name: &str) -> Paper {
    paper::read(&papers(), name).unwrap_or_else(|problem| panic!("{problem}"))
}

fn claims(paper: &Paper) -> impl Iterator<Item = &Claim> {
    paper.figures.iter().flat_map(|figure| &figure.claims)
}

/// The recorded verdicts of a paper by claim, full or quick.
fn recorded(paper: &str, mode: &str) -> BTreeMap<String, String> {
    let Ok(text) = fs::read_to_string(papers().join(paper).join("expected.json")) else { return BTreeMap::new() };
    let all: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(all[mode].clone()).unwrap()
}

#[test]
#[ignore = "takes minutes: make check-long"]
fn quick_verdicts_equal_the_recorded_ones() {
    let (known, unknown): (Vec<String>, Vec<String>) =
        paper::names(&papers()).into_iter().partition(|paper| !recorded(paper, "quick").is_empty());
    for paper in unknown {
        println!("skipped: papers/{paper}: expected.json records no quick verdicts");
    }
    if known.is_empty() {
        return;
    }
    let kept = kept();
    let fanin = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fanin"));
        command.args(arguments).current_dir(root()).env("XDG_CACHE_HOME", &kept).output().unwrap()
    };
    let papers: Vec<&str> = known.iter().map(String::as_str).collect();
    let output = fanin(&[&["reproduce"], &papers[..], &["--quick", "--json"]].concat());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{told}if the change is right, say why a verdict changed, and record it: fanin reproduce {} --quick --record",
        known.join(" ")
    );
    let card: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Written to standard error directly, because the test runner hides output of passing tests.
    let engine = format!("{} runs of this engine were cached in {}", card["cached_runs"], kept.display());
    writeln!(stderr(), "quick verdicts: {engine}").unwrap();
    // Runs of other engines are of no more use.
    assert!(fanin(&["cache", "prune"]).status.success());
}

#[test]
fn every_reported_figure_has_claims() {
    let names = paper::names(&papers());
    for (name, ids) in FIGURES {
        if !names.iter().any(|known| known == name) {
            println!("skipped: papers/{name} has no claims.toml");
            continue;
        }
        let paper = read(name);
        // The parser of claims ensures that each figure has at least one claim.
        let judged: Vec<&str> = paper.figures.iter().map(|figure| figure.id.as_str()).collect();
        let missing: Vec<_> = ids.iter().filter(|id| !judged.contains(*id)).collect();
        assert!(missing.is_empty(), "papers/{name}/claims.toml: no figure {missing:?}");
    }
}

#[test]
fn recorded_failures_have_a_cause() {
    for name in paper::names(&papers()) {
        let paper = read(&name);
        let (full, quick) = (recorded(&name, "full"), recorded(&name, "quick"));
        // A claim that passes in full needs no cause if it fails with the few seeds of a quick run.
        let fails = |id: &str| full.get(id).or_else(|| quick.get(id)).is_some_and(|verdict| verdict == "fail");
        let says_why = |claim: &Claim| claim.why.as_ref().is_some_and(|why| !why.trim().is_empty());
        let silent: Vec<&str> =
            claims(&paper).filter(|c| fails(&c.id) && !says_why(c)).map(|c| c.id.as_str()).collect();
        assert!(silent.is_empty(), "papers/{name}/claims.toml: {silent:?} fail and have no `why`");
    }
}

#[test]
fn recorded_verdicts_belong_to_existing_claims() {
    for name in paper::names(&papers()) {
        let paper = read(&name);
        for mode in ["full", "quick"] {
            for (id, verdict) in recorded(&name, mode) {
                assert!(claims(&paper).any(|claim| claim.id == id), "papers/{name}: {id} is recorded and no claim");
                assert!(["pass", "fail", "undecided"].contains(&verdict.as_str()), "papers/{name}: {id}: {verdict}");
            }
        }
    }
}

#[test]
fn table_of_results_counts_the_recorded_verdicts() {
    let page = fs::read_to_string(root().join("docs/reproducing.md")).unwrap();
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    for name in paper::names(&papers()) {
        let paper = read(&name);
        let recorded = recorded(&name, "full");
        let counted: Vec<&Claim> = claims(&paper).filter(|claim| claim.counts()).collect();
        let judged: Vec<&str> =
            counted.iter().filter_map(|claim| recorded.get(&claim.id)).map(String::as_str).collect();
        let all = match judged.len() {
            some if some < counted.len() => format!("{}, of which {some} in full", counted.len()),
            all => all.to_string(),
        };
        let of = |verdict: &str| judged.iter().filter(|judged| **judged == verdict).count().to_string();
        let row = page.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        assert_eq!(cells(row)[2..6], [all, of("pass"), of("undecided"), of("fail")], "{name}");
    }
}
