//! Scopes of keys in the reference: the named workloads use a key, and the others ignore it.

use crate::common::run;
use fanin_spec::{Kind, Scenario, Settings};
use fanin_tables::RunTables;
use fanin_testing::chakra;

const BASE: &str = r#"
    schemes = ["newreno"]
    [workload]
    fragment = "64 KiB"
    duration = "100 ms"
    queries = 3
    clients = 2
"#;

/// The tables of a workload with one key set; `None` if the scenario is refused.
fn tables(kind: Kind, set: Option<String>) -> Option<RunTables> {
    let mut scenario = Scenario::parse("test.toml", BASE).unwrap();
    // Keys that one kind requires and the others do not use.
    let needs = match kind {
        Kind::Flows => vec!["workload.file=a.csv".to_string()],
        Kind::Bursts => vec!["workload.bursts=bursts.csv".into()],
        Kind::AllReduce => vec!["workload.algorithm=tree".into()],
        Kind::Pulls => vec!["workload.pulls=pulls.csv".into()],
        Kind::Trace => ["workload.file=\"{0..4}.et\"", "workload.algorithm=tree"].map(String::from).into(),
        Kind::Poisson => vec!["workload.load=0.3".into()],
        // A job that reaches its fetches.
        Kind::MapReduce => {
            ["workload.duration=60 s", "mapreduce.input=1 MB", "mapreduce.maps=4"].map(String::from).into()
        }
        Kind::KeyValue => ["key_value.objects=200", "key_value.per_request=50"].map(String::from).into(),
        _ => Vec::new(),
    };
    let base = [format!("workload.kind={}", kind.word()), "sweep.fan_in=[4]".into()];
    for assignment in base.into_iter().chain(needs).chain(set) {
        scenario.assign("--set", &assignment).unwrap();
    }
    let file = |path: &str| {
        if path.contains("bursts") {
            let gap = if path == "bursts.csv" { 3_000 } else { 5_000 };
            return Ok((path.to_string(), format!("gap_us,fan_in,bytes\n{gap},3,90000\n").into()));
        }
        let bytes = if path.starts_with("other") { 30_000 } else { 20_000 };
        if path.contains("matrix") {
            return Ok((
                path.to_string(),
                format!("src,dst,bytes\n0,1,{bytes}\n0,2,{bytes}\n0,3,{bytes}\n4,0,{bytes}\n").into(),
            ));
        }
        if path.contains("pulls") {
            let pull = |number, from| format!("{number},5,{from},0,{bytes}\n");
            return Ok((
                path.to_string(),
                format!("pull,start_us,src,dst,bytes\n{}{}{}", pull(0, 1), pull(0, 2), pull(1, 4)).into(),
            ));
        }
        if path.ends_with(".et") {
            let compute = chakra::node(1, chakra::COMPUTE, &[], 5, &[], None);
            let reduce = [("comm_type", 0), ("comm_size", bytes)];
            let reduce = chakra::node(2, chakra::COLLECTIVE, &[1], 0, &reduce, None);
            return Ok((path.to_string(), chakra::file(&[compute, reduce])));
        }
        Ok((path.to_string(), format!("src,dst,bytes,start_us\n1,0,{bytes},0\n2,0,20000,0\n3,4,20000,0\n").into()))
    };
    let variant = scenario.variants_with(&file).ok()?.remove(0);
    Some(run(&variant.run(4, 1)?))
}

/// A value that differs from the current one.
fn other(path: &str, kind: Kind) -> &'static str {
    match path {
        "workload.connections" if kind.facts().stands => "new",
        "workload.connections" => "standing",
        "host.service_time" | "host.service_jitter" => "300 us",
        "workload.fragment" => "32 KiB",
        "workload.clients" => "3",
        "workload.servers" => "own",
        "workload.bursts" => "other-bursts.csv",
        "workload.algorithm" => "halving-doubling",
        "workload.chunk" => "1 KiB",
        "workload.bytes_in_flight" => "30 KB",
        "workload.matrix" => "matrix.csv",
        "workload.pulls" => "other-pulls.csv",
        "workload.block" => "64 KiB",
        "workload.request" => "1 KiB",
        "workload.start_jitter" | "workload.request_gap" => "100 us",
        "workload.pairs" => "0.5",
        "workload.warm_up" | "workload.pause" => "1 ms",
        "workload.queries" | "workload.in_flight" | "workload.streams" | "workload.stripe" => "2",
        _ => panic!("give {path} a value here that is not its default"),
    }
}

#[test]
fn scoped_keys_affect_their_workloads() {
    // no_effect.rs tests sections of a single workload.
    let own = ["mapreduce", "key_value", "bursts"];
    let here = |doc: &fanin_spec::KeyDoc| !doc.workloads.is_empty() && !own.contains(&doc.section());
    let scoped: Vec<_> = Settings::default().docs().into_iter().filter(here).collect();
    assert!(scoped.len() >= 7, "only {} keys name their workloads", scoped.len());
    for (kind, _) in Kind::all() {
        let Some(plain) = tables(kind, None) else { continue };
        for doc in &scoped {
            let changed = tables(kind, Some(format!("{}={}", doc.path, other(&doc.path, kind))));
            let moves = changed.is_some_and(|changed| changed != plain);
            let word = kind.word();
            assert_eq!(moves, doc.workloads.contains(&word), "{} under {word}, by its declaration", doc.path);
        }
    }
}
