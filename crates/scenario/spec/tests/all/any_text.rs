//! Random user input: reading it ends in settings or in one clear message, never in a panic. `make fuzz` tests more.

use std::fs;
use std::path::Path;

use fanin_spec::{Base, Problem, Scenario, Scheme, Settings};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The project's own scenario files.
fn scenarios() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut texts = Vec::new();
    for folder in ["scenarios", "scenarios/flows", "bench/scenarios"] {
        let mut files: Vec<_> = fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
        files.sort();
        texts.extend(files.iter().map(|file| fs::read_to_string(file).unwrap()));
    }
    assert!(!texts.is_empty());
    texts
}

/// Reads a scenario as the command line does.
fn read(text: &str, assignments: &[String], schemes: &[&str]) -> Result<(), Problem> {
    let mut scenario = Scenario::parse("my.toml", text)?;
    for assignment in assignments {
        scenario.assign(&format!("--set {assignment}"), assignment)?;
    }
    if !schemes.is_empty() {
        scenario.select("--schemes", schemes)?;
    }
    // A list of flows, or a table of sizes, by the file's name.
    let file = |path: &str| match path.ends_with(".csv") {
        true => Ok((path.to_string(), "src,dst,bytes,start_us\n0,3,20000,12.5\n".into())),
        false => Ok((path.to_string(), "0 0\n100 100\n".into())),
    };
    scenario.variants_with(&file).map(|variants| drop(scenario.warnings(&variants)))
}

fn says_something(read: Result<(), Problem>) {
    if let Err(problem) = read {
        assert!(!problem.what.trim().is_empty());
        assert!(!problem.to_string().contains('\u{0}'));
    }
}

/// Values of every kind, right and wrong.
fn value() -> impl Strategy<Value = String> {
    let words = [
        "0",
        "1",
        "-1",
        "4294967296",
        "9223372036854775807",
        "1e308",
        "-0.0",
        "nan",
        "0.16",
        "true",
        "none",
        "\"none\"",
        "",
        "[]",
        "[2, 4]",
        "[0]",
        "{}",
        "1979-05-27",
        "\"1/16\"",
        "\"1/0\"",
        "\"2/1\"",
        "0 B",
        "\"64 KiB\"",
        "10 Gbit/s",
        "\"0 bit/s\"",
        "25 us",
        "18446744073709551615 ps",
        "99999999999999999999 s",
        "250 packets",
        "-5 ms",
        "1.5 B",
        "=",
        "\"",
        "barrier",
        "inflate",
        "pipe",
        "data",
        "all",
        "web-search",
        "long",
        "one-shot",
        "flows",
        "poisson",
        "hadoop",
        "a.csv",
        "a.cm",
    ];
    prop_oneof![4 => select(words.to_vec()).prop_map(String::from), 1 => any::<String>()]
}

fn path() -> impl Strategy<Value = String> {
    let paths: Vec<String> = Settings::default().docs().into_iter().map(|key| key.path).collect();
    select(paths)
}

proptest! {
    #![proptest_config(fanin_testing::cases(256))]

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        says_something(read(&text, &[], &[]));
    }

    #[test]
    fn a_real_scenario_with_bytes_replaced_never_panics(
        file in select(scenarios()),
        edits in prop::collection::vec((any::<Index>(), any::<Index>(), "[ -~\n]{0,12}"), 1..6),
    ) {
        let mut text: Vec<char> = file.chars().collect();
        for (from, len, new) in &edits {
            let from = from.index(text.len());
            let to = (from + len.index(16)).min(text.len());
            text.splice(from..to, new.chars());
            if text.is_empty() {
                break;
            }
        }
        says_something(read(&text.into_iter().collect::<String>(), &[], &[]));
    }

    #[test]
    fn a_real_scenario_with_any_key_set_to_any_value_never_panics(
        file in select(scenarios()),
        settings in prop::collection::vec((path(), value()), 1..5),
    ) {
        let assignments: Vec<String> = settings.iter().map(|(path, value)| format!("{path}={value}")).collect();
        says_something(read(&file, &assignments, &[]));
    }

    #[test]
    fn a_file_with_any_value_under_any_key_never_panics(key in path(), value in value()) {
        let (section, key) = key.split_once('.').unwrap();
        says_something(read(&format!("schemes = [\"dctcp\"]\n[{section}]\n{key} = {value}\n"), &[], &[]));
    }

    #[test]
    fn any_name_of_a_scheme_never_panics(name in "[a-z0-9+_, ]{0,40}", parts in prop::collection::vec(
        select(Base::ALL.iter().map(|base| base.row().word).chain(Scheme::parts()).chain([""]).collect::<Vec<_>>()), 0..5,
    )) {
        says_something(read("", &[], &[&name]));
        says_something(read("", &[], &[&parts.join("+")]));
    }
}
