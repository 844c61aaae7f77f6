//! Watchdog of event loops: it reports a loop iteration of over a second while that lasts, with the connection or stage at work.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fanin_proxy_core::clock::Nanos;
use fanin_proxy_core::pulse::Stall;
use fanin_proxy_observe::messages;

/// Time between two looks, and between two messages about the same iteration.
const LOOK: Duration = Duration::from_millis(250);
const REPEAT: Nanos = 10_000_000_000;

/// The thread that looks at iterations.
#[derive(Debug)]
pub struct Watchdog {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

/// A thread's report: the iteration that was reported last, and when the next message about it is due.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    since: Nanos,
    next: Nanos,
}

impl Reported {
    /// Whether a stall is new, and whether to write a message about it.
    fn sees(&mut self, stall: &Stall) -> (bool, bool) {
        let is_new = self.since != stall.since;
        let is_due = is_new || stall.lasts >= self.next;
        if is_due {
            *self = Reported { since: stall.since, next: stall.lasts + REPEAT };
        }
        (is_new, is_due)
    }
}

impl Watchdog {
    /// Watches the threads whose present iterations `pulse` returns, by their numbers; `count` counts a stall of a thread.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn start(
        threads: usize,
        pulse: impl Fn(usize) -> Option<Stall> + Send + 'static,
        count: impl Fn(usize) + Send + 'static,
    ) -> io::Result<Watchdog> {
        let (stop, stopped) = channel();
        let work = move || {
            let mut reported = vec![Reported::default(); threads];
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                for (thread, reported) in reported.iter_mut().enumerate() {
                    let Some(stall) = pulse(thread) else { continue };
                    let (is_new, is_due) = reported.sees(&stall);
                    if is_new {
                        count(thread);
                    }
                    if is_due {
                        messages::warning(&format!("thread {thread}: {stall}"));
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("fanin-watchdog".to_owned()).spawn(work)?;
        Ok(Watchdog { stop, thread })
    }

    /// Ends it.
    pub fn end(self) {
        drop(self.stop);
        // A panic there has harmed nothing else.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_proxy_core::pulse::Work;

    #[test]
    fn messages_about_one_iteration_are_few() {
        let (mut reported, second) = (Reported::default(), 1_000_000_000);
        let stall = |since, lasts: u64| Stall { since, lasts: lasts * second, work: Work::Writes };
        let seen: Vec<_> = (1..30).map(|lasts| reported.sees(&stall(5, lasts))).collect();
        assert_eq!(seen.iter().filter(|(_, is_due)| *is_due).count(), 3);
        assert_eq!(seen.iter().filter(|(is_new, _)| *is_new).count(), 1);
        assert_eq!(reported.sees(&stall(6, 1)), (true, true));
    }
}
