//! Cleanup on early ends of work, by return or by a signal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Work = Box<dyn FnOnce() + Send>;

/// Cleanups by number, rising; the last one runs first.
static PENDING: Mutex<BTreeMap<u64, Work>> = Mutex::new(BTreeMap::new());

fn pending() -> MutexGuard<'static, BTreeMap<u64, Work>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something made that is taken back when this is dropped, or by [`clean_up`].
#[derive(Debug)]
pub(crate) struct Cleanup(u64);

impl Cleanup {
    /// Makes something, and notes how it is taken back before a signal can come between.
    pub fn of<T, E>(make: impl FnOnce() -> Result<T, E>, undo: impl FnOnce(&T) -> Work) -> Result<(T, Cleanup), E> {
        let mut pending = pending();
        let made = make()?;
        let number = pending.last_key_value().map_or(0, |(last, _)| last + 1);
        pending.insert(number, undo(&made));
        Ok((made, Cleanup(number)))
    }

    /// Nothing is taken back.
    pub fn keep(self) {
        pending().remove(&self.0);
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        // A signal waits for the cleanup, then ends the program.
        let mut pending = pending();
        if let Some(work) = pending.remove(&self.0) {
            work();
        }
    }
}

/// Takes back all that has not come to its end. For a program that exits at once: from here on nothing can be made.
pub fn clean_up() {
    let mut pending = pending();
    while let Some((_, work)) = pending.pop_last() {
        work();
    }
    std::mem::forget(pending);
}
