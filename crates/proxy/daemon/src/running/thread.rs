//! Main loop of a thread: connects sockets, clock and front end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fanin_proxy_core::clock::{Clock, duration};
use fanin_proxy_front::Front;
use fanin_proxy_net::secure::Secure;
use fanin_proxy_net::sockets::Sockets;
use fanin_proxy_observe::metrics::Counters;

/// Pause before a restart.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs until stopped and all requests are answered.
pub fn run(mut front: Front<Secure<Sockets>>, counters: &Counters) -> io::Result<()> {
    let (clock, mut events) = (Clock::start(), Vec::new());
    front.turn(clock.now(), std::iter::empty());
    while !front.is_over() {
        let longest = front.waits().map(duration);
        front.net().wait(longest, &mut events)?;
        let begun = clock.now();
        counters.pulse.begins();
        let delay = front.turn(begun, events.drain(..));
        let ended = clock.now();
        front.has_turned(ended);
        counters.pulse.ends();
        if let Some(iterations) = &counters.iterations {
            iterations.add(ended - begun);
        }
        if delay > 0 {
            counters.naps.add(1);
            front.net().submit()?;
            let from = clock.now();
            std::thread::sleep(duration(delay));
            let to = clock.now();
            front.has_delayed(to, to - from);
        }
    }
    Ok(())
}

/// Restarts a thread's work after a panic: its own clients are closed, other threads are unaffected.
pub fn restart_on_panic(counters: &Counters, mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match catch_unwind(AssertUnwindSafe(&mut work)) {
            Ok(result) => return result,
            Err(_) => {
                counters.threads_restarted.add(1);
                // Limit the CPU time of a thread that panics immediately.
                std::thread::sleep(PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_and_counts_panicked_threads() {
        let counters = Counters::default();
        let mut times = 0;
        let result = restart_on_panic(&counters, || {
            times += 1;
            assert!(times > 3, "meant to panic");
            Err(io::Error::other("over"))
        });
        assert_eq!((times, counters.threads_restarted.get()), (4, 3));
        assert_eq!(result.unwrap_err().to_string(), "over");
    }
}
