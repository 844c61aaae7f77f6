//! Forecast of a comparison's time and memory; refuses one that does not fit into memory.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use fanin_lab::Runner;
use fanin_lab::figures::bytes;
use fanin_spec::{Need, Scheme, Settings, Variant, what_would_fit};

/// Estimated cost of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Runs; with `--precision`, the first ones.
    pub runs: u64,
    /// Wall time without cached runs.
    pub time: Duration,
    /// Bytes of memory if no round stalls.
    pub bytes: f64,
    /// Bytes of memory if all rounds stall.
    pub least_bytes: f64,
    /// Free bytes, if known.
    pub free: Option<u64>,
}

impl Forecast {
    /// Whether it may need more memory than is free.
    pub fn is_tight(&self) -> bool {
        self.free.is_some_and(|free| self.bytes > free as f64)
    }
}

/// Forecast for these schemes, with this many runs at once.
///
/// # Errors
/// They do not fit into `memory`; names a setting that would.
pub fn forecast(
    runner: &dyn Runner,
    jobs: NonZeroUsize,
    variants: &[Variant],
    memory: Option<u64>,
) -> Result<Forecast, String> {
    let points = variants.iter().flat_map(|c| c.points.iter().map(|at| (&c.scheme, &at.settings)));
    let forecast = Forecast { free: memory, ..of(runner, jobs, points) };
    let Some(memory) = memory.filter(|&memory| forecast.least_bytes > memory as f64) else { return Ok(forecast) };
    // A size that fits leaves no doubt, so that it is not tight either. The first scheme's points stand for those of all.
    let fits = |first: &[Settings]| {
        let points = variants.iter().flat_map(|c| first.iter().map(|settings| (&c.scheme, settings)));
        of(runner, jobs, points).bytes <= memory as f64
    };
    let first: Vec<Settings> = variants.iter().take(1).flat_map(|c| &c.points).map(|at| at.settings.clone()).collect();
    let advice = match what_would_fit(&first, &fits) {
        Some((key, value)) => format!("reduce `{key}` to {value}, or other sizes"),
        None => "reduce the comparison".into(),
    };
    Err(format!(
        "{} runs need at least {} of memory, but {} are free: {advice}",
        forecast.runs,
        bytes(forecast.least_bytes),
        bytes(memory as f64)
    ))
}

fn of<'a>(
    runner: &dyn Runner,
    jobs: NonZeroUsize,
    points: impl Iterator<Item = (&'a Scheme, &'a Settings)>,
) -> Forecast {
    let mut forecast = Forecast::default();
    let (mut cpu_s, mut working, mut least_working) = (0.0, 0.0f64, 0.0f64);
    for (scheme, settings) in points {
        let seeds = settings.run.seeds;
        let Need { memory, least, cpu_s: run_s } = runner.need(scheme, settings);
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

/// Bytes of memory available to this program: free memory, limited by its control groups and by its limit of address space. `None` if the
/// system does not say.
pub fn free_memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024);
    let groups = fs::read_to_string("/proc/self/cgroup").ok();
    let own = groups.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("0::/"))).unwrap_or("");
    let folder = Path::new("/sys/fs/cgroup").join(own);
    let limits = folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup"));
    let groups = limits.filter_map(|folder| fs::read_to_string(folder.join("memory.max")).ok()?.trim().parse().ok());
    Some(groups.chain(free_addresses()).fold(free, u64::min))
}

/// Bytes of address space that this program may still use (`ulimit -v`); `None` without a limit.
fn free_addresses() -> Option<u64> {
    let (limits, used) = (fs::read_to_string("/proc/self/limits").ok()?, fs::read_to_string("/proc/self/status").ok()?);
    let most = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?;
    let used = used.lines().find_map(|line| line.strip_prefix("VmSize:"))?.split_whitespace().next()?;
    Some(most.parse::<u64>().ok()?.saturating_sub(used.parse::<u64>().ok()?.saturating_mul(1024)))
}
