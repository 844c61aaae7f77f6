//! What the reference says of keys and workloads: those that it names look at a key, and the others do not.

mod common;

use common::run;
use fanin_spec::{Kind, RunSpec, RunTables, Scenario, Settings};

const BASE: &str = r#"
    schemes = ["newreno"]
    [workload]
    fragment = "64 KiB"
    duration = "100 ms"
    queries = 3
"#;

/// The tables under a workload with one key set; `None` where the scenario is refused.
fn tables(kind: Kind, set: Option<String>) -> Option<RunTables> {
    let mut scenario = Scenario::parse("test.toml", BASE).unwrap();
    for assignment in
        [Some(format!("workload.kind={}", kind.word())), Some("sweep.fan_in=[4]".into()), set].into_iter().flatten()
    {
        scenario.assign("--set", &assignment).unwrap();
    }
    let contender = scenario.contenders().ok()?.remove(0);
    let (label, scheme, settings) = (contender.label, contender.scheme, contender.settings);
    Some(run(&RunSpec { label, scheme, settings, fan_in: 4, seed: 1 }))
}

/// A value that differs from the one in use.
fn other(path: &str) -> &'static str {
    match path {
        "host.service_time" | "host.service_jitter" => "300 us",
        "workload.fragment" => "32 KiB",
        "workload.block" => "64 KiB",
        "workload.request" => "1 KiB",
        "workload.queries" | "workload.in_flight" => "2",
        _ => panic!("give {path} a value here that is not its default"),
    }
}

#[test]
fn a_key_that_names_its_workloads_moves_those_and_no_other() {
    let scoped: Vec<_> = Settings::default().docs().into_iter().filter(|doc| !doc.workloads.is_empty()).collect();
    assert!(scoped.len() >= 7, "only {} keys name their workloads", scoped.len());
    for (kind, _) in Kind::all() {
        let Some(plain) = tables(kind, None) else { continue };
        for doc in &scoped {
            let changed = tables(kind, Some(format!("{}={}", doc.path, other(&doc.path))));
            let moves = changed.is_some_and(|changed| changed != plain);
            let word = kind.word();
            assert_eq!(moves, doc.workloads.contains(&word), "{} under {word}, by its declaration", doc.path);
        }
    }
}
