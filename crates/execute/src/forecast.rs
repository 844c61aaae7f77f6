//! What a comparison will take, told before it is begun; one that cannot fit into the memory is refused.

use std::fs;
use std::num::NonZeroUsize;
use std::time::Duration;

use fanin_lab::Runner;
use fanin_lab::figures::bytes;
use fanin_spec::{Need, Settings, Variant, what_would_fit};

/// What a comparison takes, roughly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Runs; with `--precision` the first ones.
    pub runs: u64,
    /// Wall time, if nothing is kept from before.
    pub time: Duration,
    /// Bytes of memory, where no round stalls.
    pub bytes: f64,
    /// And where all do.
    pub least_bytes: f64,
    /// Bytes that are free, where that is known.
    pub free: Option<u64>,
}

impl Forecast {
    /// Whether it may take more memory than is free.
    pub fn is_tight(&self) -> bool {
        self.free.is_some_and(|free| self.bytes > free as f64)
    }
}

/// What these schemes' runs take, so many at once.
///
/// # Errors
/// They cannot fit into `memory`; what would.
pub fn forecast(
    runner: &dyn Runner,
    jobs: NonZeroUsize,
    variants: &[Variant],
    memory: Option<u64>,
) -> Result<Forecast, String> {
    let of_all = |points: &mut dyn Iterator<Item = &Settings>| of(runner, jobs, points);
    let forecast = of_all(&mut variants.iter().flat_map(|c| &c.points).map(|at| &at.settings));
    let forecast = Forecast { free: memory, ..forecast };
    let Some(memory) = memory.filter(|&memory| forecast.least_bytes > memory as f64) else { return Ok(forecast) };
    let fits = |first: &[Settings]| {
        // All schemes have the first one's size: they rarely differ in it.
        of_all(&mut variants.iter().flat_map(|_| first)).least_bytes <= memory as f64
    };
    let first: Vec<Settings> = variants.iter().take(1).flat_map(|c| &c.points).map(|at| at.settings.clone()).collect();
    let advice = match what_would_fit(&first, &fits) {
        Some((key, value)) => format!("`{key}` of {value} would fit, where all else stays as it is"),
        None => "lower what is compared".into(),
    };
    Err(format!(
        "{} runs need {} of memory at the least, and {} are free: {advice}",
        forecast.runs,
        bytes(forecast.least_bytes),
        bytes(memory as f64)
    ))
}

fn of(runner: &dyn Runner, jobs: NonZeroUsize, points: &mut dyn Iterator<Item = &Settings>) -> Forecast {
    let mut forecast = Forecast::default();
    let (mut cpu_s, mut working, mut least_working) = (0.0, 0.0f64, 0.0f64);
    for settings in points {
        let seeds = settings.run.seeds;
        let Need { memory, least, cpu_s: run_s } = runner.need(settings);
        forecast.runs += u64::from(seeds);
        cpu_s += f64::from(seeds) * run_s;
        forecast.bytes += f64::from(seeds) * memory.kept;
        forecast.least_bytes += f64::from(seeds) * least.kept;
        (working, least_working) = (working.max(memory.working), least_working.max(least.working));
    }
    let at_once = (jobs.get() as f64).min(forecast.runs as f64);
    forecast.time = Duration::try_from_secs_f64(cpu_s / at_once.max(1.0)).unwrap_or(Duration::MAX);
    forecast.bytes += at_once * working;
    forecast.least_bytes += at_once * least_working;
    forecast
}

/// Bytes of memory that programs may have: what the system says is free, and no more than their group's bound. `None` where
/// the system does not say.
pub fn free_memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024);
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|most| most.trim().parse().ok());
    Some(group.map_or(free, |most: u64| most.min(free)))
}
