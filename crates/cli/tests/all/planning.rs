//! `fanin plan`.

use std::fs;

use serde_json::Value;

use super::common::{Place, SMALL};

/// A place with the demonstration's log and cluster in `try`.
fn demo() -> Place {
    let place = Place::with(SMALL);
    place.says(&["plan", "--demo", "try"]);
    place
}

const PLAN: [&str; 4] = ["plan", "try/log.csv", "--cluster", "try/cluster.toml"];

#[test]
fn a_plan_is_held_against_queries_that_it_has_not_seen() {
    let place = demo();
    let told: Value = serde_json::from_str(&place.says(&[&PLAN[..], &["--json", "--out", "made"]].concat())).unwrap();
    let servers = |when: &str| told["servers_a_query"][when]["mean"].as_f64().unwrap();
    assert_eq!(told["planned_from_queries"], 2_000);
    assert_eq!(told["held_against_queries"], 2_000);
    assert!(servers("after") < servers("popular_alone") && servers("popular_alone") < servers("before"), "{told}");
    assert!(servers("after") * 2.0 < servers("before"), "{told}");
    for file in ["plan.csv", "plan.parquet", "servers.csv", "servers.parquet", "servers.svg", "plan.json"] {
        assert!(place.path("made").join(file).is_file(), "{file}");
    }
    let plan = fs::read_to_string(place.path("made").join("plan.csv")).unwrap();
    assert!(plan.starts_with("object,from,to,reason,key\n"));
    let moves = &told["moves"];
    let all = moves["popular"].as_u64().unwrap() + moves["correlated"].as_u64().unwrap();
    assert_eq!(plan.lines().count() as u64, 1 + all);
    // The same again gives the same.
    let again: Value = serde_json::from_str(&place.says(&[&PLAN[..], &["--json"]].concat())).unwrap();
    assert_eq!(again, told);
    assert!(place.says(&PLAN).contains("which the plan has not seen"));
}

#[test]
fn what_cannot_be_planned_is_refused_and_nothing_is_written() {
    let place = demo();
    let log = fs::read_to_string(place.path("try/log.csv")).unwrap();
    fs::write(place.path("bad.csv"), log.replacen("0.020,q1,", "soon,q1,", 1)).unwrap();
    fs::write(place.path("short.csv"), "time,query,key,size\n1,q,a,1\n").unwrap();
    let with = |log: &'static str, more: &[&'static str]| {
        [&["plan", log, "--cluster", "try/cluster.toml", "--out", "made"][..], more].concat()
    };
    for (arguments, told) in [
        (with("bad.csv", &[]), "bad.csv: line 22: `soon` is no time: right would be seconds, such as 12.5"),
        (with("short.csv", &[]), "short.csv: it has 1 queries, and a plan is made from one half of them"),
        (with("none.csv", &[]), "none.csv: No such file or directory"),
        (with("try/log.csv", &["--set", "picc.theta=0"]), "`picc.theta` of 0"),
        (with("try/log.csv", &["--set", "picc.alpha=0.95"]), "together they are above 1"),
        (with("try/log.csv", &["--set", "picc.memory=1000 B"]), "is popular and asks each server that has it for"),
        (vec!["plan", "try/log.csv"], "a log and a cluster are needed"),
        (vec!["plan", "--demo", "try"], "try/log.csv is there already; give another folder"),
    ] {
        let message = place.refuses(&arguments);
        assert!(message.contains(told), "{arguments:?} says {message}");
        assert!(!place.path("made").exists(), "{arguments:?}");
    }
    let left_out = place.says(&["plan", "bad.csv", "--cluster", "try/cluster.toml", "--skip-bad", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&left_out).unwrap()["log"]["bad_lines"], 1);
}

#[test]
fn damaged_parquet_is_refused_with_its_row_and_nothing_is_written() {
    let place = demo();
    let whole = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../execute/tests/logs/polars.parquet")).unwrap();
    let mut refused = Vec::new();
    for at in (0..whole.len()).step_by(17) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(place.path("log.parquet"), bytes).unwrap();
        let done = place.fanin(&["plan", "log.parquet", "--cluster", "try/cluster.toml", "--out", "made"]);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        match done.status.code() {
            Some(0) => fs::remove_dir_all(place.path("made")).unwrap(),
            code => {
                assert_eq!(code, Some(2), "byte {at}: {told}");
                assert!(told.starts_with("error: log.parquet: ") && told.lines().count() == 1, "byte {at}: {told}");
                assert!(!place.path("made").exists(), "byte {at}");
                refused.push(told);
            }
        }
    }
    assert!(refused.iter().any(|told| told.starts_with("error: log.parquet: row ")), "{refused:?}");
}

#[test]
fn servers_logs_are_planned_from_together() {
    let place = demo();
    // Twenty times a second.
    let line = |at: u32, key: u32| {
        let (seconds, micros) = (at / 20, at % 20 * 50_000);
        format!("ts={seconds}.{micros} gid=1 type=item_get key=k{key} status=found clsid=1 cfd=28 size=90\n")
    };
    for (name, keys) in [("one.log", 0), ("two.log", 10)] {
        let lines: String = (0..40).flat_map(|at| (0..3).map(move |key| line(at, keys + key))).collect();
        fs::write(place.path(name), lines).unwrap();
    }
    let told = place.says(&["plan", "one.log", "two.log", "--cluster", "try/cluster.toml"]);
    assert!(told.contains("one.log and 1 more: 80 queries for 6 keys, 3.00 keys each on average"), "{told}");
    fs::write(place.path("two.log"), "what").unwrap();
    let refused = place.refuses(&["plan", "one.log", "two.log", "--cluster", "try/cluster.toml"]);
    assert!(refused.contains("two.log: line 1: no `ts=`"), "{refused}");
}

/// A log is all that there is: nothing begins before it.
#[test]
fn a_clusters_warm_up_is_no_part_of_a_plan() {
    let place = demo();
    let warm = [&PLAN[..], &["--set", "workload.warm_up=1 s"]].concat();
    assert_eq!(place.says(&warm), place.says(&PLAN));
}

#[test]
fn a_watchers_lines_are_planned_from_and_what_it_dropped_is_told() {
    let place = demo();
    let mut lines = String::from("OK\n");
    for query in 0..40 {
        for key in 0..5 {
            let (micros, key) = (query * 20_000 % 1_000_000 + key * 10, 5 * (query % 3) + key);
            lines += &format!(
                "ts={}.{micros} gid=1 type=item_get key=k{key} status=found clsid=1 cfd=7 size=90\n",
                query * 20_000 / 1_000_000
            );
        }
    }
    lines += "skipped=17\n";
    fs::write(place.path("mc.log"), lines).unwrap();
    let told = place.says(&["plan", "mc.log", "--cluster", "try/cluster.toml"]);
    assert!(told.contains("40 queries for 15 keys, 5.00 keys each on average"), "{told}");
    assert!(told.contains("17 lines the watcher says it dropped"), "{told}");
}
