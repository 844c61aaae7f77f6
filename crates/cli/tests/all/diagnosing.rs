//! `fanin diagnose`: diagnoses of captures that `fanin trace` writes, and of invalid input.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::common::{Place, err};

const MY: &str = "\
schemes = [\"newreno\"]
[link]
rate = \"1 Gbit/s\"
[switch]
buffer = \"64 KiB\"
[host]
service_time = \"20 us\"
service_jitter = \"30 us\"
[workload]
fragment = \"64 KiB\"
duration = \"600 ms\"
";

/// A capture at the client with this fan-in.
fn captured(fan_in: &str) -> Place {
    let place = Place::with(MY);
    place.says(&["trace", "my.toml", "--scheme", "newreno", "--fan-in", fan_in, "--out", "t.pcapng"]);
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn diagnoses_many_servers_and_writes_a_scenario() {
    let place = captured("24");
    let found = json(&place.says(&["diagnose", "t.pcapng", "--out", "found", "--json"]));
    assert_eq!(found["schema"], 1);
    let episodes = found["episodes"].as_array().unwrap();
    assert!(!episodes.is_empty());
    assert!(episodes.iter().all(|one| one["fan_in"] == 24 && one["bytes"] == 24 * 65_536), "{episodes:#?}");
    assert!(
        episodes.iter().any(|one| one["signature"] == "rto" && one["stall_s"].as_f64().unwrap() > 0.15),
        "{episodes:#?}"
    );
    assert_eq!(found["verdict"]["incast"], true);
    assert_eq!(found["way"]["rate_mbps"]["value"], 1000.0);
    let scenario = found["scenario"].as_str().unwrap();
    let text = fs::read_to_string(place.path(scenario)).unwrap();
    let values = text.lines().filter(|line| line.contains(" = ") && !line.starts_with("title"));
    assert!(
        values
            .into_iter()
            .all(|line| ["# measured:", "# inferred:", "# assumed:"].iter().any(|how| line.contains(how))),
        "{text}"
    );
    let compared =
        json(&place.says(&["compare", scenario, "--set", "workload.duration=300 ms", "--seeds", "1", "--json"]));
    assert!(!compared["rows"].as_array().unwrap().is_empty());
    let page = fs::read_to_string(place.path("found/report.html")).unwrap();
    assert!(page.contains("The slowest round by server") && page.contains("10.0.0.2"));
    assert!(page.contains("class=\"rto\"/></svg> rto"), "no legend");
    servers_are_listed_by_lost_time(&found, &page);
    let took = |one: &Value| one["took_s"].as_f64().unwrap();
    let longest = episodes.iter().map(took).fold(0.0, f64::max);
    assert_eq!(took(&found["slowest"][0]), longest, "the slowest round is the slowest");
    let [simulated] = &found["simulated"].as_array().unwrap()[..] else { panic!("{}", found["simulated"]) };
    assert_eq!(simulated["measured_mbps"], found["points"][0]["goodput_mbps"]);
    assert!(place.path("found/diagnosis.json").exists());
}

/// The page lists the servers by the sum of their stalls.
fn servers_are_listed_by_lost_time(found: &Value, page: &str) {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let of_rounds = found["episodes"].as_array().unwrap().iter().flat_map(|one| one["stalls"].as_array().unwrap());
    for stall in of_rounds.chain(found["alone_stalls"].as_array().unwrap()) {
        *sums.entry(stall["server"].as_str().unwrap()).or_default() += stall["took_s"].as_f64().unwrap();
    }
    let (_, chart) = page.split_once("<h2>Lost time by server</h2>").expect("a chart");
    let (chart, _) = chart.split_once("</section>").unwrap();
    let listed: Vec<f64> =
        chart.split("text-anchor=\"end\">").skip(1).map(|label| sums[label.split_once('<').unwrap().0]).collect();
    assert_eq!(listed.len(), sums.len());
    assert!(listed.is_sorted_by(|one, next| one >= next), "{listed:?}");
}

#[test]
fn single_server_is_no_incast() {
    let place = captured("1");
    let found = json(&place.says(&["diagnose", "t.pcapng", "--json"]));
    assert_eq!(found["episodes"], Value::Array(Vec::new()));
    assert_eq!(found["verdict"]["incast"], false);
    assert_eq!(found["scenario"], Value::Null);
    assert!(place.says(&["diagnose", "t.pcapng"]).contains("no incast"));
}

#[test]
fn diagnoses_a_truncated_capture_up_to_its_end() {
    let place = captured("24");
    let bytes = fs::read(place.path("t.pcapng")).unwrap();
    fs::write(place.path("cut.pcapng"), &bytes[..bytes.len() / 2 + 1]).unwrap();
    let found = json(&place.says(&["diagnose", "cut.pcapng", "--json"]));
    assert!(found["inputs"][0]["ends"].as_str().unwrap().starts_with("at byte "), "{}", found["inputs"]);
    assert!(!found["episodes"].as_array().unwrap().is_empty());
}

#[test]
fn refuses_files_that_are_no_recording() {
    let place = Place::with(MY);
    fs::write(place.path("junk"), [0u8, 255, 3, 7].repeat(999)).unwrap();
    fs::write(place.path("empty"), []).unwrap();
    fs::write(place.path("letter"), "Dear Sir\n").unwrap();
    // Prose has commas, colons and numbers.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let texts = ["README.md", "CHANGELOG.md", "Cargo.toml", "Makefile", "crates/laboratory/diagnose/src/counters.rs"]
        .map(|name| root.join(name));
    for path in pages.filter(|path| path.is_file()).chain(texts) {
        place.refuses(&["diagnose", path.to_str().unwrap()]);
    }
    for (name, word) in [
        ("junk", "neither a capture"),
        ("empty", "neither"),
        ("letter", "unknown text format"),
        ("missing", "cannot read"),
    ] {
        assert!(place.refuses(&["diagnose", name]).contains(word), "{name}");
    }
    assert!(place.refuses(&["diagnose", "-", "-"]).contains("twice"));
}

#[test]
fn diagnoses_the_bundled_capture() {
    let place = Place::with(MY);
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnosing/client.pcap.gz");
    let found = json(&place.says(&["diagnose", capture.to_str().unwrap(), "--out", "found", "--json"]));
    let of = &found["simulated"][0];
    let [measured, simulated] = ["measured_mbps", "simulated_mbps"].map(|key| of[key].as_f64().unwrap());
    let far = (simulated / measured - 1.0).abs() > 0.2;
    let withheld =
        found["cautions"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("no scenario"));
    assert_eq!(
        (withheld, found["scenario"].is_null()),
        (far, far),
        "{simulated} and {measured}: {}",
        found["cautions"]
    );
    assert_eq!(place.path("found/scenario.toml").exists(), !far);
    fs::write(place.path("stub.gz"), &fs::read(&capture).unwrap()[..5000]).unwrap();
    let stub = json(&place.says(&["diagnose", "stub.gz", "--json"]));
    assert_eq!(
        (&stub["verdict"]["incast"], &stub["verdict"]["confidence"]),
        (&Value::Null, &0.0.into()),
        "{}",
        stub["verdict"]
    );
    assert!(place.says(&["diagnose", "stub.gz"]).contains("no verdict"));
}

#[test]
#[ignore = "takes half a minute: make check-long"]
fn advice_on_a_diagnosis_names_the_addresses_of_the_capture() {
    let place = captured("24");
    let found = json(&place.says(&["diagnose", "t.pcapng", "--advise", "--json"]));
    let lines: Vec<&str> = found["advice"]["remedies"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|remedy| remedy["apply"].as_array().unwrap())
        .filter_map(|line| line["line"].as_str())
        .filter(|line| line.starts_with("CLIENT=") || line.starts_with("SERVERS="))
        .collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains("=10.0.")), "{lines:?}");
}

#[test]
fn prints_recording_commands_and_validates_the_device() {
    let place = Place::with(MY);
    let says = place.says(&["record", "--device", "eth7"]);
    assert!(says.contains("tcpdump -i eth7 -s 120") && says.contains("fanin diagnose packets.pcap"));
    assert!(place.refuses(&["record", "--device", "eth0; reboot"]).contains("eth0"));
}

#[test]
fn records_into_a_new_folder_with_system_tools() {
    let place = Place::with(MY);
    let tools = place.path("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["sh", "timeout", "tcpdump", "nstat", "sleep", "seq", "ss", "tc", "ethtool"] {
        let path = tools.join(tool);
        fs::write(&path, format!("#!/bin/sh\n: > {}\n", place.path("ran").display())).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let recordings = ["packets.pcap", "nstat.txt", "ss.txt", "tc.txt", "ethtool.txt"];
    recordings.iter().for_each(|name| fs::write(place.path(name), "precious").unwrap());
    let record = || place.command(&["record", "--run", "1", "--device", "none0"]).env("PATH", &tools).output().unwrap();
    let output = record();
    assert!(!place.path("ran").exists(), "a tool of the user's path was run");
    let unchanged = |name: &str| fs::read_to_string(place.path(name)).unwrap() == "precious";
    assert!(recordings.iter().all(|name| unchanged(name)));
    let folder = place.path("recording");
    // Without any of the tools there is nothing to record.
    match output.status.code() {
        Some(0) => {
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&folder), 0o700);
            for entry in fs::read_dir(&folder).unwrap() {
                assert_eq!(mode(&entry.unwrap().path()), 0o600);
            }
        }
        code => assert!(code == Some(3) && !folder.exists(), "{code:?}: {}", err(&output)),
    }
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("packets.pcap"), "precious").unwrap();
    assert_eq!(record().status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.join("packets.pcap")).unwrap(), "precious");
}

#[test]
fn lossy_link_is_no_incast_and_gets_no_advice_on_buffers() {
    let place = Place::with(&MY.replace("64 KiB\"\n[host]", "16 MiB\"\n[faults]\nloss = \"0.5 %\"\n[host]"));
    place.says(&["trace", "my.toml", "--scheme", "newreno", "--fan-in", "16", "--out", "t.pcapng"]);
    let found = json(&place.says(&["diagnose", "t.pcapng", "--advise", "--json"]));
    assert_eq!((&found["verdict"]["incast"], &found["verdict"]["cause"]), (&false.into(), &"link-fault".into()));
    assert_eq!((&found["verdict"]["causes"][0]["cause"], &found["advice"]), (&"bad-link".into(), &Value::Null));
    let text = place.says(&["diagnose", "t.pcapng", "--advise"]);
    assert!(
        text.contains("The main cause is bad-link, not incast, with") && text.contains("replace the cable"),
        "{text}"
    );
}

#[test]
fn prints_the_diagnosis_and_next_steps_without_a_verdict() {
    let place = captured("24");
    let bytes = fs::read(place.path("t.pcapng")).unwrap();
    // The capture ends within the first round.
    fs::write(place.path("stub.pcapng"), &bytes[..20_000]).unwrap();
    let text = place.says(&["diagnose", "stub.pcapng", "--advise"]);
    let [verdict, advice] = ["no verdict", "fanin record --run 30"].map(|words| text.find(words));
    assert!(verdict.is_some() && verdict < advice, "{text}");
    let found = json(&place.says(&["diagnose", "stub.pcapng", "--advise", "--json"]));
    assert_eq!(found["advice"], Value::Null);
    assert!(found["next_steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{found}");
}

#[test]
fn captures_of_rdma_say_so_with_counts_and_counters() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let place = Place::with(MY);
    let runs = [("roce-incast.toml", "dcqcn", "32", "RoCEv2"), ("uet-incast.toml", "nscc", "15", "Ultra Ethernet")];
    for (file, scheme, servers, kind) in runs {
        let (scenario, out) = (scenarios.join(file), format!("{scheme}.pcapng"));
        place.says(&["trace", scenario.to_str().unwrap(), "--scheme", scheme, "--fan-in", servers, "--out", &out]);
        let found = json(&place.says(&["diagnose", &out, "--advise", "--json"]));
        let rdma = &found["rdma"];
        assert!(rdma["fan_in"].as_u64().unwrap() > 8 && found["verdict"]["incast"].is_null(), "{rdma}");
        let text = place.says(&["diagnose", &out, "--advise"]);
        assert!(text.contains(kind) && text.contains("ethtool -S") && text.contains("rdma statistic"), "{text}");
    }
}

#[test]
fn calibrates_open_parameters_to_the_measured_rounds() {
    let place = captured("24");
    let found = json(&place.says(&["diagnose", "t.pcapng", "--out", "found", "--json"]));
    let took: Vec<f64> =
        found["episodes"].as_array().unwrap().iter().map(|one| one["took_s"].as_f64().unwrap()).collect();
    let seen_ms = 1e3 * took.iter().sum::<f64>() / took.len() as f64;
    let told = json(&place.says(&["compare", "found/scenario.toml", "--seeds", "5", "--json"]));
    let told_ms = told["rows"][0]["qct_ms"]["mean"].as_f64().unwrap();
    assert!((told_ms / seen_ms - 1.0).abs() < 0.2, "{told_ms} {seen_ms}");
}

#[test]
#[ignore = "takes half a minute: make check-long"]
fn prints_advice_and_diagnosis_as_one_object() {
    let place = captured("24");
    let found = json(&place.says(&["diagnose", "t.pcapng", "--advise", "--json"]));
    assert_eq!((&found["schema"], &found["verdict"]["incast"]), (&1.into(), &true.into()));
    let remedies = found["advice"]["remedies"].as_array().unwrap();
    assert!(remedies[0]["at_ends"]["holds"].as_bool().is_some(), "{}", found["advice"]);
    let step = found["next_steps"][0].as_str().unwrap();
    assert!(step.contains("minimum RTO of 5 ms") && step.contains("timeouts took"), "{step}");
    let today = &found["advice"]["today"];
    let compared = place.runs(&format!("{} --json", today["run"].as_str().unwrap()));
    assert_eq!(
        compared["rows"][0]["goodput_mbps"], today["goodput_mbps"],
        "the commands name the scenario that was taken"
    );
    assert_eq!(found["scenario"], "t.toml");
    fs::write(place.path("t.toml"), "mine\n").unwrap();
    let again = json(&place.says(&["diagnose", "t.pcapng", "--advise", "--json"]));
    assert_eq!(
        (&again["scenario"], fs::read_to_string(place.path("t.toml")).unwrap().as_str()),
        (&"t-2.toml".into(), "mine\n")
    );
}
