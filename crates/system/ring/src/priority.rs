//! Priority of threads.

use nix::libc;

/// Lowest priority of the usual scheduling policy.
const LOWEST: libc::c_int = 19;

/// Gives the calling thread, and threads that it starts, the lowest priority.
pub fn lower_priority() {
    // SAFETY: it only passes numbers; 0 is the calling thread in Linux. A lower priority is always permitted.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowers_only_its_own_thread() {
        let nice = || {
            // SAFETY: as above.
            unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
        };
        let before = nice();
        let lowered = std::thread::spawn(move || {
            lower_priority();
            nice()
        });
        assert_eq!((lowered.join().unwrap(), nice()), (LOWEST, before));
    }
}
