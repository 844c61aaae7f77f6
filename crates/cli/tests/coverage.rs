//! How often the intervals of three seeds hold the mean that many seeds give, on five of the bundled scenarios.

mod support;

use std::fs;
use std::sync::atomic::AtomicBool;
use std::thread;

use fanin_lab::plan;
use fanin_lab::stats::{bounded_interval, mean};
use fanin_spec::{RunSpec, Scenario};
use support::root;

/// Points at which goodput hangs on the seed: a scenario, a scheme, a fan-in.
const POINTS: [(&str, &str, u32); 5] = [
    ("fixed-fragment", "newreno", 8),
    ("fixed-fragment", "dctcp", 64),
    ("web-search", "dctcp", 32),
    ("two-racks", "newreno", 16),
    ("incast-with-background", "newreno", 16),
];
const SEEDS: u32 = 300;

fn specs(scenario: &str, scheme: &str, fan_in: u32) -> Vec<RunSpec> {
    let name = format!("scenarios/{scenario}.toml");
    let text = fs::read_to_string(root().join(&name)).unwrap();
    let mut scenario = Scenario::parse(&name, &text).unwrap();
    for set in [format!("sweep.fan_in=[{fan_in}]"), format!("run.seeds={SEEDS}")] {
        scenario.assign("--set", &set).unwrap();
    }
    scenario.select(&[scheme]).unwrap();
    plan(&scenario.contenders().unwrap())
}

/// Goodputs in the order of seeds.
fn goodputs(specs: &[RunSpec]) -> Vec<f64> {
    let goodput = |spec: &RunSpec| fanin_sim::run(spec, &AtomicBool::new(false)).unwrap().goodput_mbps();
    thread::scope(|scope| {
        let (one, other) = specs.split_at(specs.len() / 2);
        let other = scope.spawn(|| other.iter().map(goodput).collect::<Vec<_>>());
        let mut all: Vec<f64> = one.iter().map(goodput).collect();
        all.extend(other.join().unwrap());
        all
    })
}

#[test]
fn nine_intervals_in_ten_hold_the_mean_and_none_leaves_what_is_possible() {
    for (scenario, scheme, fan_in) in POINTS {
        let specs = specs(scenario, scheme, fan_in);
        let line_mbps = specs[0].settings.line_rate(fan_in) as f64 / 1e6;
        let all = goodputs(&specs);
        let truth = mean(&all).unwrap();
        let intervals: Vec<_> = all.chunks(3).map(|three| bounded_interval(three, line_mbps).unwrap()).collect();
        let hold = intervals.iter().filter(|i| i.lo <= truth && truth <= i.hi).count();
        let share = hold as f64 / intervals.len() as f64;
        assert!(share >= 0.9, "{scenario}, {scheme} at {fan_in}: {share}");
        assert!(intervals.iter().all(|i| i.lo >= 0.0 && i.hi <= line_mbps && i.lo <= i.mean && i.mean <= i.hi));
    }
}
