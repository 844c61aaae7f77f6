//! Specs for tests, from a few lines of scenario.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod small;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fanin_placement::{Object, Placement};
use fanin_sim::Departures;
use fanin_simulate::run_with;
use fanin_spec::{FilePath, Kind, Optional, Plan, REGISTRY, RunSpec, Scenario, Scheme, Settings, Variant};
use fanin_tables::RunTables;
use fanin_units::{Bytes, QueueSize};

/// The specs of a scenario's schemes at one fan-in and seed.
pub fn specs(scenario: &str, fan_in: u32, seed: u64) -> Vec<RunSpec> {
    let mut scenario = Scenario::parse("test.toml", scenario).unwrap_or_else(|problem| panic!("{problem}"));
    scenario.assign("--fan-in", &format!("sweep.fan_in=[{fan_in}]")).unwrap_or_else(|problem| panic!("{problem}"));
    let variants = scenario.variants().unwrap_or_else(|problem| panic!("{problem}"));
    variants.iter().map(|variant| variant.run(fan_in, seed).expect("swept over")).collect()
}

/// The spec of a scenario with a single scheme.
pub fn spec(scenario: &str, fan_in: u32, seed: u64) -> RunSpec {
    specs(scenario, fan_in, seed).remove(0)
}

/// A run with these settings, after checking them.
pub fn checked(scheme: Scheme, settings: Settings, fan_in: u32, seed: u64) -> RunSpec {
    let mut settings = settings;
    settings.workload.fan_in = fan_in;
    if scheme.rdma().is_some() {
        // Room for every link's reserve and headroom.
        settings.switch.shared_buffer = Optional(Some(Bytes(32 << 20)));
    }
    if scheme.uet().is_some() {
        // Room for a packet of NDP in each port's own queue.
        settings.switch.shared_buffer = Optional(None);
        settings.switch.buffer = QueueSize::Bytes(settings.in_bytes(settings.switch.buffer).max(20_000));
    }
    let variant = Variant::new(scheme.to_string(), scheme, settings).unwrap_or_else(|what| panic!("{what}"));
    variant.run(fan_in, seed).expect("swept over")
}

/// The same run with other settings.
pub fn but(spec: &RunSpec, change: impl FnOnce(&mut Settings)) -> RunSpec {
    let mut settings = spec.settings.clone();
    change(&mut settings);
    checked(spec.scheme, settings, spec.fan_in, spec.seed)
}

/// Initial placement of a key_value run's objects, before any plan: servers are hosts.
pub fn placement(spec: &RunSpec) -> Placement {
    fanin_assemble::drawn(spec, &fanin_assemble::racks(spec))
}

/// The text of a plan: `moves` maps each object's number and servers to its moves.
pub fn plan_of(spec: &RunSpec, moves: impl Fn(u32, &[u32]) -> Vec<(u32, u32)>) -> String {
    let placement = placement(spec);
    let mut text = "object,from,to,reason\n".to_string();
    for object in 0..placement.objects() as u32 {
        let homes: Vec<u32> = placement.homes(Object(object)).iter().map(|home| home.0).collect();
        for (from, to) in moves(object, &homes) {
            writeln!(text, "{object},{from},{to},popular").expect("a text");
        }
    }
    text
}

/// The same run with a placement that a plan has changed.
pub fn planned(spec: &RunSpec, moves: impl Fn(u32, &[u32]) -> Vec<(u32, u32)>) -> RunSpec {
    let unmoved = with_plan(spec, "object,from,to,reason\n");
    with_plan(spec, &plan_of(&unmoved, moves))
}

/// The same run with a plan's text, which must be valid.
pub fn with_plan(spec: &RunSpec, text: &str) -> RunSpec {
    let planned = but(spec, |s| {
        s.key_value.placement = Optional(Some(FilePath("plan.csv".into())));
        s.inputs.plan = Some(Arc::new(Plan::parse("plan.csv", text).unwrap_or_else(|problem| panic!("{problem}"))));
    });
    fanin_assemble::fits(&planned).unwrap_or_else(|problem| panic!("{problem}"));
    planned
}

pub fn run(spec: &RunSpec) -> RunTables {
    run_as(spec, Departures::Eager)
}

pub fn run_as(spec: &RunSpec, departures: Departures) -> RunTables {
    run_with(spec, departures, &AtomicBool::new(false)).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// Every scheme of the registry that suits a workload: request algorithms suit one workload only.
pub fn schemes(kind: Kind) -> impl Iterator<Item = Scheme> {
    let all = REGISTRY.iter().map(|entry| Scheme::parse(entry.name).unwrap_or_else(|what| panic!("{what}")));
    all.filter(move |scheme| !scheme.is_of_objects() || kind == Kind::KeyValue)
}
