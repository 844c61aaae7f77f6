//! `fanin advise`.

use serde_json::Value;

use super::common::Place;

/// A rack that collapses, and is quick to simulate.
const RACK: &str = r#"
schemes = ["newreno"]
[link]
rate = "1 Gbit/s"
[switch]
buffer = "64 KiB"
[tcp]
rto_min = "50 ms"
[workload]
fragment = "64 KiB"
duration = "400 ms"
[sweep]
fan_in = [4, 24]
"#;

fn advise(place: &Place, more: &[&str]) -> Value {
    let arguments = [&["advise", "my.toml", "--budget", "3M", "--no-cache", "--json"], more].concat();
    serde_json::from_str(&place.says(&arguments)).unwrap()
}

#[test]
fn a_rack_that_collapses_is_told_what_helps_with_lines_and_a_command_that_gives_the_same_figure() {
    let place = Place::with(RACK);
    let advice = advise(&place, &[]);
    assert_eq!((&advice["schema"], &advice["needed"]), (&1.into(), &true.into()));
    assert!(advice["onset"].as_u64().is_some_and(|n| n <= 24), "{}", advice["onset"]);
    assert!(!advice["limits"].as_array().unwrap().is_empty());
    let first = &advice["remedies"][0];
    let today = advice["today"]["goodput_mbps"]["mean"].as_f64().unwrap();
    let with = first["goodput_mbps"]["mean"].as_f64().unwrap();
    assert!(with > 1.3 * today && first["deployable"] == true && first["apart"].is_null(), "{first}");
    for lines in ["apply", "undo", "verify"] {
        let lines = first[lines].as_array().unwrap();
        assert!(!lines.is_empty() && lines.iter().all(|line| line["where"].is_string() && line["line"].is_string()));
    }
    let command = first["run"].as_str().unwrap().replace('\'', "\"");
    let words: Vec<String> = command
        .split('"')
        .enumerate()
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(String::from).collect(),
            _ => vec![part.to_string()],
        })
        .collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).chain(["--json", "--no-cache"]).collect();
    let compared: Value = serde_json::from_str(&place.says(&words)).unwrap();
    assert_eq!(compared["rows"][0]["goodput_mbps"], first["goodput_mbps"], "{command}");
}

#[test]
fn advice_is_the_same_to_the_byte_however_many_threads_there_are() {
    let place = Place::with(RACK);
    assert_eq!(advise(&place, &["--jobs", "1"]), advise(&place, &["--jobs", "3"]));
}

#[test]
fn a_goal_puts_what_meets_it_first_by_effort_and_says_so_where_nothing_does() {
    let place = Place::with(RACK);
    let advice = advise(&place, &["--goal", "goodput > 60 %"]);
    let meets: Vec<bool> = advice["remedies"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["apart"].is_null())
        .map(|r| r["goal"]["met"] == true)
        .collect();
    assert!(meets[0] && meets.is_sorted_by(|a, b| a >= b), "{meets:?}");
    let told = place.says(&["advise", "my.toml", "--budget", "3M", "--goal", "max < 1 us"]);
    assert!(told.contains("Nothing that can be made today meets the goal, max < 1 us."), "{told}");
}

#[test]
fn a_cluster_in_a_line_is_saved_as_the_scenario_that_was_taken_and_a_calm_one_is_left_alone() {
    let place = Place::with(RACK);
    let line = [
        "advise",
        "--servers",
        "4",
        "--rate",
        "10Gbit/s",
        "--answer",
        "16KiB",
        "--budget",
        "20M",
        "--save",
        "c.toml",
        "--json",
    ];
    let advice: Value = serde_json::from_str(&place.says(&line)).unwrap();
    assert_eq!((&advice["needed"], advice["remedies"].as_array().unwrap().len()), (&false.into(), 0));
    let again: Value = serde_json::from_str(&place.says(&["advise", "c.toml", "--budget", "20M", "--json"])).unwrap();
    assert_eq!(again, advice);
}

#[test]
fn the_picture_shows_today_beside_the_first_remedies() {
    let place = Place::with(RACK);
    advise(&place, &["--out", "made"]);
    for file in ["advice.json", "report.html", "summary.csv"] {
        assert!(place.path(&format!("made/{file}")).exists(), "{file}");
    }
}

#[test]
fn what_cannot_be_advised_on_is_refused_with_what_would_be_right() {
    let place = Place::with(RACK);
    for (arguments, why) in [
        (vec!["advise", "my.toml", "--goal", "fast"], "`fast` is no goal"),
        (vec!["advise", "my.toml", "--remedies", "magic"], "`magic` is no remedy; there are rto-min"),
        (vec!["advise", "my.toml", "--budget", "1k"], "is too small: one run needs"),
        (vec!["advise", "my.toml", "--budget", "much"], "right would be data packets, such as 250M"),
        (vec!["advise", "--rate=1Gbit/s", "--servers", "0"], "`0` is not a number of servers"),
        (vec!["advise", "--servers", "4"], "give --rate 25Gbit/s"),
        (vec!["advise", "--servers", "4", "--rate", "1", "--answer", "1KiB"], "--rate: "),
        (vec!["advise", "--servers", "4", "--rate", "1Gbit/s", "--answer", "1KiB", "--stripe", "5"], "at most 4"),
    ] {
        let refused = place.refuses(&arguments);
        assert!(refused.contains(why), "{arguments:?}: {refused}");
    }
}
