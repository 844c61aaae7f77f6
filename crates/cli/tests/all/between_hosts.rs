//! Lists of flows and Poisson flows: the examples run, and errors in their files name the line.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::Place;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The path of a bundled scenario.
fn scenario(name: &str) -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/").to_string() + name
}

#[test]
fn examples_of_all_imports_complete() {
    let place = Place::with("");
    for (name, flows, hosts) in
        [("flows/hpcc-incast.toml", 9, 9), ("flows/htsim-permutation.toml", 16, 16), ("flows/mixed.toml", 8, 8)]
    {
        let object = json(&place.says(&["compare", &scenario(name), "--json"]));
        for row in object["rows"].as_array().unwrap() {
            let all = &row["slowdown"][0];
            assert_eq!(
                (&all["sizes"], &all["flows"], &all["unfinished"]),
                (&"all sizes".into(), &flows.into(), &0.into())
            );
            assert_eq!(row["point"]["fan_in"], hosts - 1, "{name}");
            assert!(all["mean"].as_f64().unwrap() > 1.0 && row["fct_ms"]["p99"].is_number(), "{name}");
        }
        let shown = place.says(&["compare", &scenario(name)]);
        assert!(shown.contains("slowdown by size") && shown.contains(&format!("between {hosts} hosts")), "{shown}");
        assert!(!shown.contains("query time") && !shown.contains("onset"), "{shown}");
    }
}

#[test]
fn runs_a_list_without_fan_in_and_shows_its_flows() {
    let place = Place::with("");
    let arguments = ["run", &scenario("flows/mixed.toml"), "--scheme", "dctcp"];
    let shown = place.says(&arguments);
    assert!(
        shown.contains("slowdown by size") && shown.contains("switch>client") && shown.contains("dctcp, 8 hosts: "),
        "{shown}"
    );
    let object = json(&place.says(&[&arguments[..], &["--json"]].concat()));
    assert_eq!((&object["fan_in"], &object["slowdown"][0]["flows"]), (&7.into(), &8.into()));
}

const POISSON: &str = "\
schemes = [\"newreno\", \"dctcp\"]
[tcp]
rto_min = \"5 ms\"
[workload]
kind = \"poisson\"
sizes = \"hadoop\"
load = 0.3
duration = \"20 ms\"
[sweep]
fan_in = [3]
[run]
seeds = 2
";

#[test]
fn poisson_flows_appear_in_tables_and_report() {
    let place = Place::with(POISSON);
    let shown = place.says(&["compare", "my.toml", "--out", "results"]);
    assert!(shown.contains("Poisson flows for 20 ms between 4 hosts: hadoop sizes at 30.0 % load"), "{shown}");
    let file = |name: &str| fs::read_to_string(place.path("results").join(name)).unwrap();
    let slowdown = file("slowdown.csv");
    let head = "scheme,fan_in,sizes,over_bytes,up_to_bytes,flows,unfinished,mean,p50,p99\n";
    assert!(slowdown.starts_with(&format!("{head}newreno,3,all sizes,0,,")), "{slowdown}");
    assert_eq!(slowdown.lines().count(), 1 + 2 * 5);
    let flows = file("flows.csv");
    let head =
        "scheme,fan_in,seed,class,from_host,to_host,round,payload_bytes,delivered_bytes,start_ps,fct_ps,ideal_ps\n";
    assert!(flows.starts_with(head) && flows.contains(",poisson,"), "{}", &flows[..300]);
    let report = file("report.html");
    assert!(report.contains("\"many_to_one\":false") && report.contains("\"stories\":[]"));
    assert!(report.contains("slows flows least"));
}

#[test]
fn any_to_any_flows_do_not_depend_on_jobs_and_reruns() {
    let place = Place::with(POISSON);
    let table = |jobs: &str, out: &str| {
        place.says(&["compare", "my.toml", "--no-cache", "--jobs", jobs, "--out", out]);
        ["flows.parquet", "slowdown.parquet"].map(|name| fs::read(place.path(out).join(name)).unwrap())
    };
    let one = table("1", "one");
    assert!(one == table("2", "two") && one == table("1", "three"));
}

#[test]
fn reruns_edited_but_not_renamed_lists() {
    let text = "schemes = [\"dctcp\"]\n[workload]\nkind = \"flows\"\nfile = \"a.csv\"\n[run]\nseeds = 1\n";
    let place = Place::with(text);
    let write = |name: &str, bytes: u32| {
        fs::write(place.path(name), format!("src,dst,bytes,start_us\n0,1,{bytes},0\n")).unwrap();
    };
    write("a.csv", 5_000);
    write("b.csv", 5_000);
    place.says(&["compare", "my.toml"]);
    place.says(&["compare", "my.toml", "--set", "workload.file=b.csv"]);
    assert_eq!(place.cached_runs(), 1);
    write("a.csv", 6_000);
    place.says(&["compare", "my.toml"]);
    assert_eq!(place.cached_runs(), 2);
}

/// A place with a scenario and files.
fn place(workload: &str, files: &[(&str, &str)]) -> Place {
    let place = Place::with(&format!("schemes = [\"newreno\"]\n[sweep]\nfan_in = [3]\n[workload]\n{workload}\n"));
    for (name, text) in files {
        fs::write(place.path(name), text).unwrap();
    }
    place
}

#[test]
fn reports_errors_in_lists_of_flows_and_sizes_with_their_line() {
    let csv = "kind = \"flows\"\nfile = \"a.csv\"";
    let poisson = "kind = \"poisson\"\nload = 0.5\nsizes = \"x.txt\"";
    let head = "src,dst,bytes,start_us\n";
    let cases: &[(&str, &str, String, &str)] = &[
        (csv, "a.csv", format!("{head}0,1,5,0\n0,1,five,0\n"), "a.csv:3: expected `src,dst,bytes,start_us`"),
        (csv, "a.csv", format!("{head}0,9,5,0\n"), "a.csv:2: host 9 does not exist: the cluster has hosts 0 to 3"),
        (csv, "a.csv", format!("{head}0,1,5,6000000\n"), "a.csv:2: a flow starts at 6 s, but the run ends at"),
        (csv, "b.csv", String::new(), "my.toml:6: `workload.file`: cannot read a.csv"),
        (poisson, "x.txt", "0 0\n10 60\n20 50\n30 100\n".into(), "x.txt:3: the distribution decreases"),
        (poisson, "x.txt", "0 0\n10 60\n".into(), "x.txt:2: the last line must reach 100 percent"),
        (poisson, "y.txt", String::new(), "my.toml:7: `workload.sizes`: cannot read x.txt"),
    ];
    for (workload, name, text, told) in cases {
        let message = place(workload, &[(name, text)]).refuses(&["compare", "my.toml"]);
        assert!(message.contains(told), "{text:?} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn reports_impossible_loads_and_workloads_with_their_line() {
    let cases = [
        ("kind = \"poisson\"\nload = 0", "my.toml:6: `workload.load` of 0: use above 0 and at most 1"),
        (
            "kind = \"poisson\"\nload = 1.5",
            "my.toml:6: `workload.load`: 1.5 has the wrong form; use a share above 0 and at most 1",
        ),
        ("kind = \"poisson\"\nload = -0.5", "my.toml:6: `workload.load`"),
        ("kind = \"poisson\"", "my.toml:5: the poisson workload needs `workload.load`"),
        (
            "kind = \"poisson\"\nload = 0.5\nsizes = \"web-serch\"",
            "my.toml:7: `workload.sizes`: \"web-serch\" is not a distribution (did you mean `web-search`?)",
        ),
        ("kind = \"flows\"", "my.toml:5: the flows workload needs `workload.file`"),
        ("kind = \"flows\"\nfile = \"\"", "my.toml:6: `workload.file`: it is empty; use the path"),
        ("fragment = \"1 KB\"\nfile = \"a.csv\"", "my.toml:6: `workload.file`: cannot read a.csv"),
        (
            "kind = \"poisson\"\nload = 0.5\nin_flight = 2",
            "my.toml:7: `workload.in_flight` applies only to barrier, web-search, all-to-all and pulls, not to poisson",
        ),
    ];
    for (workload, told) in cases {
        let message = place(workload, &[]).refuses(&["compare", "my.toml"]);
        assert!(message.contains(told), "{workload:?} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
    let list = place("kind = \"flows\"\nfile = \"a.csv\"", &[("a.csv", "src,dst,bytes,start_us\n0,1,5,0\n")]);
    let message = list.refuses(&["compare", "my.toml", "--fan-in", "2,4"]);
    assert!(message.contains("--fan-in 2,4: a file says which hosts there are"), "{message}");
}

#[test]
fn finds_files_relative_to_the_scenario() {
    let place = Place::with("");
    fs::create_dir(place.path("deep")).unwrap();
    let text = "schemes = [\"newreno\"]\n[workload]\nkind = \"flows\"\nfile = \"a.flow\"\n";
    fs::write(place.path("deep/my.toml"), text).unwrap();
    fs::write(place.path("deep/a.flow"), "1\n0 1 3 100 5 oops\n").unwrap();
    let message = place.refuses(&["compare", "deep/my.toml"]);
    let shown = Path::new("deep").join("a.flow").display().to_string();
    assert!(message.contains(&format!("{shown}:2: expected `SRC DST")), "{message}");
}

#[test]
fn run_refuses_a_sweep() {
    let place = Place::with(&POISSON.replace("[3]", "[3, 5]"));
    let message = place.refuses(&["run", "my.toml", "--scheme", "dctcp"]);
    assert!(
        message.contains("a run has one point, but in my.toml fan_in has 3, 5: choose one with --fan-in 3"),
        "{message}"
    );
}
