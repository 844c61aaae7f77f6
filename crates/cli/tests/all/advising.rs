//! `fanin advise`.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::common::Place;
use super::support;

/// A rack that collapses and is quick to simulate.
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
    let arguments = [&["advise", "my.toml", "--budget", "3M", "--json"], more].concat();
    serde_json::from_str(&place.says(&arguments)).unwrap()
}

#[test]
fn advises_a_collapsing_rack_with_commands() {
    let place = Place::sharing_runs(RACK);
    let advice = advise(&place, &[]);
    assert_eq!((&advice["schema"], &advice["needed"]), (&2.into(), &true.into()));
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
    let command = first["run"].as_str().unwrap();
    let compared = place.runs(&format!("{command} --json --no-cache"));
    assert_eq!(compared["rows"][0]["goodput_mbps"], first["goodput_mbps"], "{command}");
    assert_eq!(compared["rows"][0]["qct_ms"], first["qct_ms"], "{command}");
}

#[test]
fn printed_commands_reproduce_the_advice() {
    let (place, fresh) = (Place::sharing_runs(RACK), Place::sharing_runs(RACK));
    let line = "advise --servers 32 --rate 10Gbit/s --answer 64KiB --set switch.buffer=256KiB --budget 4M";
    let arguments: Vec<&str> = line.split(' ').collect();
    let advice: Value = serde_json::from_str(&place.says(&[&arguments[..], &["--json"]].concat())).unwrap();
    let text = place.says_in("60", &arguments);
    let printed: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("fanin compare")).collect();
    let remedies = advice["remedies"].as_array().unwrap();
    assert!(advice["needed"] == true && !remedies.is_empty(), "{advice}");
    for one in remedies.iter().chain([&advice["today"]]) {
        let command = one["run"].as_str().unwrap();
        let compared = fresh.runs(&format!("{command} --json --no-cache"));
        assert_eq!(compared["rows"][0]["goodput_mbps"], one["goodput_mbps"], "{command}");
    }
    for remedy in remedies.iter().filter(|remedy| remedy["apart"].is_null()).take(5) {
        assert!(printed.contains(&remedy["run"].as_str().unwrap()), "whole, in one line: {text}");
        for lines in ["apply", "undo", "verify"] {
            for line in remedy["plain"][lines].as_array().unwrap() {
                assert!(text.lines().any(|printed| printed.trim_start() == line["line"]), "{}: {text}", line["line"]);
            }
        }
    }
}

#[test]
fn ranked_remedies_have_valid_shell_scripts() {
    let place = Place::sharing_runs(RACK);
    let advice = advise(&place, &["--out", "made", "--set", "tcp.profile=linux"]);
    let ranked = advice["remedies"].as_array().unwrap().iter().filter(|one| one["apart"].is_null());
    for (rank, remedy) in (1..).zip(ranked) {
        for (what, word) in
            ["servers", "client", "switch"].iter().flat_map(|at| ["apply", "verify", "undo"].map(|w| (at, w)))
        {
            let lines = remedy[word].as_array().unwrap().iter().filter(|line| line["where"] == **what);
            let file = place.path(&format!("made/remedy-{rank}/{what}/{word}.sh"));
            let wanted = lines.clone().any(|line| !line["line"].as_str().unwrap().starts_with('#'));
            assert_eq!(file.exists(), wanted, "{}", file.display());
            if wanted {
                let text = fs::read_to_string(&file).unwrap();
                assert!(text.starts_with("#!/bin/sh\n") && text.contains("\nset -eu\n"), "{text}");
                assert!(Command::new("sh").arg("-n").arg(&file).status().unwrap().success(), "{text}");
            }
        }
    }
    assert!(place.path("made/remedy-1").exists());
}

#[test]
fn growth_shows_both_states_and_its_remedies() {
    let place = Place::sharing_runs(&RACK.replace("[4, 24]", "[2]").replace("64 KiB\"\n[tcp]", "128 KiB\"\n[tcp]"));
    let advice = advise(&place, &["--grow-to", "24"]);
    assert_eq!((&advice["today"]["servers"], &advice["grown"]["servers"]), (&2.into(), &24.into()));
    assert_eq!((&advice["today"]["impaired"], &advice["grown"]["impaired"]), (&false.into(), &true.into()));
    assert!(advice["needed"] == true && !advice["remedies"].as_array().unwrap().is_empty());
    let then = advise(&place, &["--servers", "24"]);
    assert_eq!(then["today"]["goodput_mbps"], advice["grown"]["goodput_mbps"]);
    assert!(
        place
            .refuses(&["advise", "my.toml", "--grow-to", "2"])
            .contains("--grow-to 2: there are already 2 servers today")
    );
}

#[test]
fn erasure_codes_wait_for_data_servers_only() {
    let place = Place::sharing_runs(RACK);
    let advice = advise(&place, &["--stripe", "12+4", "--grow-to", "48"]);
    assert_eq!((&advice["today"]["servers"], &advice["grown"]["servers"]), (&24.into(), &48.into()));
    for state in ["today", "grown"] {
        let compared = place.runs(&format!("{} --json", advice[state]["run"].as_str().unwrap()));
        assert_eq!(compared["rows"][0]["goodput_mbps"], advice[state]["goodput_mbps"], "{state}");
    }
    // Twelve responses of 64 KiB, whatever the number of servers.
    let [today, grown] = ["today", "grown"].map(|state| advice[state]["wire_ms"].as_f64().unwrap());
    assert!(6.3 < today && today < 6.7 && today == grown, "{today} ms and {grown} ms");
    assert!(
        place
            .refuses(&["advise", "my.toml", "--stripe", "20+8"])
            .contains("28 of 24 servers; data and parity together must be at most 24")
    );
}

#[test]
fn reports_goals_below_the_wire_time_as_impossible() {
    let place = Place::sharing_runs(RACK);
    let advice = advise(&place, &["--goal", "mean < 5 ms"]);
    // 24 responses of 64 KiB at 1 Gbit/s take 12.6 ms without their headers.
    assert!(advice["today"]["wire_ms"].as_f64().unwrap() > 12.6, "{}", advice["today"]);
    assert_eq!(advice["goal"]["possible"], false);
    assert_eq!(advise(&place, &["--goal", "mean < 20 ms"])["goal"]["possible"], true);
}

#[test]
#[ignore = "takes half a minute: make check-long"]
fn reports_assumptions_that_decide_the_verdict() {
    let place = Place::sharing_runs(RACK);
    let line = "advise --servers 48 --rate 25Gbit/s --answer 256KiB --set switch.buffer=1200KiB --budget 20M --remedies rto-min --json";
    let advice: Value = serde_json::from_str(&place.says(&line.split(' ').collect::<Vec<_>>())).unwrap();
    let assumption =
        |key: &str| advice["depends_on"].as_array().unwrap().iter().find(|one| one["key"] == key).unwrap().clone();
    assert_eq!(
        assumption("host.service_jitter")["reversed_by"],
        serde_json::json!(["10 us"]),
        "{}",
        advice["depends_on"]
    );
    let turned: Value = serde_json::from_str(
        &place.says(&[&line.split(' ').collect::<Vec<_>>()[..], &["--set", "host.service_jitter=10 us"]].concat()),
    )
    .unwrap();
    assert_eq!((&advice["today"]["impaired"], &turned["today"]["impaired"]), (&true.into(), &false.into()));
}

#[test]
fn advice_does_not_depend_on_the_number_of_threads() {
    let place = Place::sharing_runs(RACK);
    let [one, three] = ["1", "3"].map(|jobs| advise(&place, &["--no-cache", "--jobs", jobs]));
    assert_eq!(one, three);
}

#[test]
fn a_goal_ranks_remedies_that_meet_it_by_effort() {
    let place = Place::sharing_runs(RACK);
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
    let told = told.replace('\n', " ");
    assert!(told.contains("No available remedy meets the goal, max < 1 us"), "{told}");
}

/// A cluster of options whose runs are cheap, and its advice with the saved scenario's own row.
fn described(place: &Place, options: &[&str]) -> (Value, Value) {
    let own = ["advise", "--rate", "1Gbit/s", "--budget", "8M", "--remedies", "rto-min", "--save", "c.toml", "--json"];
    let advice: Value = serde_json::from_str(&place.says(&[&own, options].concat())).unwrap();
    let row = place.runs("fanin compare c.toml --json")["rows"][0].clone();
    (advice, row)
}

#[test]
fn the_state_is_that_of_the_saved_scenario() {
    let place = Place::sharing_runs(RACK);
    let clusters: [&[&str]; 3] = [
        &["--servers", "4", "--answer", "16KiB"],
        // Collapses at its start, and seldom later.
        &["--servers", "16", "--answer", "1MiB", "--set", "switch.buffer=128KiB", "--tcp", "linux-6.1"],
        &["--servers", "24", "--answer", "32KiB", "--clients", "2", "--stripe", "8+3", "--set", "switch.buffer=64KiB"],
    ];
    for options in clusters {
        let (advice, row) = described(&place, options);
        for figure in ["goodput_mbps", "qct_ms"] {
            assert_eq!(advice["today"][figure], row[figure], "{options:?}: {figure}");
        }
        assert!(advice["base"]["short_only"] != true, "{options:?}");
    }
    let text = fs::read_to_string(place.path("c.toml")).unwrap();
    for line in ["stripe = 8\n", "clients = 2\n", "buffer = \"64KiB\"\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_budget_below_the_scenarios_own_runs_is_reported() {
    let place = Place::sharing_runs(&RACK.replace("400 ms", "60 s"));
    let advice = advise(&place, &["--remedies", "rto-min"]);
    assert_eq!(advice["base"]["short_only"], true, "{advice}");
    let told = place.says(&["advise", "my.toml", "--budget", "3M", "--remedies", "rto-min"]);
    assert!(told.replace('\n', " ").contains("because the budget is too small for the scenario's own"), "{told}");
}

#[test]
fn every_bundled_scenario_has_advice_or_is_refused_at_once() {
    let place = Place::with(RACK);
    let folder = support::root().join("scenarios");
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let words = ["advise", path.to_str().unwrap(), "--budget", "200k", "--remedies", "rto-min", "--brief"];
        let done = place.fanin(&words);
        let told = String::from_utf8_lossy(&done.stderr);
        let is_refused = done.status.code() == Some(2) && told.contains("is too small") && !told.contains("first run");
        assert!(done.status.success() || is_refused, "{name}: {told}");
    }
}

#[test]
fn brief_advice_fits_one_screen() {
    let place = Place::sharing_runs(RACK);
    let brief = place.says_in("100", &["advise", "my.toml", "--budget", "3M", "--brief"]);
    assert!(brief.lines().count() <= 40 && brief.contains("best first"), "{brief}");
    let second = place.says_in("100", &["advise", "my.toml", "--budget", "3M", "--details", "2"]);
    assert!(second.contains("\n2. ") && !second.contains("\n1. ") && !second.contains("\n3. "), "{second}");
    let none = place.says(&["advise", "my.toml", "--budget", "3M", "--details", "99"]);
    assert!(none.contains("There is no remedy of rank 99"), "{none}");
}

#[test]
fn printed_folders_of_scripts_exist() {
    let place = Place::sharing_runs(RACK);
    let told = place.says_in("200", &["advise", "my.toml", "--budget", "3M", "--out", "made"]);
    let folders: Vec<&str> =
        told.lines().filter_map(|line| line.trim().strip_prefix("as scripts")).map(str::trim).collect();
    assert!(!folders.is_empty(), "{told}");
    assert!(folders.iter().all(|folder| place.path(folder).is_dir()), "{folders:?}");
}

#[test]
fn saves_the_scenario_of_a_described_cluster() {
    let place = Place::sharing_runs(RACK);
    let line = [
        "advise",
        "--servers",
        "4",
        "--rate",
        "1Gbit/s",
        "--answer",
        "16KiB",
        "--budget",
        "8M",
        "--save",
        "c.toml",
        "--json",
    ];
    let advice: Value = serde_json::from_str(&place.says(&line)).unwrap();
    assert_eq!((&advice["needed"], advice["remedies"].as_array().unwrap().len()), (&false.into(), 0));
    let again: Value = serde_json::from_str(&place.says(&["advise", "c.toml", "--budget", "8M", "--json"])).unwrap();
    assert_eq!(again, advice);
    let refused =
        place.refuses(&["advise", "--servers", "4", "--rate", "1Gbit/s", "--answer", "1KiB", "--switch", "x"]);
    assert!(refused.contains("--switch x"), "{refused}");
}

#[test]
fn picture_compares_today_with_the_first_remedies() {
    let place = Place::sharing_runs(RACK);
    advise(&place, &["--out", "made"]);
    for file in ["advice.json", "report.html", "summary.csv"] {
        assert!(place.path(&format!("made/{file}")).exists(), "{file}");
    }
}

#[test]
fn refuses_unsuitable_input_with_a_remedy() {
    let place = Place::sharing_runs(RACK);
    for (arguments, why) in [
        (vec!["advise", "my.toml", "--goal", "fast"], "`fast` is not a goal"),
        (vec!["advise", "my.toml", "--remedies", "magic"], "--remedies magic: unknown remedy; use rto-min"),
        (vec!["advise", "my.toml", "--budget", "1k"], "--budget 1000 is too small: one run takes"),
        (vec!["advise", "my.toml", "--budget", "much"], "use data packets, such as 250M"),
        (vec!["advise", "--rate=1Gbit/s", "--answer=1MB", "--servers", "0"], "--servers 0: not a number of servers"),
        (
            vec!["advise", "--servers", "4"],
            "--servers, --rate and --answer are required: add --rate 25Gbit/s --answer 1MiB, or give",
        ),
        (vec!["advise", "my.toml", "--grow-to", "many"], "--grow-to many: not a number of servers"),
        (vec!["advise", "my.toml", "--stripe", "12-4"], "--stripe 12-4: not a stripe"),
        (vec!["advise", "--servers", "4", "--rate", "1", "--answer", "1KiB"], "--rate 1: its unit is missing"),
        (vec!["advise", "--servers", "4", "--rate", "1Gbit/s", "--answer", "1KiB", "--stripe", "5"], "at most 4"),
    ] {
        let refused = place.refuses(&arguments);
        assert!(refused.contains(why), "{arguments:?}: {refused}");
    }
}

#[test]
fn random_sizes_have_no_minimum_wire_time() {
    let text = "schemes = [\"sw\"]\n[link]\nrate = \"100 Mbit/s\"\n[workload]\nkind = \"key_value\"\nqueries = 2\n\
                [key_value]\nobjects = 5000\nreplicas = 1\nper_request = 1\n[sweep]\nfan_in = [40]\n";
    let advice = advise(&Place::sharing_runs(text), &["--goal", "mean < 50 us"]);
    assert!(advice["today"]["wire_ms"].is_null(), "{}", advice["today"]);
    assert_eq!(advice["goal"]["possible"], true, "a small object may be that fast");
}

/// A lossless star whose senders' least rates, 1 Gbit/s each, add up to more than the client's link.
const LOSSLESS: &str = r#"
schemes = ["dcqcn"]
[link]
rate = "100 Gbit/s"
delay = "1 us"
framing = "4 B"
[switch]
shared_buffer = "16 MiB"
[host]
packet_jitter = "none"
[workload]
kind = "one-shot"
start_jitter = "100 ns"
fragment = "200 KB"
[dcqcn]
profile = "ns-3"
[rdma]
payload = "1000 B"
[sweep]
fan_in = [150]
"#;

fn paused(of: &Value) -> [f64; 2] {
    ["count", "share"].map(|figure| of["paused"][figure].as_f64().unwrap())
}

#[test]
fn a_lower_least_rate_shortens_pauses() {
    let place = Place::sharing_runs(LOSSLESS);
    let advice = advise(&place, &[]);
    let ([pauses, share], first) = (paused(&advice["today"]), &advice["remedies"][0]);
    assert_eq!((&advice["today"]["state"], &first["family"]), (&"paused".into(), &"min-rate".into()));
    assert!(share > 0.3, "150 Gbit/s into 100 cannot do without pauses: {share}");
    // 150 senders at 500 Mbit/s take 75 Gbit/s: of the pauses, those of the first round trip remain.
    assert_eq!(first["settings"]["dcqcn.min_rate"], "1/200");
    let [fewer, shorter] = paused(first);
    assert!(fewer < pauses / 10.0 && shorter < share / 2.0, "{fewer} of {pauses}, {shorter} of {share}");
    // The link is full either way, so that pauses alone make the difference.
    let of_today = first["relative_to_current"].as_f64().unwrap();
    assert!((of_today - (1.0 + shorter) / (1.0 + share)).abs() < 0.01, "{of_today}");
    let row = &place.runs(&format!("{} --json --no-cache", first["run"].as_str().unwrap()))["rows"][0];
    assert_eq!(row["pauses"]["count"].as_f64().unwrap(), fewer);
    for remedy in advice["remedies"].as_array().unwrap() {
        assert!(remedy["settings"].as_object().unwrap().keys().all(|key| !key.starts_with("tcp.")), "{remedy}");
    }
    let text = place.says(&["advise", "my.toml", "--budget", "3M"]);
    assert!(text.contains("echo 500 | tee \"/sys/class/net/$DEV/ecn/roce_rp/rpg_min_rate\""), "{text}");
}

#[test]
fn headrooms_are_not_too_small_and_never_lowered() {
    let place = Place::sharing_runs(
        &LOSSLESS.replace("[150]", "[120]").replace("16 MiB", "28 MiB").replace("200 KB", "500 KB"),
    );
    // Two delays, two frames and the pause: 2 x 12,500 B, 2 x 1,090 B and 4 B.
    let refused = place.refuses(&["advise", "my.toml", "--set", "pfc.headroom=20 KB"]);
    assert!(refused.contains("27184 B until the pause takes effect; use at least that"), "{refused}");
    // Six times what the simulated links need: real ones may need it.
    let advice = advise(&place, &["--set", "pfc.headroom=165888 B"]);
    let remedies = advice["remedies"].as_array().unwrap();
    assert!(
        !remedies.is_empty() && remedies.iter().all(|remedy| remedy["settings"].get("pfc.headroom").is_none()),
        "{advice}"
    );
}

#[test]
fn trimming_ports_get_longer_queues_or_fewer_senders() {
    let text = r#"
schemes = ["rccc"]
[fabric]
kind = "fat-tree"
arity = 8
placement = "spread"
[link]
rate = "100 Gbit/s"
delay = "1 us"
framing = "18 B"
[switch]
buffer = "178450 B"
[host]
packet_jitter = "none"
[workload]
kind = "barrier"
fragment = "20 KB"
duration = "5 ms"
[sweep]
fan_in = [127]
"#;
    let advice = advise(
        &Place::sharing_runs(text),
        &["--goal", "goodput > 90 %", "--remedies", "trim-queue,in-flight,withheld-acks"],
    );
    let today = advice["today"]["goodput_mbps"]["mean"].as_f64().unwrap();
    assert!(today < 90_000.0 && advice["today"]["paused"].is_null(), "{today}");
    let meets = |family: &str| {
        let mut of = advice["remedies"].as_array().unwrap().iter().filter(|one| one["family"] == family);
        of.any(|one| one["goal"]["met"] == true && one["goodput_mbps"]["mean"].as_f64().unwrap() > 1.08 * today)
    };
    assert!(meets("trim-queue") && meets("in-flight"), "{advice}");
}
