//! Lists of flows, distributions of sizes and placement plans: the published formats are read, and any other content causes one error with
//! its line.

use fanin_spec::{Bursts, Flows, Plan, Problem, Scenario, Sizes, Variant};
use proptest::prelude::*;
use proptest::sample::select;

const HPCC: &str = "2\n2 1 3 100 200000000 2\n3 1 3 100 1000 2.000000001\n4 1 3 100 7 2\n\nFirst line: # of flows\n";
const HTSIM: &str = "Nodes 16\nConnections 2\n0->13 start 0 size 2000000\n13->0 id 7 start 1500000 size 1\n\n";
const CSV: &str = "src,dst,bytes,start_us\r\n0,3,20000,12.5\r\n3,1,1,0\r\n";
const TABLE: &str = "0 0\n# a comment\n10000 15\n\n10000 20.5\n30000000 100\n";

fn read(name: &str, text: &str) -> (u32, Vec<(u32, u32, u64, u64)>) {
    let flows = Flows::parse(name, text).unwrap_or_else(|problem| panic!("{problem}"));
    (flows.hosts(), flows.list().iter().map(|f| (f.from, f.to, f.bytes.unwrap(), f.start.0)).collect())
}

#[test]
fn reads_hpccs_flows_up_to_the_announced_number() {
    let flows = vec![(2, 1, 200_000_000, 2_000_000_000_000), (3, 1, 1000, 2_000_000_001_000)];
    assert_eq!(read("flow.txt", HPCC), (4, flows.clone()));
    assert_eq!(read("a.flow", HPCC), (4, flows));
}

#[test]
fn reads_htsims_matrix_with_and_without_ids() {
    assert_eq!(read("bidir.cm", HTSIM), (16, vec![(0, 13, 2_000_000, 0), (13, 0, 1, 1_500_000)]));
}

#[test]
fn reads_tables_of_flows_with_starts_in_microseconds() {
    assert_eq!(read("a/b.csv", CSV), (4, vec![(0, 3, 20_000, 12_500_000), (3, 1, 1, 0)]));
}

#[test]
fn flows_without_bytes_are_endless_and_may_stop() {
    let text = "src,dst,bytes,start_us,stop_us\n1,0,,0,\n2,0,,5,7.5\n3,0,9,1,\n";
    let flows = Flows::parse("a.csv", text).unwrap();
    let stop = |f: &fanin_spec::Flow| (f.stop != fanin_units::Time::NEVER).then_some(f.stop.0);
    let read: Vec<_> = flows.list().iter().map(|f| (f.bytes, f.start.0, stop(f))).collect();
    assert_eq!(read, [(None, 0, None), (None, 5_000_000, Some(7_500_000)), (Some(9), 1_000_000, None)]);
}

#[test]
fn reports_invalid_bursts_with_their_line() {
    let whole = "gap_us,5,1\nfan_in,2,1\nbytes,9,1\n";
    let cases = [
        ("", "b.csv:1: expected the header `gap_us,fan_in,bytes` or `of,value,cdf`"),
        ("gap_us,fan_in,bytes\n", "b.csv:1: the list has no bursts"),
        ("gap_us,fan_in,bytes\n5,0,9\n", "b.csv:2: expected `gap_us,fan_in,bytes`, such as `250.5,40,80000`"),
        ("gap_us,fan_in,bytes\n5,2\n", "b.csv:2: expected `gap_us,fan_in,bytes`"),
        ("gap_us,fan_in,bytes\n5,2,9\n\n5,20,9\n", "b.csv:4: 9 B are less than one byte for each of 20 servers"),
        ("gap_us,fan_in,bytes\n0,2,9\n", "b.csv:1: all bursts start at the same time"),
        ("of,value,cdf\nsize,5,1\n", "b.csv:2: expected `of,value,cdf`, such as `fan_in,40,0.9`"),
        ("of,value,cdf\nbytes,5,1.1\n", "b.csv:2: expected `of,value,cdf`"),
        (
            "of,value,cdf\nbytes,5,0.5\ngap_us,1,0.7\nbytes,4,1\n",
            "b.csv:4: the distribution of bytes decreases: its value and cdf must both rise",
        ),
        ("of,value,cdf\nfan_in,5,0.5\nfan_in,6,0.4\n", "b.csv:3: the distribution of fan_in decreases"),
        ("of,value,cdf\ngap_us,5,1\nfan_in,2,1\n", "b.csv:3: the last line of bytes must reach a cdf of 1"),
    ];
    for (text, told) in cases {
        let message = Bursts::parse("b.csv", text).unwrap_err().to_string();
        assert!(message.starts_with(told), "{text:?} says {message}");
    }
    assert!(Bursts::parse("b.csv", &format!("of,value,cdf\n{whole}")).is_ok());
}

#[test]
fn reports_invalid_lines_with_number_and_expected_form() {
    let cases = [
        ("a.csv", "src,dst,bytes,start_us,stop_us\n1,0,5,0,9\n", "a.csv:2: a flow of 5 B ends by itself"),
        (
            "a.csv",
            "src,dst,bytes,start_us,stop_us\n1,0,,9,9\n",
            "a.csv:2: a flow starts at 9 us and stops at 9 us: the stop must be later",
        ),
        ("a.csv", "src,dst,bytes,start_us,stop_us\n1,0,,0,soon\n", "`soon` is not a time from 0"),
        ("a.csv", "src,dst,bytes,start_us,stop_us\n1,0,,0\n", "a.csv:2: expected `src,dst,bytes,start_us,stop_us`"),
        ("a.csv", "src,dst,bytes,start_us\n1,0,,0\n", "`` is not a size from 1"),
        ("a.txt", "", "a.txt:1: the list has no flows"),
        ("a.txt", "many\n", "a.txt:1: expected the number of flows, at most 10000000; this is `many`"),
        ("a.txt", "2\n1 0 3 100 5 0\n", "a.txt:2: the first line announces 2 flows, but 1 follow"),
        ("a.txt", "1\n\n1 0 3 100 5\n", "a.txt:3: expected `SRC DST PRIORITY PORT BYTES START_SECONDS`"),
        ("a.txt", "1\n1 x 3 100 5 0\n", "`x` is not a host from 0 to 1000000"),
        ("a.txt", "1\n1 0 3 100 -5 0\n", "`-5` is not a size from 1"),
        ("a.txt", "1\n1 0 3 100 0 0\n", "`0` is not a size from 1"),
        ("a.txt", "1\n1 0 3 100 5 soon\n", "`soon` is not a time from 0 to 100000 s"),
        ("a.txt", "1\n1 0 3 http 5 0\n", "`http` is not a port"),
        ("a.txt", "1\n4 4 3 100 5 0\n", "a.txt:2: a flow from host 4 to itself"),
        (
            "a.cm",
            "Nodes 4\nConnections 1\n0->4 start 0 size 5\n",
            "a.cm:3: host 4 does not exist: `Nodes 4` has hosts 0 to 3",
        ),
        ("a.cm", "Nodes 4\nConnections 2\n0->1 start 0 size 5\n", "a.cm:2: `Connections 2`, but the file has 1"),
        ("a.cm", "Nodes 4\n0->1 start 0 size 5\n", "a.cm:2: expected `Connections N`"),
        ("a.cm", "Connections 1\n0->1 start 0 size 5\n", "a.cm:2: expected `Nodes N` before"),
        (
            "a.cm",
            "Nodes 4\nConnections 1\n0->1 size 5\n",
            "a.cm:3: expected `SRC->DST id N start PICOSECONDS size BYTES`",
        ),
        ("a.cm", "Nodes 4\nConnections 1\n0->1 start 0 size\n", "`size` has no value"),
        (
            "a.cm",
            "Nodes 4\nConnections 1\n0->1 id 1 trigger 1 size 5\n",
            "a.cm:3: `trigger`: flows that start other flows are not",
        ),
        ("a.cm", "Nodes 4\nConnections 1\nTriggers 1\n", "a.cm:3: triggers (flows that start other flows)"),
        ("a.cm", "Nodes 4\nConnections 1\n0->1 start 0 size 5 prio 2\n", "a.cm:3: `prio`: ports have no priorities"),
        ("a.cm", "Nodes 4\nConnections 1\n0->3 start 0 size 5\nNodes 2\n", "a.cm:4: `Nodes` is given twice"),
        ("a.cm", "Nodes 1\n", "a.cm:1: expected `Nodes N`, N from 2"),
        ("a.cm", "Edges 4\n", "a.cm:1: expected `SRC->DST"),
        (
            "a.csv",
            "0,1,5,0\n",
            "a.csv:1: expected the header `src,dst,bytes,start_us`, optionally followed by `stop_us`; this is `0,1,5,0`",
        ),
        ("a.csv", "src,dst,bytes,start_us\n", "a.csv:1: the list has no flows"),
        ("a.csv", "src,dst,bytes,start_us\n0,1,5,0\n0,1,5\n", "a.csv:3: expected `src,dst,bytes,start_us`, such as"),
        ("a.csv", "src,dst,bytes,start_us\n0,1,5 KB,0\n", "a.csv:2: expected `src,dst,bytes,start_us`"),
        ("a.xls", CSV, "a.xls:1: unknown extension: use .txt or .flow (HPCC), .cm (htsim) or .csv"),
    ];
    for (name, text, told) in cases {
        let problem = Flows::parse(name, text).unwrap_err().to_string();
        assert!(problem.contains(told), "{text:?} says {problem}");
    }
}

#[test]
fn refuses_decreasing_or_incomplete_sizes() {
    let cases = [
        (
            "0 0\n20 50\n10 100\n",
            "x.txt:3: the distribution decreases: bytes and percent must both rise from line to line",
        ),
        ("0 0\n10 50\n20 40\n30 100\n", "this is `20 40` after `10 50`"),
        ("0 0\n10 50\n", "x.txt:2: the last line must reach 100 percent"),
        ("", "x.txt:1: the last line must reach 100 percent"),
        ("0 100\n", "x.txt:1: every flow would have 0 B"),
        ("0 0\n10 150\n", "x.txt:2: expected `bytes percent`, such as `10000 15`"),
        ("0 0\n10\n", "x.txt:2: expected"),
        ("0 0\n10 20 30\n", "x.txt:2: expected"),
        ("ten 10\n", "x.txt:1: expected"),
    ];
    for (text, told) in cases {
        let problem = Sizes::parse("x.txt", text).unwrap_err().to_string();
        assert!(problem.contains(told), "{text:?} says {problem}");
    }
}

#[test]
fn the_published_distributions_have_their_means() {
    // Worked by hand: the sum of each step's share times the middle of its sizes.
    let mean = |name: &str| Sizes::named(name).map(|sizes| sizes.mean_bytes());
    assert_eq!(mean("web-search"), Some(1_711_250.0));
    assert_eq!(mean("hadoop"), Some(120_420.75));
    assert_eq!(mean("data-mining"), Some(12_658_207.6));
    let own = Sizes::parse("x.txt", TABLE).unwrap();
    // 0.15 * 5000 + 0.055 * 10000 + 0.795 * 15005000.
    assert!((own.mean_bytes() - 11_930_275.0).abs() < 1e-6, "{}", own.mean_bytes());
}

#[test]
fn draws_follow_the_table() {
    for name in Sizes::names() {
        let sizes = Sizes::named(name).unwrap();
        // Evenly spread draws: the only remaining error is rounding.
        const DRAWS: u64 = 1_000_000;
        let draw = |i: u64| sizes.at((u64::MAX / DRAWS) * i + u64::MAX / (2 * DRAWS));
        let mut drawn: Vec<u64> = (0..DRAWS).map(draw).collect();
        assert!(drawn.is_sorted(), "{name}");
        let mean = drawn.iter().map(|&size| size as f64).sum::<f64>() / DRAWS as f64;
        assert!((mean / sizes.mean_bytes() - 1.0).abs() < 1e-5, "{name}: a mean of {mean}");
        drawn.sort_unstable();
        for (bytes, share) in sizes.points() {
            let up_to = drawn.partition_point(|&size| size <= bytes) as f64 / DRAWS as f64;
            // Small sizes are whole bytes and many draws share one: allow half a byte of the step's height.
            let step = if bytes < 1_100 { 2e-3 } else { 1e-4 };
            assert!((up_to - share as f64 / 1e9).abs() < step, "{name}: {up_to} up to {bytes}");
        }
    }
}

#[test]
fn distribution_ends_at_its_first_and_last_size() {
    let sizes = Sizes::named("data-mining").unwrap();
    assert_eq!((sizes.at(0), sizes.at(u64::MAX / 11), sizes.at(u64::MAX)), (180, 180, 1_000_000_000));
    assert_eq!(Sizes::named("web-search").unwrap().at(0), 1, "a flow has at least one byte");
}

/// Resolves a scenario whose one file holds `text`.
fn resolve(scenario: &str, text: &str) -> Result<Vec<Variant>, Problem> {
    Scenario::parse("my.toml", scenario)?.variants_with(&|path| Ok((path.to_string(), text.into())))
}

const LISTED: &str = "schemes = [\"newreno\"]\n[workload]\nkind = \"flows\"\nfile = \"a.csv\"\n";

#[test]
fn list_determines_hosts_unless_declared() {
    let fan_in = |scenario: &str| resolve(scenario, CSV).map(|c| c[0].fan_ins());
    assert_eq!(fan_in(LISTED).unwrap(), [3]);
    assert_eq!(fan_in(&format!("{LISTED}[sweep]\nfan_in = [7]\n")).unwrap(), [7]);
    let problem = fan_in(&format!("{LISTED}[sweep]\nfan_in = [2]\n")).unwrap_err();
    assert_eq!(problem.to_string(), "a.csv:2: host 3 does not exist: the cluster has hosts 0 to 2");
    let problem = fan_in(&format!("{LISTED}duration = \"10 us\"\n")).unwrap_err().to_string();
    assert!(
        problem.contains("a.csv:2: a flow starts at 12.5 us, but the run ends at `workload.duration`, 10 us"),
        "{problem}"
    );
}

#[test]
fn hash_covers_the_lists_content_not_its_name() {
    let hash = |scenario: &str, text: &str| Scenario::hash(&resolve(scenario, text).unwrap());
    assert_eq!(hash(LISTED, CSV), hash(&LISTED.replace("a.csv", "b.csv"), CSV));
    assert_ne!(hash(LISTED, CSV), hash(LISTED, &CSV.replace("20000", "20001")));
    let poisson =
        "schemes = [\"newreno\"]\n[workload]\nkind = \"poisson\"\nload = 0.5\nsizes = \"x.txt\"\nduration = \"1 ms\"\n";
    assert_ne!(hash(poisson, TABLE), hash(poisson, "0 0\n10 100\n"));
    assert_eq!(hash(poisson, TABLE), hash(&poisson.replace("x.txt", "y.cdf"), TABLE));
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn any_words_parse_as_a_plan_or_name_a_line(
        words in prop::collection::vec(select(vec![
            "object,from,to,reason", "0,1,2,popular", "0,1,2,correlated", "0,1,1,popular", ",", "0", "1", "-1", "popular", "4294967296",
            "99999999999999999999", "\u{feff}", "#", "\u{fffd}",
        ]), 0..20),
        gaps in prop::collection::vec(select(vec![" ", "\n", "\r\n", ",", ""]), 20),
        headed in any::<bool>(),
    ) {
        let text: String = words.iter().zip(&gaps).map(|(word, gap)| format!("{word}{gap}")).collect();
        let text = if headed { format!("object,from,to,reason\n{text}") } else { text };
        match Plan::parse("p.csv", &text) {
            Ok(plan) => prop_assert!(plan.moves().iter().all(|of| of.from != of.to)),
            Err(problem) => {
                let message = problem.to_string();
                prop_assert!(message.starts_with("p.csv:") && message.lines().count() == 1, "{message}");
            }
        }
    }
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn any_text_parses_as_a_list_or_names_a_line(
        ending in select(vec!["txt", "cm", "csv"]), text in any::<String>(),
    ) {
        told("any", ending, &text);
    }

    #[test]
    fn any_valid_words_parse_as_a_list_or_name_a_line(
        ending in select(vec!["txt", "cm", "csv"]),
        words in prop::collection::vec(select(vec![
            "Nodes", "Connections", "Triggers", "0->1", "1->0", "->", "0->", "id", "start", "size", "trigger", "#", "0", "1", "2",
            "16", "1.5", ".", "-1", "18446744073709551615", "99999999999999999999", "src,dst,bytes,start_us", "0,1,5,0", ",",
            "1 0 3 100 5 0", "1\n1 0 3 100 5 0.5", "\u{fffd}", "e9", "nan",
        ]), 0..30),
        gaps in prop::collection::vec(select(vec![" ", "\n", "\r\n", ",", "\t", ""]), 30),
    ) {
        let text: String = words.iter().zip(&gaps).map(|(word, gap)| format!("{word}{gap}")).collect();
        told("words", ending, &text);
    }

    #[test]
    fn mutated_lists_parse_or_name_a_line(
        file in select(vec![("txt", HPCC), ("cm", HTSIM), ("csv", CSV)]), at in any::<prop::sample::Index>(), new in "[ -~\n]{0,4}",
    ) {
        let mut text: Vec<char> = file.1.chars().collect();
        let at = at.index(text.len());
        text.splice(at..(at + 2).min(text.len()), new.chars());
        told("edited", file.0, &text.into_iter().collect::<String>());
    }

    #[test]
    fn any_text_parses_as_a_distribution_or_names_a_line(
        text in prop_oneof![any::<String>(), "([0-9]{1,13} [0-9]{1,3}(\\.[0-9]{0,9})?\n){0,6}"], draw: u64,
    ) {
        match Sizes::parse("any.txt", &text) {
            Ok(sizes) => {
                prop_assert!(sizes.at(draw) >= 1 && sizes.at(draw) <= sizes.at(u64::MAX).max(sizes.at(draw)));
                prop_assert!(sizes.mean_bytes() > 0.0);
            }
            Err(problem) => one_message(&problem, "any.txt"),
        }
    }
}

fn told(name: &str, ending: &str, text: &str) {
    let name = format!("{name}.{ending}");
    match Flows::parse(&name, text) {
        Ok(flows) => {
            assert!(
                flows.list().iter().all(|f| f.from != f.to && f.from.max(f.to) < flows.hosts() && f.bytes > Some(0))
            )
        }
        Err(problem) => one_message(&problem, &name),
    }
}

fn one_message(problem: &Problem, name: &str) {
    let text = problem.to_string();
    let line = text.strip_prefix(&format!("{name}:")).and_then(|rest| rest.split_once(": ")).map(|(line, _)| line);
    assert!(line.is_some_and(|line| line.parse::<usize>().is_ok_and(|n| n > 0)), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}
