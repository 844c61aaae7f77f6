//! `fanin diagnose`: what it says of captures that `fanin trace` makes, and of what is none.

use std::fs;

use serde_json::Value;

use crate::common::Place;

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

/// A capture of the client's of so many servers.
fn captured(fan_in: &str) -> Place {
    let place = Place::with(MY);
    place.says(&["trace", "my.toml", "--scheme", "newreno", "--fan-in", fan_in, "--out", "t.pcapng"]);
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn many_servers_are_found_with_their_timeouts_and_the_scenario_that_is_written_can_be_compared() {
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
    assert!(page.contains("The slowest round, server by server") && page.contains("10.0.0.2"));
    assert!(place.path("found/diagnosis.json").exists());
}

#[test]
fn one_server_alone_is_no_incast() {
    let place = captured("1");
    let found = json(&place.says(&["diagnose", "t.pcapng", "--json"]));
    assert_eq!(found["episodes"], Value::Array(Vec::new()));
    assert_eq!(found["verdict"]["incast"], false);
    assert_eq!(found["scenario"], Value::Null);
    assert!(place.says(&["diagnose", "t.pcapng"]).contains("no incast"));
}

#[test]
fn a_capture_that_is_cut_off_gives_what_can_be_said_and_the_byte_where_it_ends() {
    let place = captured("24");
    let bytes = fs::read(place.path("t.pcapng")).unwrap();
    fs::write(place.path("cut.pcapng"), &bytes[..bytes.len() / 2 + 1]).unwrap();
    let found = json(&place.says(&["diagnose", "cut.pcapng", "--json"]));
    assert!(found["inputs"][0]["ends"].as_str().unwrap().starts_with("at byte "), "{}", found["inputs"]);
    assert!(!found["episodes"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_no_recording_is_refused() {
    let place = Place::with(MY);
    fs::write(place.path("junk"), [0u8, 255, 3, 7].repeat(999)).unwrap();
    fs::write(place.path("empty"), []).unwrap();
    fs::write(place.path("letter"), "Dear Sir\n").unwrap();
    for (name, word) in [
        ("junk", "neither a capture"),
        ("empty", "neither"),
        ("letter", "none of those"),
        ("missing", "cannot be read"),
    ] {
        assert!(place.refuses(&["diagnose", name]).contains(word), "{name}");
    }
    assert!(place.refuses(&["diagnose", "-", "-"]).contains("twice"));
}

#[test]
fn commands_that_record_are_printed_and_a_device_is_a_name() {
    let place = Place::with(MY);
    let says = place.says(&["record", "--device", "eth7"]);
    assert!(says.contains("tcpdump -i eth7 -s 120") && says.contains("fanin diagnose packets.pcap"));
    assert!(place.refuses(&["record", "--device", "eth0; reboot"]).contains("eth0"));
}

#[test]
fn a_lossy_link_is_no_incast_and_its_scenario_loses_as_much() {
    let place = Place::with(&MY.replace("64 KiB\"\n[host]", "16 MiB\"\n[faults]\nloss = \"0.5 %\"\n[host]"));
    place.says(&["trace", "my.toml", "--scheme", "newreno", "--fan-in", "16", "--out", "t.pcapng"]);
    let found = json(&place.says(&["diagnose", "t.pcapng", "--out", "found", "--json"]));
    assert_eq!((&found["verdict"]["incast"], &found["verdict"]["cause"]), (&false.into(), &"link-fault".into()));
    let text = fs::read_to_string(place.path("found/scenario.toml")).unwrap();
    let lost = text.lines().find_map(|line| line.strip_prefix("loss = \"")?.split_once(" %")).unwrap().0;
    assert!((0.3..0.8).contains(&lost.parse::<f64>().unwrap()), "{text}");
}

#[test]
fn what_a_recording_leaves_open_is_settled_so_that_rounds_take_as_long_as_those_that_were_seen() {
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
fn advice_comes_with_the_diagnosis_as_one_object() {
    let place = captured("24");
    let found = json(&place.says(&["diagnose", "t.pcapng", "--advise", "--json"]));
    assert_eq!((&found["schema"], &found["verdict"]["incast"]), (&1.into(), &true.into()));
    assert!(found["advice"]["remedies"].as_array().is_some_and(|remedies| !remedies.is_empty()), "{}", found["advice"]);
}
