//! The engine in a browser's workers gives what the library gives with threads.

use std::fs;

use fanin_browser::{Session, Step, describe, keys, run, set_value};
use serde_json::Value;

use crate::support::{is_current, root};

/// Hosts without jitter: points are run again with jitter, and a warning reports the difference.
const TEXT: &str = "schemes = [\"newreno\"]\n[host]\npacket_jitter = \"none\"\n[link]\nrate = \"1 Gbit/s\"\ndelay = \"25 us\"\n\
                    [switch]\nbuffer = \"64 KiB\"   # of a port\n[workload]\nfragment = \"256 KiB\"\nduration = \"200 ms\"\n\
                    [sweep]\nfan_in = [2, 8]\n[run]\nseeds = 2\n";

/// Carries out all runs of a comparison, and returns its JSON and its report's.
fn compared(text: &str, seeds: u32) -> (Value, Value) {
    let mut session = Session::default();
    loop {
        match session.step(text, seeds, true).unwrap() {
            Step::Runs(jobs) => {
                for job in jobs {
                    let tables = run(&job).unwrap();
                    session.take(job, &tables).unwrap();
                }
            }
            Step::Done(done) => {
                return (serde_json::from_str(&done.summary).unwrap(), serde_json::from_str(&done.report).unwrap());
            }
        }
    }
}

/// `make docs` rewrites them, `web/play/first.ts` computes them anew in the page.
#[test]
fn stored_figures_of_the_first_screen_are_current() {
    let cases = fs::read_to_string(root().join("web/play/cases.ts")).unwrap();
    let text = cases.split("export const FIRST = `").nth(1).unwrap().split('`').next().unwrap();
    let (summary, _) = compared(text, 3);
    let rows = summary["rows"].as_array().unwrap();
    let side = |servers: &Value, scheme: &str| {
        let row = rows.iter().find(|row| row["scheme"] == scheme && row["point"]["fan_in"] == *servers).unwrap();
        let mean = |figure: &str| row[figure]["mean"].as_f64().unwrap();
        let three_digits: f64 = format!("{:.2e}", mean("qct_ms")).parse().unwrap();
        format!("{{\"mbps\": {}, \"ms\": {three_digits}}}", mean("goodput_mbps").round())
    };
    let points: Vec<String> = rows
        .iter()
        .filter(|row| row["scheme"] == "today")
        .map(|row| &row["point"]["fan_in"])
        .map(|servers| {
            let (today, remedy) = (side(servers, "today"), side(servers, "remedy"));
            format!("  {{\"servers\": {servers}, \"today\": {today}, \"remedy\": {remedy}}}")
        })
        .collect();
    let json = format!("{{\"link_mbps\": 10000, \"points\": [\n{}\n]}}\n", points.join(",\n"));
    is_current("web/site/first.json", &json);
}

#[test]
fn browser_equals_threaded_library() {
    let lab = fanin::Lab::default().without_cache();
    let scenario = fanin::Scenario::parse("scenario.toml", TEXT).and_then(|scenario| scenario.resolve()).unwrap();
    let library = lab.compare(&scenario, fanin::CompareOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(library.warnings().len(), 1);
    let without_cost = |mut object: Value| {
        object.as_object_mut().unwrap().remove("engine");
        object
    };
    let (summary, report) = compared(TEXT, 2);
    assert_eq!(without_cost(summary), without_cost(serde_json::from_str(&library.to_json()).unwrap()));
    assert_eq!(report["command"], "fanin compare scenario.toml --seeds 2");
    assert_eq!(report["stories"].as_array().unwrap().len(), 1, "a timeline of the scheme");
}

#[test]
fn runs_have_the_tables_that_settings_name() {
    let text = format!("{}first_seed = 1\n", TEXT.replace("[sweep]", "sizes = \"hadoop\"\nload = 0.2\n[sweep]"));
    let lab = fanin::Lab::default().without_cache();
    let scenario = fanin::Scenario::parse("scenario.toml", &text).and_then(|scenario| scenario.resolve()).unwrap();
    let library = lab.compare(&scenario, fanin::CompareOptions::default(), &mut |_| {}).unwrap();
    let rows = serde_json::from_str::<Value>(&library.to_json()).unwrap()["rows"].clone();
    assert!(rows[0]["background"]["goodput_mbps"].as_f64().unwrap() > 10.0, "{rows}");
    assert_eq!(compared(&text, 2).0["rows"], rows);
}

#[test]
fn problem_has_line() {
    let problem = Session::default().step("schemes = [\"dctcp\"]\n[link]\nrat = 1\n", 1, false).unwrap_err();
    assert!(problem.to_string().starts_with("scenario.toml:3: "), "{problem}");
    let described: Value = serde_json::from_str(&describe("schemes = [\"dctcp\"]\n[link]\nrat = 1\n")).unwrap();
    assert_eq!(described["problem"]["line"], 3);
}

#[test]
fn other_bytes_are_no_runs_and_no_tables() {
    assert!(run(b"none").is_err());
    assert!(Session::default().take(Vec::new(), b"none").is_err());
}

#[test]
fn values_change_and_comments_stay() {
    let changed = set_value(TEXT, "switch.buffer", "1 MiB").unwrap();
    assert_eq!(changed, TEXT.replace("64 KiB", "1 MiB"));
    let swept = set_value(&changed, "sweep.fan_in", "[2, 4]").unwrap();
    assert!(swept.contains("fan_in = [2, 4]\n"), "{swept}");
    let described: Value = serde_json::from_str(&describe(&swept)).unwrap();
    assert_eq!(described["values"]["switch.buffer"], "1 MiB");
    assert_eq!((&described["values"]["sweep.fan_in"], &described["seeds"]), (&"[2, 4]".into(), &2.into()));
    // Without values, a section goes.
    let none = set_value(&swept, "switch.buffer", "").unwrap();
    assert!(!none.contains("[switch]"), "{none}");
    let other = set_value(&none, "tcp.rto_min", "5 ms").unwrap();
    assert!(other.ends_with("[tcp]\nrto_min = \"5 ms\"\n"), "{other}");
    assert!(set_value("x = ", "link.rate", "1 Gbit/s").is_err());
}

#[test]
fn keys_have_defaults_and_valid_forms() {
    let keys: Value = serde_json::from_str(&keys()).unwrap();
    let docs = fanin_spec::Settings::default().docs();
    assert!(docs.len() > 100 && docs.iter().all(|doc| keys[&doc.path]["usual"] == doc.default.as_str()));
    assert!(keys["workload.kind"]["right"].as_str().unwrap().contains("\"one-shot\""));
}

#[test]
fn large_scenarios_are_left_to_the_program() {
    let large = TEXT.replace("200 ms", "1000 s").replace("1 Gbit/s", "25 Gbit/s");
    let described: Value = serde_json::from_str(&describe(&large)).unwrap();
    assert!(described["too_large"].is_string(), "{described}");
    // Few seeds would fit.
    let many: Value = serde_json::from_str(&describe(&TEXT.replace("seeds = 2", "seeds = 1000000"))).unwrap();
    assert!(many["too_large"].is_string(), "{many}");
    let small: Value = serde_json::from_str(&describe(TEXT)).unwrap();
    assert!(small["too_large"].is_null(), "{small}");
}
