//! Prints the forecast of a comparison beside its cost: seconds of CPU time, and bytes of memory. `make estimates` runs it.

use std::num::NonZeroUsize;
use std::{env, fs};

use fanin::{CompareOptions, Error, Forecast, Lab, Scenario, Update};

/// Largest memory of this process so far, in bytes; 0 if the system does not say.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().unwrap_or_default();
    let text = fs::read_to_string(&path).map_err(|error| Error::Asked(format!("{path}: {error}")))?;
    let mut scenario = Scenario::parse(&path, &text)?;
    for assignment in arguments {
        scenario.set(&assignment)?;
    }
    let scenario = scenario.resolve()?;
    let (before, mut first) = (peak(), None::<Forecast>);
    let lab = Lab::default().jobs(NonZeroUsize::MIN).without_cache();
    let comparison = lab.compare(&scenario, CompareOptions::default(), &mut |update| {
        if let Update::Forecast(forecast) = update {
            first = first.or(Some(forecast));
        }
    })?;
    let forecast = first.unwrap_or_default();
    let took: f64 = comparison.outcome().runs.iter().flatten().map(|done| done.cpu.as_secs_f64()).sum();
    println!("{} {took} {} {}", forecast.time.as_secs_f64(), forecast.bytes, peak() - before);
    Ok(())
}
