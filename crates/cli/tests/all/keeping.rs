//! Few points, enough seeds, and cached runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::Value;

use crate::common::{Place, err};

const SWEEP: &str = "\
schemes = [\"newreno\", \"dctcp\"]
[tcp]
sack = false
[workload]
fragment = \"32 KiB\"
start_jitter = \"20 us\"
duration = \"200 ms\"
[sweep]
fan_in = [2, 4, 8, 16, 32, 64]
[run]
seeds = 2
";

fn json(place: &Place, arguments: &[&str]) -> Value {
    let mut all = vec!["compare", "my.toml", "--json"];
    all.extend(arguments);
    serde_json::from_str(&place.says(&all)).unwrap()
}

#[test]
fn bisection_finds_the_collapse_point_of_the_sweep() {
    let place = Place::with(SWEEP);
    let (sweep, few) = (json(&place, &[]), json(&place, &["--onset"]));
    assert_eq!(sweep["onset"], few["onset"]);
    let rows = |object: &Value| object["rows"].as_array().unwrap().len();
    // Six points: at most ceil(log2(7)) + 2 = 5 per scheme.
    assert!(rows(&few) <= 10 && rows(&sweep) == 12, "{} and {} rows", rows(&few), rows(&sweep));
}

#[test]
fn precision_adds_seeds_at_some_points() {
    let place = Place::with(SWEEP);
    let object = json(&place, &["--schemes", "dctcp", "--precision", "5%"]);
    for row in object["rows"].as_array().unwrap() {
        let g = |key: &str| row["goodput_mbps"][key].as_f64().unwrap();
        let narrow = (g("hi") - g("lo")) / 2.0 <= 0.0501 * g("mean");
        assert!(narrow || row["seeds"] == 200, "{row}");
    }
}

#[test]
fn precision_is_a_percentage() {
    let place = Place::with(SWEEP);
    for wrong in ["2", "0%", "100%", "x%"] {
        let output = place.fanin(&["compare", "my.toml", "--precision", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(err(&output).contains("such as 2%"), "{}", err(&output));
    }
}

#[test]
fn cached_runs_give_the_same_result_and_no_cache_stores_none() {
    let place = Place::with(SWEEP);
    let arguments = ["compare", "my.toml", "--json"];
    let uncached = place.says(&["compare", "my.toml", "--json", "--no-cache"]);
    assert!(!place.cache().exists());
    let (first, second) = (place.says(&arguments), place.says(&arguments));
    assert_eq!(first, second, "even the cost is that of the runs");
    let without_cost = |text: &str| {
        let mut object: Value = serde_json::from_str(text).unwrap();
        object["engine"].take();
        object
    };
    assert_eq!(without_cost(&first), without_cost(&uncached));
    assert!(place.says(&["cache"]).contains("24 runs"));
    assert!(place.says(&["cache", "prune", "--all"]).contains("removed 24 runs"));
    assert!(place.says(&["cache"]).contains("0 runs"));
}

#[test]
fn reruns_damaged_cache_entries_with_a_notice() {
    let place = Place::with(SWEEP);
    let arguments = ["compare", "my.toml", "--json", "--fan-in", "2", "--seeds", "1", "--schemes", "dctcp"];
    let before: Value = serde_json::from_str(&place.says(&arguments)).unwrap();
    let engine = fs::read_dir(place.cache()).unwrap().next().unwrap().unwrap().path();
    let entry = fs::read_dir(engine).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&entry).unwrap();
    fs::write(&entry, &whole[..whole.len() / 2]).unwrap();
    let output = place.fanin(&arguments);
    assert!(err(&output).contains("discarded a damaged cache entry"), "{}", err(&output));
    let after: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(before["rows"], after["rows"]);
    let again = place.fanin(&arguments);
    assert_eq!((err(&again).as_str(), again.stdout), ("", output.stdout), "it is kept again");
}

#[test]
fn ignores_cache_entries_of_another_run() {
    let place = Place::with(SWEEP);
    let arguments = |fan_in| ["--fan-in", fan_in, "--seeds", "1", "--schemes", "dctcp"];
    let entries = || {
        let engine = fs::read_dir(place.cache()).unwrap().next().unwrap().unwrap().path();
        fs::read_dir(engine).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let first = json(&place, &arguments("2"));
    let kept = entries().remove(0);
    json(&place, &arguments("8"));
    let other = entries().into_iter().find(|entry| *entry != kept).unwrap();
    fs::copy(other, &kept).unwrap();
    assert_eq!(json(&place, &arguments("2"))["rows"], first["rows"]);
}

#[test]
fn ignores_caches_that_others_can_write_to_with_a_notice() {
    let place = Place::with(SWEEP);
    let arguments = ["compare", "my.toml", "--json", "--fan-in", "2", "--seeds", "1", "--schemes", "dctcp"];
    let cost = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap()["engine"].take();
    let kept = place.fanin(&arguments);
    fs::set_permissions(place.cache(), fs::Permissions::from_mode(0o777)).unwrap();
    let output = place.fanin(&arguments);
    assert!(err(&output).contains("cannot cache runs") && err(&output).contains("chmod go-w"), "{}", err(&output));
    let pruned = place.fanin(&["cache", "prune", "--all"]);
    assert_eq!(pruned.status.code(), Some(3), "{}", err(&pruned));
    fs::set_permissions(place.cache(), fs::Permissions::from_mode(0o700)).unwrap();
    let again = place.fanin(&arguments);
    assert_eq!((err(&again).as_str(), cost(&again)), ("", cost(&kept)), "what was there before is still there");
}

#[test]
fn prunes_the_cache_by_age_and_size() {
    let place = Place::with(SWEEP);
    json(&place, &["--schemes", "dctcp", "--seeds", "1"]);
    assert!(place.says(&["cache", "prune", "--older-than", "1"]).contains("removed 0 runs"));
    let prune = |to| place.says(&["cache", "prune", "--to", to]);
    assert!(prune("1 GB").contains("removed 0 runs"));
    assert!(!prune("30 KB").contains("removed 0 runs"));
    assert!(prune("0 B").contains("keeps 0 runs"));
    for wrong in [["--to", "5"], ["--older-than", "-1"]] {
        assert_eq!(place.fanin(&[&["cache", "prune"], &wrong[..]].concat()).status.code(), Some(2));
    }
}
