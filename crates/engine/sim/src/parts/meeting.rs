//! Threads of a run in parts: one leads, and the others act when it does.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How often a thread looks for the others before it sleeps: windows often take microseconds, and waking a thread takes longer.
const LOOKS: u32 = 500;

/// Where the threads of a run meet, before they act, and in between.
pub(super) struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    /// Meetings so far.
    held: AtomicUsize,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
    /// The leader is done.
    over: AtomicBool,
    /// A thread has panicked.
    broken: AtomicBool,
}

/// Releases the other threads if it is dropped, since this one panics.
struct Guard<'a>(&'a Meeting);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.broken.store(true, Ordering::SeqCst);
        self.0.release();
    }
}

/// Call a function, and release the other threads if it panics.
fn guarded<R>(meeting: &Meeting, act: impl FnOnce() -> R) -> R {
    let guard = Guard(meeting);
    let result = act();
    std::mem::forget(guard);
    result
}

impl Meeting {
    /// Of this many threads.
    pub fn new(threads: usize) -> Meeting {
        let (arrived, held, asleep, lock, wake, over, broken) = Default::default();
        Meeting { threads, arrived, held, asleep, lock, wake, over, broken }
    }

    /// The leading thread: have every thread act.
    pub fn act(&self, act: impl FnOnce()) {
        self.wait();
        act();
        self.wait();
    }

    /// The leading thread: lead, then dismiss the others.
    pub fn lead<R>(&self, lead: impl FnOnce() -> R) -> R {
        let result = guarded(self, lead);
        self.over.store(true, Ordering::Relaxed);
        self.wait();
        result
    }

    /// Any other thread: act whenever the leader does.
    pub fn follow(&self, mut act: impl FnMut()) {
        guarded(self, || {
            loop {
                self.wait();
                if self.over.load(Ordering::Relaxed) {
                    return;
                }
                act();
                self.wait();
            }
        });
    }

    /// Wait until all threads have come.
    pub fn wait(&self) {
        let held = self.held.load(Ordering::SeqCst);
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.threads {
            self.arrived.store(0, Ordering::SeqCst);
            self.held.store(held.wrapping_add(1), Ordering::SeqCst);
            if self.asleep.load(Ordering::SeqCst) > 0 {
                self.release();
            }
            return;
        }
        for _ in 0..LOOKS {
            if self.goes_on(held) {
                return;
            }
            spin_loop();
        }
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let mut lock = self.locked();
        while !self.goes_on(held) {
            lock = self.wake.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a meeting that was this one has been held.
    fn goes_on(&self, held: usize) -> bool {
        assert!(!self.broken.load(Ordering::SeqCst), "another part of the run has panicked");
        self.held.load(Ordering::SeqCst) != held
    }

    /// Wake the threads that sleep.
    fn release(&self) {
        drop(self.locked());
        self.wake.notify_all();
    }

    fn locked(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use super::*;

    /// Acts of three threads, the leader's sometimes slow enough for the others to fall asleep.
    #[test]
    fn all_act_every_time() {
        let (meeting, acts) = (Meeting::new(3), AtomicUsize::new(0));
        let act = || {
            acts.fetch_add(1, Ordering::SeqCst);
            meeting.wait();
        };
        thread::scope(|scope| {
            (0..2).for_each(|_| drop(scope.spawn(|| meeting.follow(act))));
            meeting.lead(|| {
                for time in 1..=1_000 {
                    if time % 100 == 0 {
                        (0..100_000).for_each(|_| spin_loop());
                    }
                    meeting.act(act);
                    assert_eq!(acts.load(Ordering::SeqCst), 3 * time);
                }
            });
        });
    }

    #[test]
    fn a_panic_releases_all() {
        let meeting = Meeting::new(2);
        let result = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| meeting.follow(|| panic!("on purpose")));
                meeting.lead(|| meeting.act(|| ()));
            });
        }));
        assert!(result.is_err());
    }
}
