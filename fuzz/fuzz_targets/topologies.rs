//! Whatever a topology file holds, reading it ends in a tree or in one message with its line.
#![no_main]

use fanin_spec::{Origin, Problem, Topology};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Topology::parse("fuzz.topo", text) {
        Ok(_) => {}
        Err(Problem { origin: Origin::File { line, .. }, what }) => {
            assert!((1..=text.lines().count().max(1)).contains(&line), "line {line}: {what}");
            assert!(!what.is_empty() && !what.contains('\n'), "{what:?}");
        }
        Err(problem) => panic!("no line: {problem}"),
    }
});
