//! Stopping a command: the first Ctrl-C, SIGTERM or SIGHUP makes it end with the finished runs, the second ends it immediately. For
//! commands with all-or-nothing results, the first one ends it immediately. No unfinished files remain in either case.

use std::fs;
use std::io::Write;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::signal;

/// Whether a stop was requested.
pub static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Whether the first signal ends the program immediately.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Installs signal handlers whose first signal ends the program, for a command with all-or-nothing results.
pub fn end_at_once() -> Result<(), Failure> {
    AT_ONCE.store(true, Ordering::Relaxed);
    listen()
}

/// Installs signal handlers; before this, signals have their default effect.
pub fn listen() -> Result<(), Failure> {
    listen_to(&[SIGINT, SIGTERM, SIGHUP])
}

/// Installs handlers for these signals only.
pub fn listen_to(signals: &[i32]) -> Result<(), Failure> {
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    let listening = LISTENING.get_or_init(|| on(signals, hear));
    listening.clone().map_err(not_heard)
}

/// Runs this on a signal instead of ending the program.
pub fn on_signal(signal: i32, work: impl Fn() + Send + 'static) -> Result<(), Failure> {
    on(&[signal], move |_| work()).map_err(not_heard)
}

fn on(signals: &[i32], work: impl Fn(i32) + Send + 'static) -> Result<(), String> {
    let heeded = signals.iter().copied().filter(|signal| !is_ignored(*signal));
    let mut signals = Signals::new(heeded).map_err(|error| error.to_string())?;
    thread::spawn(move || signals.forever().for_each(work));
    Ok(())
}

fn not_heard(error: String) -> Failure {
    Failure::Environment(format!("cannot listen for signals: {error}"))
}

fn hear(heard: i32) {
    let again = STOP.swap(true, Ordering::Relaxed);
    signal::set(heard);
    if again || AT_ONCE.load(Ordering::Relaxed) {
        fanin::clean_up();
        // There is nowhere to report a failure of this.
        let _ = writeln!(anstream::stderr(), "stopped by {}", signal::name());
        process::exit(signal::exit_code().into());
    }
}

/// Whether the parent process set a signal to be ignored, as `nohup` does with SIGHUP.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored & (1 << (signal - 1)) != 0
}
