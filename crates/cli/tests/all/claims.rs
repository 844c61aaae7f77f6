//! Bad input to `fanin reproduce`: refused before anything runs, with file and line.

use std::fs;
use std::path::Path;

use crate::reproducing::{tiny, with_papers};

/// `fanin reproduce` refuses the claims file with `from` replaced by `to`, with this message.
fn refused(from: &str, to: &str, told: &str) {
    let place = tiny();
    let path = place.path("papers/tiny/claims.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "the fixture has no {from:?}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    let message = place.refuses(&["reproduce", "tiny", "--out", "results"]);
    assert!(message.contains(told), "{to:?} says {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert!(!place.path("results").exists() && !place.cache().exists(), "{to:?}: something was begun");
}

/// The prefix of a message about the first line with this text in the fixture's claims file.
fn line(needle: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/papers/tiny/claims.toml");
    let text = fs::read_to_string(path).unwrap();
    let line = text.lines().position(|line| line == needle).unwrap() + 1;
    format!("papers/tiny/claims.toml:{line}: ")
}

/// The prefix of a message about a claim of the fixture.
fn claim(id: &str) -> String {
    let at = line(&format!("id = \"{id}\""));
    let number: usize = at.rsplit(':').nth(1).unwrap().parse().unwrap();
    at.replace(&format!(":{number}: "), &format!(":{}: claim `{id}`: ", number - 1))
}

#[test]
fn lists_known_papers_and_figures_for_unknown_ones() {
    let place = with_papers(&["tiny", "other"]);
    let message = place.refuses(&["reproduce", "tinny"]);
    assert!(message.contains("unknown paper `tinny`; the papers are other, tiny, or all"), "{message}");
    let message = place.refuses(&["reproduce", "tiny", "--figure", "T-9"]);
    assert!(message.contains("--figure T-9: unknown figure; use one of T-1, T-2, T-3"), "{message}");
    let output = place.fanin(&["reproduce", "all", "--papers-in", "gone"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn refuses_claims_with_unknown_class_or_keys() {
    let one = claim("T-1.1");
    let cases = [
        (
            "\"level\"",
            "\"lvel\"",
            "unknown class \"lvel\"; the classes are order, much, steeper, onset, holds, level, factor, share, shape, none",
        ),
        ("at_least = 1\n", "", "class \"level\" needs one of `value`, `at_least`, `at_most`"),
        ("at_least = 1\n", "at_least = 1\nat_most = 2\n", "class \"level\" needs one of"),
        (
            "at_least = 1\n",
            "at_least = 1\nshape = \"flat\"\n",
            "class \"level\" has no key `shape`; it has curve, value",
        ),
        ("curve = [\"newreno\", \"dctcp\"]\n", "", "class \"level\" needs `curve`"),
        ("curve = [\"newreno\", \"dctcp\"]\n", "curve = []\n", "class \"level\" needs `curve`"),
        ("[\"newreno\", \"dctcp\"]", "[\"newreno\", \"cubic\"]", "no curve `cubic`; the figure has newreno, dctcp"),
        ("at_least = 1\n", "at_least = 1\nat = 3\n", "nothing is measured at 3; the figure has [2.0, 4.0, 8.0]"),
        ("at_least = 1\n", "at_least = 1\nat = []\n", "`at` lists no points"),
        ("at_least = 1\n", "at_least = 1\nat = 2\nto = 4\n", "use either `at`, or `from` and `to`"),
        ("at_least = 1\n", "at_least = 1\nfrom = 5\nto = 7\n", "nothing is measured from `from` to `to`"),
        ("at_least = 1\n", "at_least = 1\nmeasure = \"cwnd_segments\"\n", "uses a measure over rounds or time"),
        ("at_least = 1\n", "at_least = 1\nmeasure = \"incast_probability\"\n", "uses a closed form"),
    ];
    for (from, to, told) in cases {
        refused(from, to, &format!("{one}{told}"));
    }
    refused("over = \"dctcp\"\n", "", &format!("{}class \"factor\" needs `over`", claim("T-1.2")));
    let onset = claim("T-1.6");
    refused("grid = [2, 4, 8]\n", "", &format!("{onset}class \"onset\" needs `grid`"));
    refused("grid = [2, 4, 8]\n", "grid = [2, 8, 4]\n", &format!("{onset}the steps of `grid` must rise"));
    refused("grid = [2, 4, 8]\n", "grid = [4, 8]\n", "`onset` is not a step of the grid [4.0, 8.0]");
    refused(
        "onset = 2\n",
        "",
        &format!("{onset}class \"onset\" needs `onset`; for a curve without collapse use class \"holds\""),
    );
    let none = "to = 2\n\n[[figure.claim]]\nid = \"T-1.5\"";
    let holds = |keys: &str| none.replacen("to = 2\n", &format!("to = 2\n{keys}\n"), 1);
    refused(none, &holds("percent = 0"), &format!("{}percent = 0: use a percentage above 0", claim("T-1.4")));
    refused(none, &holds("percent = 101"), "percent = 101: use a percentage above 0 and up to 100");
    refused(none, &holds("onset = 2"), "class \"holds\" has no key `onset`; it has curve, line, percent");
    refused("value = 100\n", "value = 100\ntakes = \"least\"\n", "takes = \"least\": use mean or largest");
    let pairs = "over = [\"dctcp\", \"newreno\"]\n";
    refused("over = \"dctcp\"\n", pairs, "`over` takes one curve, or one for each of `curve`");
    refused("over = \"newreno\"\n", pairs, "`over` takes one curve");
    refused(
        "shape = \"rises\"\n",
        "shape = \"curly\"\n",
        "class \"shape\" needs `shape`: rises, falls, flat or linear",
    );
    refused("above = \"doubling\"\n", "", &format!("{}class \"order\" needs `above`", claim("T-3.1")));
    // Errors of the TOML parser name the line of the claim or of the key.
    refused("at_least = 1\n", "at_least = 1\nvaleu = 2\n", "unknown field `valeu`");
    refused("says = \"Both move something\"\n", "", "missing field `says`");
    refused("measure = \"drops\"", "measure = \"time\"", "unknown variant `time`, expected one of `goodput_mbps`");
}

#[test]
fn all_toml_errors_have_a_line() {
    for (from, to) in [
        ("at_least = 1\n", "at_least = 1\nvaleu = 2\n"),
        ("says = \"Both move something\"\n", ""),
        ("title = \"Goodput over senders\"\n", ""),
        ("measure = \"drops\"", "measure = \"time\""),
        ("draws = [\"round_end_ms\"]", "draws = [\"rounds\"]"),
        ("seeds = 2", "seeds = -2"),
    ] {
        let place = tiny();
        let path = place.path("papers/tiny/claims.toml");
        let text = fs::read_to_string(&path).unwrap();
        let before = text[..text.find(from).unwrap()].matches('\n').count() + 1;
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let message = place.refuses(&["reproduce", "tiny"]);
        let told = message.split("claims.toml:").nth(1).and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
        let told = told.unwrap_or_else(|| panic!("no line: {message}"));
        // A missing key has no line: the error names that of its table.
        assert!((before.saturating_sub(4)..=before + 1).contains(&told), "line {told} for {before}: {message}");
    }
}

#[test]
fn claim_ids_are_unique_and_match_their_figure() {
    refused("id = \"T-1.2\"", "id = \"T-1.1\"", "duplicate claim `T-1.1`");
    refused("id = \"T-2\"\n", "id = \"T-1\"\n", &format!("{}duplicate figure `T-1`", line("id = \"T-2\"")));
    refused("id = \"T-1.2\"", "id = \"T-2.2\"", "claim `T-2.2` of figure `T-1`: its id would be T-1.1");
    for gone in ["T-9.9", "T-1.6"] {
        let at = line("repeats = \"T-1.1\"");
        let told = format!("{at}claim `T-1.6` repeats `{gone}`, which is not a counted claim");
        refused("repeats = \"T-1.1\"", &format!("repeats = \"{gone}\""), &told);
    }
    refused("id = \"T-1.2\"", "id = \"T-1.\"", "claim `T-1.` of figure `T-1`: its id would be T-1.1");
}

#[test]
fn refuses_figures_that_cannot_be_drawn() {
    let three = line("id = \"T-3\"");
    for (from, to, told) in [
        ("draws = [\"round_end_ms\"]", "draws = []", format!("{}figure `T-2` draws nothing", line("id = \"T-2\""))),
        ("fan_in = [4]\n", "", format!("{}figure `T-2` draws a measure over rounds or time", line("id = \"T-2\""))),
        ("fan_in = [4]", "fan_in = [5]", "rounds.toml does not sweep over 5 senders: [2, 4]".into()),
        ("fan_in = [4]", "fan_in = [4, 2]", "fan_in = [4, 2]: use rising numbers".into()),
        ("fan_in = [4]", "fan_in = []", "fan_in = []: use rising".into()),
        ("fan_in = [4]", "points = [4]", "`points` is for another swept key: use fan_in".into()),
        (
            "fan_in = [4]",
            "fan_in = [4]\nschemes = [\"cubic\"]",
            "rounds.toml has no scheme `cubic`; it has newreno".into(),
        ),
        ("fan_in = [4]", "fan_in = [4]\nschemes = []", "schemes = []".into()),
        ("fan_in = [4]", "fan_in = [4]\nflows = [4]", "figure `T-2` needs either a scenario".into()),
        (
            "\"rounds.toml\"",
            "\"gone.toml\"",
            format!("{}no scenario `gone.toml` in its folder", line("scenario = \"rounds.toml\"")),
        ),
        ("flows = [20, 40, 60, 80]\n", "", format!("{three}figure `T-3` has a model: give flows")),
        ("[\"incast_probability\"]", "[\"goodput_mbps\"]", format!("{three}figure `T-3` draws a measure of runs")),
        ("[\"incast_probability\"]", "[\"tree_ms\"]", format!("{three}figure `T-3` draws the time to form swarms")),
        ("flows = [20, 40, 60, 80]\n", "targets = [20]\n", format!("{three}figure `T-3` has a model: give flows")),
        (
            "rate = \"1 Gbit/s\"",
            "rate = \"fast\"",
            format!("{}\"fast\" is not a valid value", line("rate = \"1 Gbit/s\"")),
        ),
        ("packet = \"1500 B\"", "packet = \"0 B\"", format!("{three}figure `T-3` has a curve of packets of 0 B")),
        (
            "form = \"doubles\"",
            "form = \"window\"",
            "`window` is required with form = \"window\", and applies only to it".into(),
        ),
        ("\"by one\"\nrate", "\"doubling\"\nrate", format!("{three}figure `T-3` has curve `doubling` twice")),
    ] {
        refused(from, to, &told);
    }
}

#[test]
fn a_full_run_refuses_invalid_quick_settings() {
    let set = line("set = [\"workload.duration=2 ms\"]");
    refused("workload.duration=2 ms", "workload.durtion=2 ms", &format!("{set}quick: "));
    let of = |scenario: &str, set: &str| format!("seeds = 2\nscenario.\"{scenario}\" = [\"{set}\"]");
    refused("seeds = 2", &of("rounds.toml", "workload.durtion=2 ms"), &format!("{set}quick: "));
    let told = format!("{set}quick: no figure uses the scenario `round.toml`; use one of ");
    refused("seeds = 2", &of("round.toml", "workload.duration=2 ms"), &told);
    refused("seeds = 2", "seeds = 0", &format!("{}no seeds", line("seeds = 2")));
    let title = line("title = \"A tiny paper\"");
    for (written, said) in [("0.0", "0"), ("1.5", "1.5"), ("-0.01", "-0.01")] {
        let told = format!("{title}precision = {said}: use a share such as 0.01");
        refused("title = ", &format!("precision = {written}\ntitle = "), &told);
    }
}

#[test]
fn names_the_line_of_an_impossible_scheme() {
    let place = tiny();
    let path = place.path("papers/tiny/rounds.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"newreno\"", "\"newreno+ecn\"")).unwrap();
    let message = place.refuses(&["reproduce", "tiny", "--figure", "T-1"]);
    assert!(message.contains("papers/tiny/rounds.toml:2: scheme `newreno+ecn` cannot work"), "{message}");
    assert!(!place.cache().exists());
}

#[test]
fn quotes_settings_that_do_not_resolve() {
    let place = tiny();
    let message = place.refuses(&["reproduce", "tiny", "--set", "workload.duration=2"]);
    assert!(message.contains("--set workload.duration=2: `workload.duration`"), "{message}");
    fs::write(place.path("papers/tiny/expected.json"), "{}").unwrap();
    let message = place.refuses(&["reproduce", "tiny", "--out", "results"]);
    assert!(message.contains("expected.json: ") && message.contains("`--record` writes a new one"), "{message}");
    assert!(!place.path("results").exists() && !place.cache().exists());
}

#[test]
fn refuses_invalid_open_parameters_before_running() {
    let place = tiny();
    let message = place.refuses(&["reproduce", "tiny", "--sensitivity"]);
    assert!(message.contains("papers/tiny/sensitivity.toml: "), "{message}");
    let ranges =
        "seeds = 1\n[[parameter]]\nkey = \"host.servce_time\"\nvalue = \"0 us\"\nends = [\"1 us\"]\nwhy = \"a test\"\n";
    fs::write(place.path("papers/tiny/sensitivity.toml"), ranges).unwrap();
    let message = place.refuses(&["reproduce", "tiny", "--sensitivity"]);
    assert!(message.contains("did you mean `host.service_time`?"), "{message}");
    fs::write(place.path("papers/tiny/sensitivity.toml"), "figures = [\"T-99\"]\n").unwrap();
    let message = place.refuses(&["reproduce", "tiny", "--sensitivity"]);
    assert!(message.contains("sensitivity.toml: `tiny` has no figure `T-99`"), "{message}");
    assert!(!place.cache().exists());
}

#[test]
fn chart_baselines_must_exist_and_come_first() {
    let draws = "draws = [\"goodput_mbps\", \"query_ms\"]\n";
    let over = |over: &str| format!("{draws}over = {{ {over} }}\n");
    refused(
        draws,
        &over("goodput_mbps = [\"gone\"]"),
        "is drawn over `gone`, which is not one of its curves: newreno, dctcp",
    );
    refused(draws, &over("goodput_mbps = [\"dctcp\"]"), "has `over` without the first curve of its legend");
    refused(draws, &over("drops = [\"newreno\"]"), "has `over` for a measure that it does not draw");
}
