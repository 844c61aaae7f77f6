//! Sweeps over any key, through the commands.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Place, SMALL};

const LOADS: &str = "\
schemes = [\"newreno\", \"dctcp\"]
[fabric]
hosts = 4
[workload]
kind = \"poisson\"
duration = \"10 ms\"
[sweep]
\"workload.load\" = [\"20 %\", \"60 %\"]
[run]
seeds = 2
";

fn compared(place: &Place, more: &[&str]) -> Value {
    let mut object: Value =
        serde_json::from_str(&place.says(&[&["compare", "my.toml", "--json"], more].concat())).unwrap();
    object["engine"] = Value::Null;
    object
}

fn points(object: &Value) -> Vec<Value> {
    let rows = object["rows"].as_array().unwrap();
    rows.iter().filter(|row| row["scheme"] == "newreno").map(|row| row["point"].clone()).collect()
}

#[test]
fn points_keep_keys_and_values_as_written() {
    let place = Place::with(LOADS);
    let object = compared(&place, &[]);
    assert_eq!(points(&object), [json!({"workload.load": "20 %"}), json!({"workload.load": "60 %"})]);
    assert_eq!((&object["along"], &object["onset"]["dctcp"]), (&json!("workload.load"), &Value::Null));
    let place = Place::with(SMALL);
    let swept = compared(&place, &["--sweep", "tcp.initial_window=2,10", "--sweep", "link.client_rate=100 Mbit/s"]);
    let point =
        |fan_in, window| json!({"fan_in": fan_in, "tcp.initial_window": window, "link.client_rate": "100 Mbit/s"});
    assert_eq!(points(&swept), [point(2, 2), point(2, 10), point(4, 2), point(4, 10)]);
    let onset =
        |window| json!({"point": {"tcp.initial_window": window, "link.client_rate": "100 Mbit/s"}, "onset": null});
    assert_eq!(swept["onset"]["newreno"], json!([onset(2), onset(10)]), "one a curve");
}

#[test]
fn two_swept_keys_are_reproducible() {
    let place = Place::with(LOADS);
    let sweep = ["--sweep", "switch.buffer=16 KiB,64 KiB"];
    let one = compared(&place, &[&sweep[..], &["--jobs", "1", "--no-cache", "--out", "one"]].concat());
    assert_eq!(compared(&place, &[&sweep[..], &["--jobs", "3", "--out", "three"]].concat()), one);
    assert_eq!(compared(&place, &[&sweep[..], &["--out", "kept"]].concat()), one);
    for name in ["summary.csv", "flows.csv", "slowdown.csv", "summary.parquet", "report.html"] {
        let [first, other, kept] =
            ["one", "three", "kept"].map(|folder| fs::read(place.path(folder).join(name)).unwrap());
        assert!(first == other && first == kept, "{name}");
    }
    let report = fs::read_to_string(place.path("one/report.html")).unwrap();
    assert!(report.contains("at buffer 16 KiB"), "findings name the curve");
    let summary = fs::read_to_string(place.path("one/summary.csv")).unwrap();
    assert!(summary.starts_with("scheme,fan_in,workload.load,switch.buffer,switch.buffer_bytes,seeds,"), "{summary}");
    assert!(summary.contains("\nnewreno,3,20 %,16 KiB,16384,2,"), "{summary}");
    let flows = fs::read_to_string(place.path("one/flows.csv")).unwrap();
    assert!(
        flows.starts_with("scheme,fan_in,workload.load,switch.buffer,switch.buffer_bytes,seed,"),
        "{}",
        &flows[..80]
    );
}

#[test]
fn caches_points_independently_of_the_sweep() {
    let place = Place::with(LOADS);
    compared(&place, &[]);
    let err = |more: &[&str]| {
        let output = place.fanin(&[&["compare", "my.toml"], more].concat());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(err(&["--sweep", "workload.load=60 %,80 %"]).contains("8 runs (4 from the cache)"));
    assert!(
        err(&["--set", "workload.load=80 %"]).contains("4 runs (4 from the cache)"),
        "a value in place of the sweep"
    );
}

#[test]
fn searches_the_collapse_point_along_the_first_swept_key() {
    // Background traffic leaves the reads' client less and less bandwidth, until rounds time out.
    let text = "schemes = [\"newreno\"]\n[tcp]\nrto_min = \"200 ms\"\n[switch]\nbuffer = \"32 KiB\"\n\
                [workload]\nfragment = \"8 KiB\"\nduration = \"300 ms\"\n[run]\nseeds = 1\n\
                [sweep]\nfan_in = [4]\nworkload.fragment = [\"2 KiB\", \"4 KiB\", \"8 KiB\", \"64 KiB\", \"128 KiB\", \"256 KiB\"]\n";
    let place = Place::with(text);
    let whole = compared(&place, &[]);
    assert_eq!((&whole["along"], &whole["onset"]["newreno"]), (&json!("workload.fragment"), &json!("64 KiB")));
    let searched = compared(&place, &["--onset"]);
    assert_eq!((&searched["onset"], &searched["searched"]), (&whole["onset"], &json!(true)));
    let says = place.says(&["compare", "my.toml"]);
    assert!(says.contains("newreno sustains 8 KiB, collapses at 64 KiB."), "{says}");
    assert!(says.contains("at fragment 8 KiB to"), "{says}");
}

#[test]
fn reaches_the_precision_at_every_point() {
    let place = Place::with(LOADS);
    let object = compared(
        &place,
        &["--precision", "20%", "--sweep", "switch.buffer=16 KiB,64 KiB", "--set", "workload.sizes=hadoop"],
    );
    assert!(object["precision"]["reached"].as_f64().unwrap() <= 0.2, "{}", object["precision"]);
    let seeds: Vec<u64> = object["rows"].as_array().unwrap().iter().map(|row| row["seeds"].as_u64().unwrap()).collect();
    assert!(seeds.len() == 8 && seeds.iter().all(|&n| n >= 2) && seeds.iter().any(|&n| n > 2), "{seeds:?}");
}

#[test]
fn run_requires_a_point_of_a_sweep() {
    let place = Place::with(&LOADS.replace("hosts = 4\n", "hosts = 4\n[switch]\nbuffer = \"64 KiB\"\n"));
    let message = place.refuses(&["run", "my.toml", "--scheme", "dctcp"]);
    let expected = "a run has one point, but in my.toml workload.load has 20 %, 60 %: choose one with \
                    --set workload.load=\"20 %\"";
    assert!(message.replace("\n", " ").contains(expected), "{message}");
    let set = ["run", "my.toml", "--scheme", "dctcp", "--set", "workload.load=60 %"];
    let object: Value = serde_json::from_str(&place.says(&[&set[..], &["--json"]].concat())).unwrap();
    assert_eq!((&object["point"], &object["fan_in"]), (&json!({"workload.load": "60 %"}), &json!(3)));
    let text = place.says(&set);
    assert!(text.contains("dctcp, 4 hosts, workload.load 60 %: "), "{text}");
}

#[test]
fn quotes_the_argument_of_an_invalid_sweep() {
    let place = Place::with(SMALL);
    for (sweep, expected) in [
        (
            "switch.bufer=64 KiB",
            "--sweep switch.bufer=64 KiB: unknown key `switch.bufer` to sweep (did you mean `switch.buffer`?)",
        ),
        ("switch.buffer=64 KiB,10", "--sweep switch.buffer=64 KiB,10: `sweep.switch.buffer`: 10 has no unit"),
        ("switch.buffer=64 KiB,10 B", "`switch.buffer` is smaller than one packet"),
        ("run.seeds=1,2", "`run.seeds` cannot be swept"),
        ("fan_in=0", "--sweep fan_in=0: `workload.fan_in` of 0: use 1 to 1000000"),
    ] {
        let message = place.refuses(&["compare", "my.toml", "--sweep", sweep]);
        assert!(message.contains(expected), "{sweep}: {message}");
    }
    let message = place.refuses(&["compare", "my.toml", "--fan-in", "2", "--sweep", "fan_in=4"]);
    assert!(message.contains("`fan_in` is swept twice"), "{message}");
}

#[test]
fn tables_have_swept_sizes_and_times_as_numbers() {
    let place = Place::with(SMALL);
    let sweep = ["compare", "my.toml", "--out", "o", "--sweep", "switch.buffer=16 KiB,1 MB"];
    place.says(&[&sweep[..], &["--sweep", "tcp.rto_min=5 ms,200 ms", "--sweep", "workload.clients=1,2"]].concat());
    for table in ["summary.csv", "queries.csv"] {
        let text = fs::read_to_string(place.path("o").join(table)).unwrap();
        let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let swept = ["switch.buffer", "switch.buffer_bytes", "tcp.rto_min", "tcp.rto_min_ps", "workload.clients"];
        assert_eq!(head[2..7], swept, "{table}");
        let first: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
        assert_eq!(first[2..7], ["16 KiB", "16384", "5 ms", "5000000000", "1"], "{table}");
    }
}

#[test]
fn labels_swept_counts_as_numbers() {
    let place = Place::with(SMALL);
    let says = place.says_in("400", &["compare", "my.toml", "--fan-in", "4", "--sweep", "workload.clients=1,2"]);
    assert!(!says.contains("at clients") && !says.contains("last clients"), "{says}");
    assert!(says.contains("last number of clients tried") && says.contains("with 2 clients"), "{says}");
    let odd = ["compare", "my.toml", "--set", "switch.buffer=24192256 B"];
    assert!(place.says(&odd).contains("24.2 MB per switch port"));
}
