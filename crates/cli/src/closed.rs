//! Detection of a closed standard output at start (`fanin list >&-`). Before `main`, the standard library replaces it by the null
//! device, which would hide write errors, so the check runs earlier.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the loader before the rest of the program.
#[used]
#[expect(unsafe_code, reason = "the only way to run code before `main`")]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // Duplicating an open descriptor succeeds.
    CLOSED.store(io::stdout().as_fd().try_clone_to_owned().is_err(), Ordering::Relaxed);
}

/// The error that a write to standard output would have returned.
pub fn check() -> io::Result<()> {
    match CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::new(io::ErrorKind::NotConnected, "standard output is closed")),
        false => Ok(()),
    }
}
