//! Traces: any text ends in operations that all can run, or in one message with its line.

use fanin_spec::{Origin, Problem, Progress, Trace, Work};
use proptest::prelude::*;
use proptest::sample::select;

const LINES: [&str; 16] = [
    "num_ranks 2",
    "num_ranks 3",
    "rank 0 {",
    "rank 1 {",
    "}",
    "a: calc 10",
    "b: calc 0 cpu 3",
    "a requires b",
    "b irequires a",
    "c: send 9b to 1 tag 2",
    "send 9b to 1 tag 2",
    "d: recv 9b from 0 tag 2",
    "recv 9b from 0 tag 2",
    "c requires a",
    "d requires b",
    "// send",
];

/// The number of operations of a valid trace that end, each message at once.
fn ends(trace: &Trace) -> usize {
    let (ranks, mut progress) = (trace.ranks(), Progress::new(trace.ranks()));
    let mut ready: Vec<(u32, u32)> = progress.ready().collect();
    let mut met: Vec<Vec<bool>> = ranks.iter().map(|rank| vec![false; rank.len()]).collect();
    let mut count = 0;
    while let Some((rank, number)) = ready.pop() {
        progress.begins(rank, number, |other| ready.push((rank, other)));
        let mut half = |rank: u32, number: u32| std::mem::replace(&mut met[rank as usize][number as usize], true);
        let ended = match ranks[rank as usize][number as usize].work {
            Work::Calc { .. } => vec![(rank, number)],
            Work::Send { to, at, .. } if half(to, at) => vec![(rank, number), (to, at)],
            Work::Send { .. } => vec![(rank, number)],
            Work::Receive if half(rank, number) => vec![(rank, number)],
            Work::Receive => Vec::new(),
        };
        count += ended.len();
        for (rank, number) in ended {
            progress.ends(rank, number, |other| ready.push((rank, other)));
        }
    }
    count
}

proptest! {
    #![proptest_config(fanin_testing::cases(512))]

    #[test]
    fn any_lines_are_a_trace_that_ends_or_an_error_with_its_line(lines in prop::collection::vec(select(&LINES[..]), 0..14)) {
        let text = lines.join("\n");
        match Trace::parse("x.goal", &text) {
            Ok(trace) => prop_assert_eq!(ends(&trace), trace.ranks().iter().map(Vec::len).sum::<usize>()),
            Err(Problem { origin: Origin::File { name, line }, what }) => {
                prop_assert_eq!(name, "x.goal");
                prop_assert!((1..=lines.len().max(1)).contains(&line), "line {}: {}", line, what);
                prop_assert!(!what.is_empty() && !what.contains('\n'), "{:?}", what);
            }
            Err(problem) => prop_assert!(false, "no line: {}", problem),
        }
    }

    #[test]
    fn any_text_is_an_error_with_its_line(text in "num_ranks [0-9]{1,12}\nrank 0 \\{\n[ -~\n]{0,60}") {
        if let Err(problem) = Trace::parse("x.goal", &text) {
            let Origin::File { line, .. } = problem.origin else { return Err(TestCaseError::fail("no line")) };
            prop_assert!((1..=text.lines().count().max(1)).contains(&line), "line {}", line);
        }
    }
}
