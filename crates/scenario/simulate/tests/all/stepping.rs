//! A run in steps equals an uninterrupted run, and adds up at any time.

use std::sync::atomic::AtomicBool;

use crate::common::small::{all_schemes, settings};
use crate::common::{run, spec};
use fanin_sim::TapPoint;
use fanin_simulate::{begin, begin_tapped, begin_watched, tap, watch};
use fanin_spec::{RunSpec, Watch};
use fanin_tables::RunTables;
use fanin_units::Time;
use proptest::prelude::*;

const INCAST: &str = r#"
    schemes = ["dctcp"]
    [workload]
    fragment = "64 KiB"
    duration = "200 ms"
"#;

/// Times of a run's stops, from spans in nanoseconds that repeat.
fn stops(spans_ns: &[u32]) -> impl Iterator<Item = Time> {
    spans_ns.iter().cycle().scan(Time::ZERO, |at, &span| {
        *at += Time(u64::from(span) * 1_000);
        Some(*at)
    })
}

/// A run that is inspected after every step, for at most 60 steps.
fn stepped(spec: &RunSpec, spans_ns: &[u32]) -> Result<RunTables, TestCaseError> {
    let mut simulation = begin(spec);
    for stop in stops(spans_ns).take(60) {
        simulation.until(stop);
        prop_assert!(simulation.is_done() || simulation.now() == stop, "at {} of {stop}", simulation.now());
        let t = simulation.totals();
        prop_assert_eq!(t.injected_packets, t.delivered_packets + t.drops + t.in_flight_packets, "{}", spec.label);
    }
    simulation.until(Time::NEVER);
    prop_assert!(simulation.is_done());
    Ok(simulation.finish().unwrap_or_else(|failure| panic!("{failure:?}")))
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..fanin_testing::cases(12) })]

    #[test]
    fn any_steps_give_the_tables_of_one_run(
        (settings, fan_in) in settings(),
        seed: u64,
        ports: bool,
        spans_ns in prop::collection::vec(prop_oneof![0u32..2_000, 0u32..2_000_000], 1..8),
    ) {
        let mut settings = settings;
        settings.measure.ports = ports;
        for spec in all_schemes(&settings, fan_in, seed) {
            prop_assert_eq!(stepped(&spec, &spans_ns)?, run(&spec), "{}", spec.label);
        }
    }

    #[test]
    fn interrupted_run_conserves_packets(
        (settings, fan_in) in settings(),
        seed: u64,
        at_us in 0u64..20_000,
    ) {
        for spec in all_schemes(&settings, fan_in, seed) {
            let mut simulation = begin(&spec);
            simulation.until(Time::from_micros(at_us));
            let (so_far, now) = (simulation.totals(), simulation.now());
            let tables = simulation.finish().unwrap_or_else(|failure| panic!("{failure:?}"));
            prop_assert_eq!(&tables.totals, &so_far, "{}", spec.label);
            prop_assert!(tables.flows.iter().all(|flow| flow.fct_ps.is_none_or(|fct| fct <= now.0)), "{}", spec.label);
        }
    }
}

#[test]
fn now_is_the_requested_time() {
    let spec = spec(INCAST, 8, 1);
    let mut simulation = begin(&spec);
    assert_eq!((simulation.now(), simulation.is_done()), (Time::ZERO, false));
    simulation.until(Time(12_345_678));
    assert_eq!(simulation.now(), Time(12_345_678));
    simulation.until(Time(5));
    assert_eq!(simulation.now(), Time(12_345_678), "time does not go back");
    assert!(!simulation.is_done());
    simulation.until(Time::from_millis(1_000));
    assert!(simulation.is_done() && simulation.now() < Time::from_millis(1_000));
    let end = simulation.now();
    simulation.until(Time::NEVER);
    assert_eq!(simulation.now(), end);
    assert_eq!(simulation.finish(), Ok(run(&spec)));
}

#[test]
fn stopped_run_can_continue() {
    let spec = spec(INCAST, 8, 1);
    let mut simulation = begin(&spec);
    assert_eq!(simulation.run(&AtomicBool::new(true)), Err(fanin_tables::RunError::Stopped));
    assert!(!simulation.is_done());
    assert_eq!(simulation.run(&AtomicBool::new(false)), Ok(()));
    assert_eq!(simulation.finish(), Ok(run(&spec)));
}

#[test]
fn watched_and_tapped_runs_can_step() {
    let (spec, never) = (spec(INCAST, 8, 1), AtomicBool::new(false));
    let all = Watch { step: Time::from_micros(50), from: Time::ZERO, to: Time::NEVER, servers: vec![0, 3] };
    let mut watched = begin_watched(&spec, all.clone());
    let point = TapPoint::Port("switch>client".into());
    let mut tapped = begin_tapped(&spec, &point).unwrap_or_else(|| panic!("no such port"));
    let mut caught = Vec::new();
    for stop in stops(&[30_000, 700_001]).take(20) {
        watched.until(stop);
        tapped.until(stop);
        caught.extend(tapped.caught());
    }
    watched.until(Time::NEVER);
    tapped.until(Time::NEVER);
    caught.extend(tapped.caught());
    assert_eq!(watched.finish(), watch(&spec, all, &never));
    let tables = tapped.finish().unwrap_or_else(|failure| panic!("{failure:?}"));
    assert!(caught.len() > 1_000);
    assert_eq!(Ok(Some((tables, caught))), tap(&spec, &point, &never));
}
