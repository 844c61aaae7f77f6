//! Signals: each is handled on a thread of its own.

use std::fs;
use std::thread;

use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// Handles signals, except those that the parent process set to be ignored, as `nohup` does with SIGHUP.
///
/// # Errors
/// The system refuses a handler.
pub fn on(signals: &[i32], work: impl Fn(i32) + Send + 'static) -> Result<(), Failure> {
    let heeded = signals.iter().copied().filter(|signal| !is_ignored(*signal));
    let mut signals =
        Signals::new(heeded).map_err(|error| Failure::Environment(format!("cannot listen for signals: {error}")))?;
    thread::spawn(move || signals.forever().for_each(work));
    Ok(())
}

fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored & (1 << (signal - 1)) != 0
}
