//! Stopping the proxy and the agent.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::failure::Failure;
use crate::signals::on;

static STOP: AtomicBool = AtomicBool::new(false);

/// Handles Ctrl-C and SIGTERM: the first one requests a stop, the second ends the program.
pub(crate) fn on_stop() -> Result<(), Failure> {
    on(&[SIGINT, SIGTERM], |signal| {
        if STOP.swap(true, Relaxed) {
            process::exit(128 + signal);
        }
    })
}

/// Whether a stop was requested.
pub(crate) fn has_stopped() -> bool {
    STOP.load(Relaxed)
}
