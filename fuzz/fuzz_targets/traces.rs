//! Whatever a trace holds, in any of its forms, reading it ends in operations or in one message with its place.
#![no_main]

use fanin_spec::{Origin, Problem, Trace};
use libfuzzer_sys::fuzz_target;

/// Reads a file in the form that its name and its contents select.
fn any_form(name: &str, file: &[u8]) {
    let read = |name: &str| Ok((name.to_string(), file.to_vec()));
    match Trace::read(&[name.into()], &read) {
        Ok(trace) => assert!(trace.ranks().iter().any(|rank| !rank.is_empty())),
        Err(Problem { what, .. }) => assert!(!what.is_empty() && !what.contains('\n'), "{what:?}"),
    }
}

fuzz_target!(|file: &[u8]| {
    any_form("fuzz.et", file);
    any_form("fuzz.bin", file);
    let Ok(text) = std::str::from_utf8(file) else { return };
    match Trace::parse("fuzz.goal", text) {
        Ok(trace) => assert!(trace.ranks().iter().any(|rank| !rank.is_empty())),
        Err(Problem { origin: Origin::File { line, .. }, what }) => {
            assert!((1..=text.lines().count().max(1)).contains(&line), "line {line}: {what}");
            assert!(!what.is_empty() && !what.contains('\n'), "{what:?}");
        }
        Err(problem) => panic!("no line: {problem}"),
    }
});
