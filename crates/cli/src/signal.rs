//! The signal that stopped the command.

use std::sync::atomic::{AtomicI32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static SIGNAL: AtomicI32 = AtomicI32::new(SIGINT);

/// Records it.
pub fn set(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
}

/// Its name.
pub fn name() -> &'static str {
    match SIGNAL.load(Ordering::Relaxed) {
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "Ctrl-C",
    }
}

/// Exit code of a stopped command, by shell convention.
pub fn exit_code() -> u8 {
    128 + SIGNAL.load(Ordering::Relaxed) as u8
}
