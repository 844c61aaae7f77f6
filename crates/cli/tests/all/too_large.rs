//! Scenarios that do not fit in memory are refused before any run, with a size that fits.

use std::fs;

use crate::common::{Place, SMALL, err};
use fanin_testing::wait_for_exit;

const SHUFFLE: &str = "\
schemes = [\"newreno\"]
[workload]
kind = \"shuffle\"
fragment = \"1 KB\"
";

const MAPREDUCE: &str = "\
schemes = [\"newreno\"]
[workload]
kind = \"mapreduce\"
[sweep]
fan_in = [9]
";

const POISSON: &str = "\
schemes = [\"newreno\"]
[workload]
kind = \"poisson\"
load = 0.5
[sweep]
fan_in = [4]
";

const KEY_VALUE: &str = "\
schemes = [\"one-all\"]
[workload]
kind = \"key_value\"
[sweep]
fan_in = [9]
";

const MOST: &str = "4294967295";

#[test]
fn refuses_oversized_scenarios_with_the_number_that_fits() {
    let cases: [(&str, &[&str], &str); 19] = [
        (
            SMALL,
            &["--set", "workload.background=4294967295"],
            "at most 1000000 hosts besides the client; use up to 999996",
        ),
        (SMALL, &["--set", "workload.background=999997"], "at most 1000000 hosts besides the client; use up to 999996"),
        (SMALL, &["--seeds", MOST], "use 1 to 1000000"),
        (SMALL, &["--set", "service.queries_per_s=4294967295", "--set", "service.fan_out=1"], "up to 221631"),
        (
            SMALL,
            &["--set", "workload.kind=web-search", "--set", "workload.queries=4294967295"],
            "`workload.queries` to 25000000",
        ),
        (SMALL, &["--set", "link.rate=999 bit/s"], "`link.rate` of 999 bit/s: use 1 kbit/s to 1000 Tbit/s"),
        (SMALL, &["--set", "link.client_rate=1 bit/s"], "`link.client_rate` of 1 bit/s: use 1 kbit/s to 1000 Tbit/s"),
        (SMALL, &["--set", "tcp.rto_min=2 s"], "rto_initial 1 s is below rto_min 2 s"),
        (SHUFFLE, &["--fan-in", "100000"], "`workload.fan_in` to 9999"),
        (SHUFFLE, &["--fan-in", "100000", "--set", "workload.pairs=0.0001"], "`workload.fan_in` to 31621"),
        (
            MAPREDUCE,
            &["--set", "mapreduce.maps=100000", "--set", "mapreduce.reduces=100000"],
            "`mapreduce.reduces` to 1125",
        ),
        (
            POISSON,
            &["--set", "link.client_rate=1000000 Tbit/s"],
            "`link.client_rate` of 1000000 Tbit/s: use 1 kbit/s to 1000 Tbit/s",
        ),
        (POISSON, &["--set", "link.client_rate=1000 Tbit/s"], "is too large: reduce `workload.duration` to"),
        (
            POISSON,
            &["--set", "fabric.kind=edges", "--set", "fabric.edges=[\"client s 1000 Tbit/s\", \"server1..4 s\"]"],
            "is too large: reduce `workload.duration` to",
        ),
        (MAPREDUCE, &["--set", "mapreduce.heartbeat=1 ps"], "`mapreduce.heartbeat` of 1 ps: use at least 1 ms"),
        (KEY_VALUE, &["--set", "key_value.within=99 ps"], "100 requests start within fewer picoseconds"),
        (
            KEY_VALUE,
            &["--set", "key_value.within=1 ns", "--set", "workload.warm_up=1 s"],
            "about 100000000000 requests start in a warm-up of 1 s",
        ),
        (MAPREDUCE, &["--set", "mapreduce.replicas=513"], "use 1 to 512"),
        (
            SMALL,
            &["--set", "fabric.kind=edges", "--set", "fabric.edges=[\"client a\", \"server1..99999 server1..99999\"]"],
            "99999 times 99999 edges: use at most 1000000",
        ),
    ];
    for (text, extra, told) in cases {
        let place = Place::with(text);
        let message = place.refuses(&[&["compare", "my.toml"], extra].concat());
        assert!(message.contains(told), "{extra:?} says {message}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

#[test]
fn accepts_the_number_that_fits_and_refuses_the_next() {
    let place = Place::with(SHUFFLE);
    // An error in the scenario takes precedence over one in the output folder.
    let refused = |fan_in| place.refuses(&["compare", "my.toml", "--fan-in", fan_in, "--out", "."]);
    assert!(refused("10000").contains("`workload.fan_in` to 9999"));
    assert!(refused("9999").contains("--out .: contains `my.toml`"));
}

#[test]
fn refuses_comparisons_that_exceed_the_memory() {
    // A million servers with a connection each, a million times: the tables alone take terabytes.
    let place = Place::with("schemes = [\"newreno\"]\n[workload]\nkind = \"one-shot\"\nfragment = \"1 B\"\n");
    let message = place.refuses(&["compare", "my.toml", "--fan-in", "1000000", "--seeds", "1000000"]);
    assert!(message.contains("1000000 runs need at least") && message.contains("of memory"), "{message}");
    assert!(message.contains("reduce `run.seeds` to "), "{message}");
}

#[test]
fn counts_memory_of_local_mapreduce_fetches() {
    let place = Place::with(MAPREDUCE);
    let many = ["compare", "my.toml", "--set", "mapreduce.maps=100000"];
    // On one node no fetch crosses the network, but each has an entry in a list.
    let one_node = |reduces, more: &[&str]| {
        let set = format!("mapreduce.reduces={reduces}");
        place.refuses(&[&many[..], &["--fan-in", "1", "--set", &set], more].concat())
    };
    let message = one_node(100_000, &[]);
    assert!(message.contains("a run of 10000000000 draws before the start is too large"), "{message}");
    assert!(message.contains("`mapreduce.reduces` to 10000"), "{message}");
    // A thousand runs at once, each with lists of four gigabytes.
    let message = one_node(10_000, &["--jobs", "1000", "--seeds", "1000"]);
    assert!(message.contains("1000 runs need at least 4.") && message.contains("TB of memory"), "{message}");
    // Each of 511 replicas of a reduce's output is a flow.
    let replicas = ["--fan-in", "10000", "--set", "mapreduce.maps=1", "--set", "mapreduce.output_replicas=512"];
    let set = "mapreduce.reduces=100000";
    let message = place
        .refuses(&[&["compare", "my.toml", "--jobs", "1000", "--seeds", "1000", "--set", set], &replicas[..]].concat());
    assert!(message.contains("1000 runs need") && message.contains("TB of memory"), "{message}");
}

/// Keys of a scenario whose values have this form.
fn keys(place: &Place, form: &str) -> Vec<String> {
    let object: serde_json::Value = serde_json::from_str(&place.says(&["explain", "scenario", "--json"])).unwrap();
    let all = object["keys"].as_array().unwrap().iter();
    let those = all.filter(|key| key["form"].as_str().unwrap().contains(form));
    those.map(|key| key["key"].as_str().unwrap().to_string()).collect()
}

/// Runs a scheme with some settings; it must end soon, with success or a refusal.
fn ends(place: &Place, scheme: &str, settings: &[&str]) {
    let mut arguments = vec!["run", "my.toml", "--scheme", scheme, "--fan-in", "4", "--no-cache"];
    settings.iter().for_each(|set| arguments.extend(["--set", set]));
    let mut child = place
        .command(&arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_exit(&format!("{settings:?}"), &mut child);
    let output = child.wait_with_output().unwrap();
    let code = output.status.code();
    assert!(code == Some(0) || code == Some(2), "{settings:?}: {code:?} {}", err(&output));
}

/// Every key that is a whole number, at its maximum, in every workload: it runs or is refused, quickly.
#[test]
fn survives_the_largest_number_of_every_key() {
    let place = Place::with(SMALL);
    fs::write(place.path("sizes.txt"), "0 0\n1000 100\n").unwrap();
    let keys = keys(&place, "a whole number");
    assert!(keys.len() > 25, "{keys:?}");
    let kinds = [
        "workload.kind=barrier",
        "workload.kind=web-search",
        "workload.kind=mapreduce",
        "fabric.kind=leaf-spine",
        "fabric.kind=fat-tree",
    ];
    for (key, kind) in keys.iter().flat_map(|key| kinds.map(|kind| (key, kind))) {
        for value in [MOST, "65536"] {
            let set = format!("{key}={value}");
            let fabric = ["fabric.racks=2", "fabric.hosts_per_rack=4", "fabric.spines=2", "fabric.pods=2"];
            let tree =
                if kind.starts_with("fabric") { &fabric[..if kind.ends_with("tree") { 4 } else { 3 }] } else { &[] };
            let own = [kind, "service.fan_out=2", "workload.duration=1 ms", &set];
            ends(&place, "dctcp", &[tree, &own].concat());
        }
    }
}

/// Every time at its minimum, every rate and every size at both extremes.
#[test]
#[ignore = "takes half a minute: make check-long"]
fn survives_extreme_times_rates_and_sizes_of_every_key() {
    let place = Place::with("schemes = [\"newreno\", \"one-all\"]\n[sweep]\nfan_in = [4]\n");
    let forms = [
        ("a time with its unit", 25, ["1 ps", "1 ns"]),
        ("a rate above zero", 5, ["1 kbit/s", "1000000 Tbit/s"]),
        ("bytes with their unit", 10, ["1 B", "18000000 TB"]),
    ];
    let kinds: [(&str, &[&str]); 3] = [
        ("newreno", &["workload.kind=mapreduce", "workload.duration=1 ms", "mapreduce.task_start=0 s"]),
        ("newreno", &["workload.kind=poisson", "workload.load=0.5", "workload.duration=1 ms"]),
        ("one-all", &["workload.kind=key_value", "key_value.within=1 ms", "workload.duration=2 ms"]),
    ];
    for (form, least, values) in forms {
        let keys = keys(&place, form);
        assert!(keys.len() >= least, "{form}: {keys:?}");
        for (key, value) in keys.iter().flat_map(|key| values.map(|value| (key, value))) {
            let set = format!("{key}={value}");
            for (scheme, own) in kinds {
                ends(&place, scheme, &[own, &[set.as_str()]].concat());
            }
        }
    }
}
