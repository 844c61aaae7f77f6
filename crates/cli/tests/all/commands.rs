//! The commands with valid input.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use fanin_spec::{REGISTRY, Scenario, Scheme, Settings};
use fanin_testing::wait_until;
use serde_json::Value;

use crate::common::{Place, SMALL, err};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn new_scenarios_run_on_every_fabric() {
    let place = Place::with("");
    assert_eq!(place.says(&["new"]), place.says(&["new", "star"]));
    for (fabric, own) in [
        ("star", "rate"),
        ("leaf-spine", "spines"),
        ("fat-tree", "arity"),
        ("rails", "rails"),
        ("dragonfly", "global_links"),
        ("edges", "edges"),
    ] {
        let text = place.says(&["new", fabric]);
        assert!(text.lines().any(|line| line == format!("kind = \"{fabric}\"")), "{text}");
        assert!(text.lines().any(|line| line.starts_with(&format!("{own} = "))), "{text}");
        assert!(text.contains("fanin explain scenario") && text.lines().count() < 80, "{text}");
        fs::write(place.path("new.toml"), &text).unwrap();
        // Shorter than the generated scenario, to be quick.
        let output = place.fanin(&["compare", "new.toml", "--seeds", "1", "--set", "workload.duration=5 ms", "--json"]);
        assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()), "{fabric}");
        let object = json(&String::from_utf8(output.stdout).unwrap());
        assert_eq!(object["rows"].as_array().unwrap().len(), 2 * 6, "{fabric}");
    }
}

#[test]
fn new_scenarios_comment_each_key() {
    let place = Place::with("");
    for fabric in ["star", "leaf-spine", "fat-tree", "rails", "dragonfly", "edges"] {
        let text = place.says(&["new", fabric]);
        let lines: Vec<&str> = text.lines().collect();
        for (line, above) in lines.iter().skip(1).zip(&lines).filter(|(line, _)| line.contains(" = ")) {
            let own = line.starts_with('#') || line.starts_with("title");
            assert!(own || above.starts_with("# ") && above.len() <= 130, "{above}\n{line}");
        }
        for other in ["[mapreduce]", "[service]", "[red]", "queries = ", "sizes = "] {
            assert!(!text.contains(other), "{fabric} has {other}");
        }
    }
}

#[test]
fn set_reaches_every_key() {
    let place = Place::with("schemes = [\"newreno\"]\n[workload]\nkind = \"long\"\n");
    // The fan-in below would set it twice.
    for doc in Settings::default().docs().into_iter().filter(|doc| doc.path != "workload.fan_in") {
        let set = format!("{}={}", doc.path, doc.default);
        let unquoted = set.replace('"', "");
        // These settings keep the run small, whatever the value of the key.
        let small = ["--fan-in", "2", "--seeds", "1", "--set", "workload.duration=1 ms", "--set", "workload.kind=long"];
        for set in [set, unquoted] {
            place.says(&[&["compare", "my.toml", "--set", &set], small.as_slice()].concat());
        }
    }
}

#[test]
fn variants_override_set_and_set_overrides_the_file() {
    let text = "\
[tcp]
rto_min = \"100 ms\"
[workload]
fragment = \"4 KiB\"
duration = \"1 ms\"
[[schemes]]
scheme = \"newreno\"
[[schemes]]
label = \"reno-1ms\"
scheme = \"newreno\"
rto_min = \"1 ms\"
switch.buffer = \"128 KiB\"
";
    let place = Place::with(text);
    let base = ["--fan-in", "2", "--seeds", "1", "--json"];
    let compare = |extra: &[&str]| json(&place.says(&[&["compare", "my.toml"], &base[..], extra].concat()));
    let labels: Vec<String> =
        compare(&[])["rows"].as_array().unwrap().iter().map(|r| r["scheme"].as_str().unwrap().into()).collect();
    assert_eq!(labels, ["newreno", "reno-1ms"]);
    // The hash shows whether a setting has changed anything.
    let hash = |extra: &[&str]| compare(extra)["hash"].clone();
    let variant = ["--schemes", "reno-1ms"];
    assert_eq!(hash(&variant), hash(&[&variant[..], &["--set", "tcp.rto_min=50 ms"]].concat()));
    assert_eq!(hash(&variant), hash(&[&variant[..], &["--set", "switch.buffer=32 KiB"]].concat()));
    let plain = ["--schemes", "newreno"];
    assert_ne!(hash(&plain), hash(&[&plain[..], &["--set", "tcp.rto_min=50 ms"]].concat()));
    assert_eq!(hash(&plain), hash(&[&plain[..], &["--set", "tcp.rto_min=100 ms"]].concat()));
}

#[test]
fn jobs_and_reruns_change_only_the_cost() {
    let place = Place::with(SMALL);
    let result = |jobs: &str| {
        let mut object = json(&place.says(&["compare", "my.toml", "--json", "--jobs", jobs]));
        object.as_object_mut().unwrap().remove("engine");
        object.to_string()
    };
    let one = result("1");
    assert_eq!(one, result("2"));
    assert_eq!(one, result("1"));
}

#[test]
fn json_has_the_documented_form() {
    let place = Place::with(SMALL);
    let object = json(&place.says(&["compare", "my.toml", "--json", "--schemes", "dctcp", "--fan-in", "2"]));
    assert_eq!((&object["schema"], &object["scenario"]), (&2.into(), &"my.toml".into()));
    assert!(object["onset"].get("dctcp").is_some_and(Value::is_null));
    for key in ["events", "packet_hops", "cpu_s"] {
        assert!(object["engine"][key].is_number(), "{key}");
    }
    let row = &object["rows"][0];
    assert_eq!((&row["scheme"], &row["point"]["fan_in"], &row["seeds"]), (&"dctcp".into(), &2.into(), &2.into()));
    for key in ["mean", "lo", "hi"] {
        assert!(row["goodput_mbps"][key].is_number(), "{key}");
    }
    for time in ["qct_ms", "fct_ms"] {
        for key in ["mean", "p50", "p95", "p99", "p999", "max"] {
            assert!(row[time].get(key).is_some(), "{time} {key}");
        }
    }
    for key in ["timeouts", "fast_retransmits", "drops", "marks", "data_packets", "rounds", "queue_max_bytes"] {
        assert!(row[key].is_number(), "{key}");
    }
}

#[test]
fn run_equals_the_run_of_a_comparison() {
    let place = Place::with(SMALL);
    let one = json(&place.says(&["run", "my.toml", "--scheme", "dctcp", "--fan-in", "4", "--seed", "9", "--json"]));
    let arguments = ["--schemes", "dctcp", "--fan-in", "4", "--seeds", "1", "--first-seed", "9", "--json"];
    let all = json(&place.says(&[&["compare", "my.toml"], &arguments[..]].concat()));
    assert_eq!(one["goodput_mbps"], all["rows"][0]["goodput_mbps"]["mean"]);
    assert_eq!(one["totals"]["drops"].as_f64(), all["rows"][0]["drops"].as_f64());
    assert_eq!((&one["seed"], &one["fan_in"], &one["hash"]), (&9.into(), &4.into(), &all["hash"]));
}

#[test]
fn out_contains_tables_and_manifest() {
    let place = Place::with(SMALL);
    place.says(&["compare", "my.toml", "--out", "a/b"]);
    let manifest = json(&fs::read_to_string(place.path("a/b/manifest.json")).unwrap());
    assert_eq!(manifest["arguments"], serde_json::json!(["compare", "my.toml", "--out", "a/b"]));
    let summary = fs::read_to_string(place.path("a/b/summary.csv")).unwrap();
    assert_eq!(summary.lines().count(), 5);
    place.refuses(&["compare", "my.toml", "--out", "a/b"]);
    place.says(&["run", "my.toml", "--scheme", "dctcp", "--fan-in", "2", "--out", "c"]);
    assert!(place.path("c/ports.parquet").exists());
}

#[test]
fn writes_nothing_without_out() {
    let place = Place::with(SMALL);
    place.says(&["compare", "my.toml"]);
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1);
}

/// Five servers in three racks, for schemes with request algorithms.
const OBJECTS: &str = "\
schemes = [\"one-all\"]
[fabric]
kind = \"leaf-spine\"
racks = 3
hosts_per_rack = 2
spines = 1
[workload]
kind = \"key_value\"
fan_in = 5
queries = 2
[key_value]
objects = 200
per_request = 40
replica_racks = \"distinct\"
";

#[test]
fn tables_fit_100_columns_without_colour() {
    let all = REGISTRY.iter().map(|e| e.name);
    let asks = |name: &&str| Scheme::parse(name).unwrap().is_of_objects();
    let (asking, others): (Vec<&str>, Vec<&str>) = all.partition(asks);
    for (scenario, schemes) in [(SMALL, others), (OBJECTS, asking)] {
        let place = Place::with(scenario);
        for n in [1, 2, 4, 5, schemes.len()] {
            let text = place.says(&["compare", "my.toml", "--seeds", "2", "--schemes", &schemes[..n].join(",")]);
            assert!(!text.contains('\u{1b}'));
            for line in text.lines() {
                assert!(line.chars().count() <= 100, "{n} schemes: {line}");
            }
            for scheme in &schemes[..n] {
                assert!(text.lines().any(|line| line.starts_with(&format!("{scheme} "))), "a verdict for {scheme}");
            }
        }
    }
}

#[test]
fn list_names_every_scheme_workload_and_fabric() {
    let place = Place::with("");
    let object = json(&place.says(&["list", "--json"]));
    assert_eq!(object["schemes"].as_array().unwrap().len(), REGISTRY.len());
    assert_eq!(object["schemes"][0]["aliases"], serde_json::json!(["reno"]));
    assert_eq!(object["workloads"][1]["name"], "one-shot");
    assert_eq!(object["fabrics"][0]["name"], "star");
    assert!(object["workloads"][0]["says"].as_str().unwrap().starts_with("Barrier-synchronised reads"));
    // Long lines are wrapped.
    let text = place.says(&["list"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(REGISTRY.iter().all(|e| text.contains(&format!("{} {}", e.name, e.says))), "{text}");
}

#[test]
fn explain_shows_every_key_and_every_scheme() {
    let place = Place::with("");
    let text = place.says(&["explain", "scenario"]);
    for doc in Settings::default().docs() {
        assert!(text.contains(&format!("{} = {}", doc.path, doc.default)), "{}", doc.path);
    }
    for entry in REGISTRY.iter() {
        let object = json(&place.says(&["explain", entry.name, "--json"]));
        assert_eq!(object["says"], entry.says);
        for law in object["laws"].as_array().unwrap() {
            let header = law["header"].as_str().unwrap();
            assert!(header.contains("\nLaw: ") && !header.contains("//!") && !header.contains("fn "), "{law}");
        }
    }
    let gss = place.says(&["explain", "dctcp+gss"]);
    assert!(gss.contains("gentle_slow_start") && gss.contains("dctcp.g = \"1/16\""), "{gss}");
}

#[test]
fn every_help_text_has_an_example() {
    let place = Place::with("");
    for command in ["compare", "run", "trace", "list", "explain", "cache", "new"] {
        let text = place.says(&[command, "--help"]);
        assert!(text.contains("Example:\n  fanin "), "{command}");
    }
}

#[test]
fn closed_pipe_is_no_error() {
    let place = Place::with("");
    let mut child =
        place.command(&["explain", "scenario"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", err(&output));
}

#[test]
fn ctrl_c_reports_finished_runs() {
    let text = "\
[workload]
fragment = \"4 KiB\"
duration = \"100000 s\"
[sweep]
fan_in = [2]
[[schemes]]
label = \"short\"
scheme = \"newreno\"
workload.duration = \"1 ms\"
[[schemes]]
label = \"endless\"
scheme = \"newreno\"
";
    let place = Place::with(text);
    let child = place
        .command(&["compare", "my.toml", "--seeds", "1", "--jobs", "1", "--json", "--out", "results"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the first run is cached", || place.cached_runs() == 1);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    assert!(
        err(&output).contains("stopped by Ctrl-C; the results include the 1 of 2 runs that finished"),
        "{}",
        err(&output)
    );
    let object = json(&String::from_utf8(output.stdout).unwrap());
    let schemes: Vec<&str> = object["rows"].as_array().unwrap().iter().map(|r| r["scheme"].as_str().unwrap()).collect();
    assert_eq!(schemes, ["short"]);
    assert!(place.path("results/manifest.json").exists());
}

#[test]
fn bundled_scenarios_resolve() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut seen = 0;
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| path.is_file()) {
        let text = fs::read_to_string(&path).unwrap();
        let scenario = Scenario::parse(&path.to_string_lossy(), &text).unwrap();
        assert!(scenario.title.is_some());
        let beside = |file: &str| Ok((file.into(), fs::read(path.with_file_name("").join(file)).unwrap()));
        scenario.variants_with(&beside).unwrap();
        seen += 1;
    }
    assert!(seen >= 5);
}

#[test]
fn compare_writes_the_same_report_with_any_number_of_jobs() {
    let place = Place::with(SMALL);
    let report = |jobs: &str, out: &str| {
        place.says(&["compare", "my.toml", "--no-cache", "--jobs", jobs, "--out", out]);
        fs::read_to_string(place.path(out).join("report.html")).unwrap()
    };
    let (one, two) = (report("1", "one"), report("2", "two"));
    assert!(one == two, "the reports differ");
    assert!(one.contains("<pre tabindex=\"0\" class=\"command\">fanin compare my.toml</pre>"));
    assert!(one.contains("\"stories\":[{\"scheme\":\"newreno\",\"place\":1,\"at\":\"4 senders\","));
}

#[test]
fn explain_leads_somewhere_from_every_word_of_a_scenario() {
    let place = Place::with(SMALL);
    let listed = json(&place.says(&["list", "--json"]));
    let names =
        ["workloads", "fabrics", "switches", "stacks"].into_iter().flat_map(|of| listed[of].as_array().unwrap());
    let names = names.map(|one| one["name"].as_str().unwrap().to_string());
    let keys = json(&place.says(&["explain", "scenario", "--json"]));
    let keys = keys["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap().to_string());
    // Of the keys, one of each section, and all of TCP's.
    let mut sections = std::collections::BTreeSet::new();
    let keys: Vec<String> = keys
        .filter(|key| key.starts_with("tcp.") || sections.insert(key.split('.').next().unwrap_or_default().to_string()))
        .collect();
    let sections = keys.iter().filter_map(|key| key.split('.').next()).map(String::from);
    let words = ["rails", "dragonfly", "mixed", "oversubscription", "lossy", "stripe", "ceph"].map(String::from);
    let of_roce = ["pfc off", "roce without pfc", "priorities", "dscp", "dwrr", "classes"].map(String::from);
    for word in names.chain(sections).chain(keys.clone()).chain(words).chain(of_roce) {
        assert!(!place.says(&["explain", &word]).trim().is_empty(), "{word}");
        json(&place.says(&["explain", &word, "--json"]));
    }
    assert!(place.says(&["explain", "tcp.rto_min"]).starts_with("  tcp.rto_min = "));
    assert!(place.says(&["explain", "oversubscription"]).contains("fabric.oversubscription"));
    let similar = place.refuses(&["explain", "tcp.rto_mim"]);
    assert!(similar.contains("similar: `tcp.rto_min`, ") && similar.len() < 320, "{similar}");
    // An alias leads to its keys, the first word of keys to them, and a term to the glossary.
    for (word, told) in [
        ("pfc", "  pfc.alpha = "),
        ("storm", "  pfc.alpha = "),
        ("gpu", "fabric.machine_rate"),
        ("host.nic", "  nic.drain = "),
        ("rto", "  tcp.rto_max = "),
        ("incast", "responses that reach one port at once"),
        ("SRU", "response: the data that a server sends"),
    ] {
        assert!(place.says(&["explain", word]).contains(told), "{word}");
    }
}

#[test]
fn explain_model_shows_each_closed_form_with_its_source() {
    let place = Place::with("");
    let text = place.says(&["explain", "model"]);
    for part in
        ["P_TO = p^w", "N* = (C RTT + B) / (w MSS)", "T >= N S / C + one way", "Gentle Slow Start", "SIGCOMM 2010"]
    {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("//!") && !text.contains("fn "));
    let object = json(&place.says(&["explain", "model", "--json"]));
    let forms = object["forms"].as_array().unwrap();
    assert_eq!(
        forms.iter().map(|form| &form["name"]).collect::<Vec<_>>(),
        ["incast_probability", "overflow", "bounds", "sawtooth", "allowed"]
    );
    for form in forms {
        let header = form["header"].as_str().unwrap();
        assert!(["Sources:", "Forms:", "Units:", "Departs:", "Checked:"].iter().all(|label| header.contains(label)));
    }
}

#[test]
fn announces_long_runs_and_prints_progress_lines() {
    let place = Place::with("[workload]\nfragment = \"4 KiB\"\nduration = \"100000 s\"\n");
    let arguments = ["compare", "my.toml", "--schemes", "newreno", "--fan-in", "2", "--seeds", "2", "--no-cache"];
    let mut child = place.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut lines: Vec<String> = printed.by_ref().take(2).collect();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    lines.extend(printed);
    child.wait().unwrap();
    let told = lines.join("\n");
    assert!(
        lines[0].starts_with("note: 2 runs, about ")
            && lines[0].contains(" at once, and ")
            && lines[0].contains(" of memory"),
        "{told}"
    );
    assert!(lines[1].starts_with("0 of 2 runs, running the first"), "{told}");
    assert!(lines.last().unwrap().contains("stopped by Ctrl-C"), "{told}");
}

#[test]
fn shells_accept_their_completions() {
    let place = Place::with("");
    for shell in ["bash", "zsh", "fish"] {
        let script = place.says(&["completions", shell]);
        for word in ["compare", "reproduce", "precision", "sensitivity", "older-than"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
        fs::write(place.path(shell), script).unwrap();
        match Command::new(shell).arg("-n").arg(place.path(shell)).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {}", err(&output)),
            Err(_) => println!("{shell} is not here: its script was not read"),
        }
    }
    let output = place.fanin(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("[possible values: bash, zsh, fish]"), "{}", err(&output));
}

#[test]
fn version_names_the_commit_if_known() {
    let said = Place::with("").says(&["--version"]);
    let rest = said.trim_end().strip_prefix(concat!("fanin ", env!("CARGO_PKG_VERSION"))).unwrap();
    let commit = rest.trim().trim_matches(['(', ')']);
    assert!(rest.is_empty() || (commit.len() >= 12 && commit.bytes().all(|b| b.is_ascii_hexdigit())), "{said}");
    let git = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    if let Some(head) = git.ok().filter(|output| output.status.success()) {
        assert!(!commit.is_empty() && String::from_utf8(head.stdout).unwrap().starts_with(commit), "{said}");
    }
}
