//! Compares two schemes on a rack of one's own, for ten seconds at most, and says which moves more where both have been run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanin::{CompareOptions, Error, Lab, Scenario, Update};

const RACK: &str = r#"
schemes = ["cubic", "dctcp"]
[link]
rate = "10 Gbit/s"
[tcp]
profile = "linux"
[workload]
fragment = "64 KiB"
duration = "200 ms"
[sweep]
fan_in = [8, 16, 32, 64]
"#;

fn main() -> Result<(), Error> {
    let rack = Scenario::parse("rack.toml", RACK)?.resolve()?;
    let stop = Arc::new(AtomicBool::new(false));
    let lab = Lab::default().stopped_by(Arc::clone(&stop));
    let comparison = lab.compare(&rack, CompareOptions::default(), &mut |update| match update {
        Update::Progress(at) if at.elapsed > Duration::from_secs(10) => stop.store(true, Ordering::Relaxed),
        Update::Warning(text) | Update::Notice(text) => eprintln!("{text}"),
        _ => {}
    })?;
    for finding in comparison.findings() {
        println!("{} {}. {}", finding.scheme.as_deref().unwrap_or_default(), finding.head, finding.says);
    }
    Ok(())
}
