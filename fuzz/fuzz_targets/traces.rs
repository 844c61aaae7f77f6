//! Whatever a trace holds, reading it ends in operations or in one message with its line.
#![no_main]

use fanin_spec::{Origin, Problem, Trace};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Trace::parse("fuzz.goal", text) {
        Ok(trace) => assert!(trace.ranks().iter().any(|rank| !rank.is_empty())),
        Err(Problem { origin: Origin::File { line, .. }, what }) => {
            assert!((1..=text.lines().count().max(1)).contains(&line), "line {line}: {what}");
            assert!(!what.is_empty() && !what.contains('\n'), "{what:?}");
        }
        Err(problem) => panic!("no line: {problem}"),
    }
});
