//! Captures of a real kernel, with causes from counters, logs and a capture at the router (`make diagnose-corpus` makes them).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use fanin_diagnose::{Diagnosis, Input, diagnose};
use serde_json::Value;

/// Captures with a right main cause. They are short, so that some permit no more; larger ones are measured by `make diagnose-corpus`.
const RIGHT: usize = 49;

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
