//! How a command is stopped: the first Ctrl-C, SIGTERM or SIGHUP asks it to end with what has finished, the second ends it at
//! once. Either way nothing unfinished is left behind.

use std::fs;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// Whether it is to end.
pub static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// The signal that asked for it.
static SIGNAL: AtomicI32 = AtomicI32::new(SIGINT);

/// From here on signals are listened for; before, they end the program as they always do.
pub fn listen() -> Result<(), Failure> {
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    let listening = LISTENING.get_or_init(|| {
        let heeded = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let mut signals = Signals::new(heeded).map_err(|error| error.to_string())?;
        thread::spawn(move || signals.forever().for_each(hear));
        Ok(())
    });
    listening.clone().map_err(|error| Failure::Environment(format!("signals cannot be listened for: {error}")))
}

fn hear(signal: i32) {
    if STOP.swap(true, Ordering::Relaxed) {
        fanin::clean_up();
        process::exit(code(signal).into());
    }
    SIGNAL.store(signal, Ordering::Relaxed);
}

/// Whether whoever started this wants a signal to be ignored, as `nohup` does with SIGHUP.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored & (1 << (signal - 1)) != 0
}

/// What stopped it, for people.
pub fn what() -> &'static str {
    match SIGNAL.load(Ordering::Relaxed) {
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "Ctrl-C",
    }
}

/// The exit code of a stopped command, as shells have it.
pub fn exit_code() -> u8 {
    code(SIGNAL.load(Ordering::Relaxed))
}

fn code(signal: i32) -> u8 {
    128 + signal as u8
}
