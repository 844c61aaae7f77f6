//! Whatever a list of flows holds, reading it ends in flows or in one message with its line.
//!
//! The input's first line is the ending of the file's name, which tells the form; the rest is the file.
#![no_main]

use fanin_spec::{Flows, Origin, Problem};
use fanin_units::Time;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (ending, text) = input.split_once('\n').unwrap_or((input, ""));
    match Flows::parse(&format!("fuzz.{ending}"), text) {
        Ok(flows) => check(&flows),
        Err(Problem { origin: Origin::File { line, .. }, what }) => {
            assert!((1..=text.lines().count().max(1)).contains(&line), "line {line}: {what}");
            assert!(!what.is_empty() && !what.contains('\n'), "{what:?}");
        }
        Err(problem) => panic!("no line: {problem}"),
    }
});

/// What accepted lists promise; and each is the same list when it is written as a table.
fn check(flows: &Flows) {
    assert!(!flows.list().is_empty());
    let mut table = String::from("src,dst,bytes,start_us,stop_us\n");
    let microseconds = |Time(ps)| format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000);
    for flow in flows.list() {
        assert!(flow.from != flow.to && flow.from.max(flow.to) < flows.hosts(), "{flow:?}");
        assert!(flow.bytes != Some(0) && flow.stop > flow.start, "{flow:?}");
        let bytes = flow.bytes.map_or(String::new(), |bytes| bytes.to_string());
        let stop = if flow.stop == Time::NEVER { String::new() } else { microseconds(flow.stop) };
        table += &format!("{},{},{bytes},{},{stop}\n", flow.from, flow.to, microseconds(flow.start));
    }
    let again = Flows::parse("again.csv", &table).expect("what was read can be written");
    let plain = |flows: &Flows| -> Vec<_> {
        flows.list().iter().map(|f| (f.from, f.to, f.bytes, f.start, f.stop)).collect()
    };
    assert_eq!(plain(flows), plain(&again));
}
