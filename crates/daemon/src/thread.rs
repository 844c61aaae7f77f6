//! A thread's loop: the one place where sockets, the clock and a front end meet.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::clock::{Clock, duration};
use crate::counters::Counters;
use crate::front::Front;
use crate::sockets::Sockets;

/// Before a thread begins anew.
const PAUSE: Duration = Duration::from_millis(100);

/// Goes on until it is told to stop and everything taken is answered.
pub fn run(mut front: Front<Sockets>) -> io::Result<()> {
    let (clock, mut events) = (Clock::start(), Vec::new());
    front.turn(clock.now(), std::iter::empty());
    while !front.is_over() {
        front.net.wait(front.waits().map(duration), &mut events)?;
        let nap = front.turn(clock.now(), events.drain(..));
        if nap > 0 {
            front.counters.naps.add(1);
            front.net.submit()?;
            std::thread::sleep(duration(nap));
        }
    }
    Ok(())
}

/// Has a thread's work begun anew where it panics: its clients are closed then, those of other threads hear nothing of it.
pub fn again_and_again(counters: &Counters, mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match catch_unwind(AssertUnwindSafe(&mut work)) {
            Ok(result) => return result,
            Err(_) => {
                counters.threads_restarted.add(1);
                // One that panics at once does not take the processor from the others.
                std::thread::sleep(PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_panics_begins_anew_and_that_is_counted() {
        let counters = Counters::of_pools(1);
        let mut times = 0;
        let result = again_and_again(&counters, || {
            times += 1;
            assert!(times > 3, "meant to panic");
            Err(io::Error::other("over"))
        });
        assert_eq!((times, counters.threads_restarted.get()), (4, 3));
        assert_eq!(result.unwrap_err().to_string(), "over");
    }
}
