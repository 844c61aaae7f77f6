//! Whether standard output was closed as the program was started (`fanin list >&-`). The standard library opens the null device in
//! its place before `main` runs, and whatever is written is gone without an error: so it is looked at before that.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// What the loader calls before anything else of this program.
#[used]
#[expect(unsafe_code, reason = "a place among what is called before `main` has no other name")]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // A copy can be made of any descriptor that there is.
    CLOSED.store(io::stdout().as_fd().try_clone_to_owned().is_err(), Ordering::Relaxed);
}

/// The error that a write to standard output would have met.
pub fn check() -> io::Result<()> {
    match CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::new(io::ErrorKind::NotConnected, "it is closed")),
        false => Ok(()),
    }
}
