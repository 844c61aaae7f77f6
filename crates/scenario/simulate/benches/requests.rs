//! Cost of requests for many objects, at the settings of `papers/sicc`: `make bench-requests`.
//!
//! Reports peak memory with 150,000 servers and 50,000 objects per request for each scheme of the paper's figure, then the time to
//! simulate a request for 1,000 objects with SICC among 3,000 servers, including setup.
#![expect(clippy::disallowed_methods, reason = "it measures time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use common::{but, checked, run};
use fanin_spec::{RunSpec, Scenario, Scheme, Variant};

const SCALE: &str = include_str!("../../../../papers/sicc/scale.toml");
const QUERIES: &str = include_str!("../../../../papers/sicc/queries.toml");

/// Limits.
const MOST_BYTES: u64 = 4_000_000_000;
const MOST_TIME: Duration = Duration::from_millis(10);

const RUNS: usize = 11;
const REQUESTS: u32 = 50;

fn main() -> ExitCode {
    // The peak is the process's: start with the run that takes most.
    let memory = variants(SCALE).iter().all(|variant| holds(&last(variant)));
    let time = is_fast(&last(&variants(QUERIES)[0]));
    if memory && time { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn variants(text: &str) -> Vec<Variant> {
    let scenario = Scenario::parse("scenario.toml", text).unwrap_or_else(|problem| panic!("{problem}"));
    scenario.variants().unwrap_or_else(|problem| panic!("{problem}"))
}

/// The first seed's run of the largest request.
fn last(variant: &Variant) -> RunSpec {
    variant.at(variant.fan_ins().len() - 1, 1).expect("a point of the sweep")
}

/// Run it and print the process's peak memory so far; whether that is within the limit.
fn holds(spec: &RunSpec) -> bool {
    black_box(run(spec));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let Some(kib) = peak else {
        println!("{:<13} memory is not looked at: this system has no VmHWM in /proc/self/status", spec.label);
        return true;
    };
    let (bytes, objects) = (kib << 10, spec.settings.key_value.per_request);
    println!("{:<13} {} servers, {objects} objects: {} MB at its peak", spec.label, spec.fan_in, bytes / 1_000_000);
    let within = bytes <= MOST_BYTES;
    if !within {
        println!("  over the {} MB that are to hold", MOST_BYTES / 1_000_000);
    }
    within
}

/// Print the median time of a request with SICC; whether it is within the limit.
fn is_fast(spec: &RunSpec) -> bool {
    let scheme = Scheme::parse("sicc").expect("a scheme");
    let spec = checked(scheme, spec.settings.clone(), spec.fan_in, spec.seed);
    let spec = but(&spec, |settings| settings.workload.queries = REQUESTS);
    let mut taken: Vec<Duration> = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let began = Instant::now();
        black_box(run(&spec));
        taken.push(began.elapsed() / REQUESTS);
    }
    taken.sort_unstable();
    let (median, objects) = (taken[RUNS / 2], spec.settings.key_value.per_request);
    println!(
        "{:<13} {objects} objects: {} us a request, at best {} us",
        spec.label,
        median.as_micros(),
        taken[0].as_micros()
    );
    if median > MOST_TIME {
        println!("  over the {} us that are to hold", MOST_TIME.as_micros());
    }
    median <= MOST_TIME
}
