//! Whatever a scenario file and `--set` arguments hold, reading them ends in settings or in one clear message.
//!
//! The input is the file; behind a line `--set` each line is an argument, and behind `--schemes` a list of schemes.
#![no_main]

use fanin_spec::{Variant, Scenario};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (file, rest) = text.split_once("\n--set\n").unwrap_or((text, ""));
    let (assignments, schemes) = rest.split_once("\n--schemes\n").unwrap_or((rest, ""));
    let Ok(mut scenario) = Scenario::parse("fuzz.toml", file) else { return };
    for assignment in assignments.lines() {
        let _ = scenario.assign(assignment, assignment);
    }
    if !schemes.is_empty() {
        let _ = scenario.select("--schemes", &schemes.split(',').collect::<Vec<_>>());
    }
    if let Ok(variants) = scenario.variants() {
        check(&variants);
    }
});

/// What accepted settings promise.
fn check(variants: &[Variant]) {
    assert_eq!(Scenario::hash(variants), Scenario::hash(variants));
    for settings in variants.iter().flat_map(|c| &c.points).map(|at| &at.settings) {
        for key in settings.docs() {
            assert!(!key.default.is_empty(), "{}", key.path);
        }
        let _ = settings.answer(settings.servers(), 0);
    }
}
