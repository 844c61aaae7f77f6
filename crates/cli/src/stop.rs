//! Stopping a command: the first Ctrl-C, SIGTERM or SIGHUP makes it end with the finished runs, the second ends it immediately. For
//! commands with all-or-nothing results, the first one ends it immediately. No unfinished files remain in either case.

use std::io::Write;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use fanin_proxy::signals;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

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
    static LISTENING: OnceLock<Result<(), fanin_proxy::Failure>> = OnceLock::new();
    Ok(LISTENING.get_or_init(|| signals::on(&[SIGINT, SIGTERM, SIGHUP], hear)).clone()?)
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
