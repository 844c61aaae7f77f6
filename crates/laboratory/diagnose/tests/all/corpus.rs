//! Captures of a real kernel, with causes from counters, logs and a capture at the router (`make diagnose-corpus` makes them).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use fanin_diagnose::{Cause, Diagnosis, Input, Observation, StallFound, diagnose};
use serde_json::{Value, json};

/// Captures with a right main cause. They are short, so that some permit no more; larger ones are measured by `make diagnose-corpus`.
const RIGHT: usize = 56;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn found(one: &Value) -> Diagnosis {
    let input = |name: &Value| {
        let path = folder().join(name.as_str().unwrap());
        Input { name: path.display().to_string(), stream: Box::new(File::open(path).unwrap()) }
    };
    diagnose(one["files"].as_array().unwrap().iter().map(input).collect()).unwrap()
}

/// The main cause; `None` without a verdict.
fn main_cause(found: &Diagnosis) -> Option<&'static str> {
    found.verdict.incast?;
    Some(found.verdict.causes.first().filter(|_| found.verdict.impaired).map_or("none", |one| one.cause.word()))
}

/// Whether a sentence has a figure.
fn has_figure(sentence: &str) -> bool {
    sentence.chars().any(|c| c.is_ascii_digit())
}

/// The headline is the table's first row, with its confidence, and a verdict's evidence has figures.
fn check_words(found: &Diagnosis) {
    let verdict = &found.verdict;
    let first = verdict.causes.first();
    let says = || format!("{verdict:#?}");
    match verdict.incast {
        None => assert!(verdict.says.starts_with("no verdict") && !verdict.impaired, "{}", says()),
        Some(incast) if verdict.impaired => {
            let first = first.unwrap_or_else(|| panic!("{}", says()));
            assert_eq!(incast, first.cause == Cause::Incast, "{}", says());
            assert_eq!(incast, verdict.says.starts_with("incast"), "{}", says());
            assert_eq!((verdict.confidence, verdict.cause.cause()), (first.confidence, first.cause), "{}", says());
        }
        Some(incast) => assert!(!incast && verdict.says.starts_with("no "), "{}", says()),
    }
    for one in &verdict.causes {
        let part = one.evidence.split(" (").next().unwrap_or_default();
        assert!(has_figure(part), "evidence without a figure: {}", one.evidence);
    }
    for stall in found.episodes.iter().flat_map(|one| &one.stalls).chain(&found.alone_stalls) {
        assert!(has_figure(&stall.evidence.says()), "evidence without a figure: {stall:?}");
    }
}

/// One server's packets cannot show what several servers have in common.
fn check_view(found: &Diagnosis) {
    let several = |stall: &&StallFound| matches!(stall.evidence, Observation::LostTogether { .. });
    let from_one = found.episodes.is_empty() && found.hosts.values().filter(|host| host.role == "server").count() < 2;
    let seen = found.alone_stalls.iter().find(several);
    assert!(!from_one || seen.is_none(), "{seen:?}");
    assert!(!from_one || found.verdict.incast != Some(true) || found.verdict.confidence <= 0.75, "{:?}", found.verdict);
}

#[test]
fn headlines_agree_with_tables_and_evidence_has_figures() {
    let expected: Vec<Value> = serde_json::from_slice(&fs::read(folder().join("expected.json")).unwrap()).unwrap();
    let mut stalls = 0;
    for one in &expected {
        // Each view alone, and both together.
        let mut views: Vec<Value> =
            one["files"].as_array().unwrap().iter().map(|file| json!({ "files": [file] })).collect();
        views.push(one.clone());
        for view in views {
            let found = found(&view);
            check_words(&found);
            check_view(&found);
            stalls += found.alone_stalls.len() + found.episodes.iter().map(|one| one.stalls.len()).sum::<usize>();
        }
    }
    assert!(stalls > 500, "{stalls} stalls");
}

#[test]
fn minimum_rto_is_the_hosts_or_unknown() {
    let (mut right, mut wrong) = (0, Vec::new());
    let mut cases: Vec<PathBuf> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|ext| ext == "json") && !path.ends_with("expected.json"));
    cases.sort();
    for path in cases {
        let case: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let set_s = case["case"]["rto_min_ms"].as_f64().unwrap() / 1e3;
        let stem = path.file_stem().unwrap().to_str().unwrap();
        for place in ["client", "server"].map(|place| format!("{stem}-{place}.pcap.gz")) {
            if !folder().join(&place).exists() {
                continue;
            }
            let found = found(&json!({ "files": [place] }));
            for seen_s in found.hosts.values().filter_map(|host| host.rto_min_s) {
                match (0.8..1.3).contains(&(seen_s / set_s)) {
                    true => right += 1,
                    false => wrong.push(format!("{place}: {seen_s} instead of {set_s}")),
                }
            }
        }
    }
    assert!(right >= 6 && wrong.len() <= 4, "{right} right; wrong are {wrong:#?}");
}

#[test]
fn finds_the_causes_of_real_captures() {
    let expected: Vec<Value> = serde_json::from_slice(&fs::read(folder().join("expected.json")).unwrap()).unwrap();
    let (mut right, mut wrong) = (0, Vec::new());
    for one in &expected {
        let found = found(one);
        let verdict = &found.verdict;
        let says = || format!("{}: expected {}, found {verdict:?}", one["files"], one["causes"]);
        let causes = one["causes"].as_array().unwrap();
        let fits = main_cause(&found).map_or(causes.is_empty(), |main| causes.iter().any(|cause| cause == main));
        assert!(verdict.incast != Some(true) || one["queue_drops"].as_u64() > Some(0), "no queue dropped: {}", says());
        assert!(fits || verdict.confidence <= 0.9, "too sure: {}", says());
        right += usize::from(fits);
        wrong.extend((!fits).then(says));
    }
    assert!(right >= RIGHT, "{right} of {} are right; wrong are:\n{}", expected.len(), wrong.join("\n"));
}
