//! `fanin testbed`. Where something is lacking, such as root, a test is skipped with a printed reason.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use fanin_testing::wait_for;
use serde_json::Value;

use crate::common::{Place, err};
use crate::support::root;

/// A second of barrier reads at 20 Mbit/s.
fn scenario() -> String {
    let star = include_str!("../../../laboratory/testbed/tests/star.toml");
    star.replace("400 ms", "1 s").replace("fan_in = [4]", "fan_in = [2]") + "[run]\nseeds = 1\n"
}

/// Network namespaces of a process's threads, by inode.
fn namespaces(process: &Path) -> BTreeSet<u64> {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| Some(fs::metadata(thread.path().join("ns/net")).ok()?.ino())).collect()
}

#[test]
fn measured_and_predicted_figures_are_printed() {
    let place = Place::with(&scenario());
    let out = place.folder.path().join("out");
    let run = place.fanin(&["testbed", "my.toml", "--json", "--out", out.to_str().unwrap()]);
    if run.status.code() == Some(3) {
        return eprintln!("skipped: {}", err(&run));
    }
    assert!(run.status.success(), "{}", err(&run));
    let printed: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!((&printed["schema"], &printed["machine"]), (&1.into(), &"here".into()));
    let row = &printed["rows"][0];
    assert_eq!((&row["scheme"], &row["point"]["fan_in"]), (&"cubic".into(), &2.into()));
    for side in ["measured", "predicted"] {
        let goodput = row[side]["goodput_mbps"]["mean"].as_f64().unwrap();
        assert!((5.0..20.0).contains(&goodput), "{side}: {goodput}");
        for key in ["qct_ms", "timeouts", "probes", "retransmits", "drops", "marks"] {
            assert!(!row[side][key].is_null(), "{side} has no {key}");
        }
    }
    assert!(row["measured"]["cpu"].as_f64().is_some());
    for file in ["testbed.json", "report.html", "manifest.json"] {
        assert!(out.join(file).exists(), "{file}");
    }
}

#[test]
fn memcached_answers_through_the_front_end() {
    let requests =
        "kind = \"key_value\"\nqueries = 20\nduration = \"60 s\"\n[key_value]\nobjects = 100\nper_request = 30";
    let scenario = scenario()
        .replace("kind = \"barrier\"\nfragment = \"16 KiB\"\nduration = \"1 s\"", requests)
        .replace("fan_in = [2]", "fan_in = [4]");
    let place = Place::with(&scenario.replace("[\"cubic\"]", "[\"sw\"]"));
    let run = place.fanin(&["testbed", "my.toml", "--memcached", "--json"]);
    if run.status.code() == Some(3) {
        return eprintln!("skipped: {}", err(&run));
    }
    assert!(run.status.success(), "{}", err(&run));
    let row = &serde_json::from_slice::<Value>(&run.stdout).unwrap()["rows"][0];
    let goodput = |side: &str| row[side]["goodput_mbps"]["mean"].as_f64().unwrap();
    assert!(goodput("measured") > goodput("predicted") / 4.0, "{row}");
    assert_eq!(row["measured"]["rounds"], 20.0, "{row}");
}

#[test]
fn advice_is_measured_beside_its_prediction() {
    let collapsing =
        [("256 KB", "16 KB"), ("fan_in = [2]", "fan_in = [12]"), ("duration = \"1 s\"", "duration = \"400 ms\"")];
    let scenario = collapsing.iter().fold(scenario(), |text, (old, new)| text.replace(old, new));
    let place = Place::with(&scenario);
    let run = place.fanin(&["advise", "my.toml", "--prove", "--budget", "1M", "--json"]);
    if run.status.code() == Some(3) {
        return eprintln!("skipped: {}", err(&run));
    }
    assert!(run.status.success(), "{}", err(&run));
    let advice: Value = serde_json::from_slice(&run.stdout).unwrap();
    let proved = advice["proved"].as_array().unwrap();
    let is_possible = |remedy: &&Value| remedy["deployable"] == true && remedy["apart"].is_null();
    let possible = advice["remedies"].as_array().unwrap().iter().filter(is_possible).count();
    assert_eq!((proved.len(), &proved[0]["says"]), (1 + possible.min(3), &"today".into()), "{advice}");
    for change in proved {
        let row = &change["row"];
        let goodput = |side: &str| row[side]["goodput_mbps"]["mean"].as_f64();
        let is_measured = goodput("measured").is_some_and(|mbps| mbps > 1.0) && goodput("predicted").is_some();
        assert!(is_measured || change["impossible"].is_string(), "{change}");
    }
    assert!(proved[0]["row"]["measured"]["drops"].as_f64().unwrap() > 0.0, "{}", proved[0]);
}

#[test]
fn two_testbeds_do_not_meet() {
    let place = Place::with(&scenario());
    let rates = [10.0, 20.0];
    let start = |rate: f64| {
        let rate = format!("link.client_rate={rate} Mbit/s");
        let mut command = place.command(&["testbed", "my.toml", "--json", "--set", &rate]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for (child, rate) in rates.map(start).into_iter().zip(rates) {
        let run = child.wait_with_output().unwrap();
        if run.status.code() == Some(3) {
            return eprintln!("skipped: {}", err(&run));
        }
        let printed: Value = serde_json::from_slice(&run.stdout).unwrap();
        let goodput = printed["rows"][0]["measured"]["goodput_mbps"]["mean"].as_f64().unwrap();
        assert!((rate / 2.0..rate).contains(&goodput), "{goodput} of {rate} Mbit/s");
    }
}

#[test]
fn a_killed_testbed_leaves_nothing() {
    let (place, own) = (Place::with(&scenario()), namespaces(Path::new("/proc/self")));
    for millis in [50, 400, 900] {
        let mut command = place.command(&["testbed", "my.toml", "--no-cache"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(millis));
        let used = namespaces(Path::new(&format!("/proc/{}", child.id())));
        child.kill().unwrap();
        child.wait().unwrap();
        let all = || fs::read_dir("/proc").unwrap().flatten().flat_map(|process| namespaces(&process.path()));
        let left = || all().filter(|one| used.contains(one) && !own.contains(one)).collect::<Vec<_>>();
        // A program that it had started ends when its input ends.
        wait_for("its namespaces are gone", || {
            let left = left();
            if left.is_empty() { Ok(()) } else { Err(format!("killed after {millis} ms: {left:?}")) }
        });
    }
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1);
}

#[test]
fn schemes_that_cannot_be_measured_are_listed_beside_the_others() {
    let place =
        Place::with(&scenario().replace("[\"cubic\"]", "[\"cubic+ictcp\", \"cubic\"]").replace("1 s", "200 ms"));
    let run = place.fanin(&["testbed", "my.toml", "--json"]);
    if run.status.code() == Some(3) {
        return eprintln!("skipped: {}", err(&run));
    }
    assert!(run.status.success(), "{}", err(&run));
    let printed: Value = serde_json::from_slice(&run.stdout).unwrap();
    let schemes: Vec<&Value> = printed["rows"].as_array().unwrap().iter().map(|row| &row["scheme"]).collect();
    assert_eq!(schemes, ["cubic"]);
    let impossible = &printed["impossible"][0];
    assert_eq!(impossible["scheme"], "cubic+ictcp", "{printed}");
    assert!(impossible["why"].as_str().unwrap().contains("ICTCP"), "{impossible}");
    let told = place.says(&["testbed", "my.toml"]);
    assert!(told.contains("cubic+ictcp: not measurable: "), "{told}");
}

#[test]
fn unmeasurable_clusters_are_refused_before_the_search() {
    let place = Place::with(&scenario().replace("[\"cubic\"]", "[\"cubic+ictcp\"]"));
    let refused = place.refuses(&["advise", "my.toml", "--prove", "--budget", "1M", "--no-cache"]);
    assert!(refused.contains("ICTCP") && !refused.contains("first run"), "{refused}");
}

#[test]
fn commands_of_the_page_are_no_bad_input() {
    let pages =
        ["quick-start", "testbed"].map(|page| fs::read_to_string(root().join(format!("docs/{page}.md"))).unwrap());
    let (_, scenario) = pages[0].split_once("```toml scenario my.toml\n").unwrap();
    let place = Place::with(scenario.split("```").next().unwrap());
    let commands =
        pages[1].lines().filter_map(|line| line.trim_start_matches("sudo ").strip_prefix("fanin testbed my.toml"));
    let commands: Vec<Vec<&str>> =
        commands.map(|line| line.split('#').next().unwrap().split_whitespace().collect()).collect();
    assert!(commands.len() >= 2, "{commands:?}");
    for command in commands {
        let short = ["--seeds", "1", "--fan-in", "2", "--set", "workload.duration=20 ms"];
        let without = command.split(|word| *word == "--fan-in").map(<[&str]>::to_vec).collect::<Vec<_>>();
        let own = [without[0].clone(), without.get(1).map_or(Vec::new(), |rest| rest[1..].to_vec())].concat();
        let run = place.fanin(&[&["testbed", "my.toml"], &own[..], &short[..]].concat());
        assert_ne!(run.status.code(), Some(2), "{command:?}: {}", err(&run));
    }
}

#[test]
fn impossible_requests_are_refused() {
    let place = Place::with(&scenario());
    let refusal = |arguments: &[&str], code: i32| {
        let run = place.fanin(&[&["testbed", "my.toml"], arguments].concat());
        let text = err(&run);
        assert_eq!(run.status.code(), Some(code), "{text}");
        text
    };
    let switch = refusal(&["--schemes", "cubic+ictcp"], 2);
    assert!(switch.contains("ICTCP"), "{switch}");
    let rate = refusal(&["--set", "link.rate=100 Gbit/s"], 2);
    assert!(rate.contains("link.rate"), "{rate}");
    let workload = refusal(&["--memcached"], 2);
    assert!(workload.contains("workload.kind"), "{workload}");
    for machine in ["instant", "counted"] {
        let kernel = refusal(&["--machine", machine], 3);
        assert!(kernel.contains(&format!("--prepare --machine {machine}")), "{kernel}");
    }
}
