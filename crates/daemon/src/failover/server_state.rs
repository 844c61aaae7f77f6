//! State of a server that threads share, with its journal: keys that changed while it was away, or whose change there may or may not have
//! happened. They are deleted before it is read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::metrics::ServerFigures;

/// Most keys; beyond, a server with replicas is flushed when it returns, and other changes are refused.
const MOST_KEYS: usize = 1 << 18;

/// Key of an entry: as it is sent, and whether that is base64.
type SentKey = (Vec<u8>, bool);
/// Other servers to which a key was written in place of this one.
type Others = Vec<Weak<ServerState>>;

/// A key to delete.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Vec<u8>,
    pub base64: bool,
    /// Other servers that must delete it, too.
    pub others: Others,
}

/// State of a server that threads share.
#[derive(Debug, Default)]
pub struct ServerState {
    /// Whether it was last reported as down.
    is_down: AtomicBool,
    /// Whether it has answered.
    is_known: AtomicBool,
    /// Keys to delete before it is read again.
    journal: Mutex<Journal>,
    /// Held by connections on which it may still execute changes.
    unfinished: Arc<()>,
    /// By thread.
    figures: Vec<ServerFigures>,
}

impl ServerState {
    /// A server that is up, with figures of this many threads.
    pub fn new(threads: usize, exposed: bool) -> ServerState {
        ServerState { figures: (0..threads).map(|_| ServerFigures::new(exposed)).collect(), ..ServerState::default() }
    }

    /// Figures of a thread.
    pub fn figures(&self, thread: usize) -> Option<&ServerFigures> {
        self.figures.get(thread)
    }

    /// Figures of all threads.
    pub fn all_figures(&self) -> &[ServerFigures] {
        &self.figures
    }

    /// To be held while it may still execute a change.
    pub fn unfinished(&self) -> Arc<()> {
        self.unfinished.clone()
    }

    /// Whether it may still execute changes that have failed here.
    pub fn has_unfinished(&self) -> bool {
        Arc::strong_count(&self.unfinished) > 1
    }

    /// Keys to delete before it is read again.
    pub fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that it has answered: from now on its journal is complete.
    pub fn becomes_known(&self) {
        self.is_known.store(true, SeqCst);
    }

    /// Whether it has answered.
    pub fn is_known(&self) -> bool {
        self.is_known.load(SeqCst)
    }

    /// Whether it was last reported as up.
    pub fn is_up(&self) -> bool {
        !self.is_down.load(Relaxed)
    }

    /// Records whether it is up; returns whether that is unchanged.
    pub fn stays(&self, up: bool) -> bool {
        self.is_down.swap(!up, Relaxed) != up
    }
}

/// Keys to delete at a server.
#[derive(Debug, Default)]
pub struct Journal {
    keys: BTreeMap<SentKey, Others>,
    /// Keys that are being deleted.
    taken: Vec<Entry>,
    /// Whether everything must be deleted.
    flush: bool,
    /// Whether everything is being deleted.
    is_flushing: bool,
}

impl Journal {
    /// Adds a key, which was written to another server instead, if any; returns false if there are too many.
    #[must_use]
    pub fn add(&mut self, key: &[u8], base64: bool, other: Option<&Arc<ServerState>>) -> bool {
        let key = (key.to_vec(), base64);
        if self.keys.len() >= MOST_KEYS && !self.keys.contains_key(&key) {
            return false;
        }
        let others = self.keys.entry(key).or_default();
        if let Some(other) = other.map(Arc::downgrade)
            && !others.iter().any(|known| known.ptr_eq(&other))
        {
            others.push(other);
        }
        true
    }

    /// Has everything deleted at this server. Only keys for other servers are kept.
    pub fn flush_instead(&mut self) {
        self.keys.retain(|_, others| !others.is_empty());
        self.flush = true;
    }

    /// Begins to delete everything, if that is wanted. A flush that is wanted later is another one.
    pub fn begin_flush(&mut self) -> bool {
        self.is_flushing = std::mem::take(&mut self.flush);
        self.is_flushing
    }

    /// Whether nothing is left to delete.
    pub fn is_clear(&self) -> bool {
        self.keys.is_empty() && self.taken.is_empty() && !self.flush && !self.is_flushing
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Takes up to `most` keys to delete them.
    pub fn take(&mut self, most: usize) -> Vec<Entry> {
        while self.taken.len() < most
            && let Some(((key, base64), others)) = self.keys.pop_first()
        {
            self.taken.push(Entry { key, base64, others });
        }
        self.taken.clone()
    }

    /// The keys taken.
    pub fn taken(&self) -> &[Entry] {
        &self.taken
    }

    /// They, or everything, have been deleted.
    pub fn has_deleted(&mut self) {
        self.is_flushing = false;
        self.taken.clear();
    }

    /// They, or everything, may not have been deleted.
    pub fn give_back(&mut self) {
        self.flush |= std::mem::take(&mut self.is_flushing);
        for Entry { key, base64, others } in std::mem::take(&mut self.taken) {
            let known = self.keys.entry((key, base64)).or_default();
            known.extend(others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_keys_until_they_are_deleted() {
        let (mut journal, other) = (Journal::default(), Arc::<ServerState>::default());
        for (key, other) in [(b"a", Some(&other)), (b"a", Some(&other)), (b"b", None)] {
            assert!(journal.add(key, false, other));
        }
        let keys =
            |entries: &[Entry]| entries.iter().map(|entry| (entry.key[0], entry.others.len())).collect::<Vec<_>>();
        assert_eq!((journal.len(), keys(&journal.take(1))), (2, vec![(b'a', 1)]));
        journal.give_back();
        assert_eq!(keys(&journal.take(5)), [(b'a', 1), (b'b', 0)]);
        assert!(journal.add(b"c", false, None));
        journal.has_deleted();
        assert_eq!(keys(&journal.take(5)), [(b'c', 0)]);
    }

    #[test]
    fn is_bounded() {
        let mut journal = Journal::default();
        assert!((0..MOST_KEYS as u32).all(|key| journal.add(&key.to_be_bytes(), true, None)));
        assert!(!journal.add(b"more", true, None));
        assert!(journal.add(&7u32.to_be_bytes(), true, None), "is in it");
        assert!(journal.add(&7u32.to_be_bytes(), true, Some(&Arc::default())));
        journal.flush_instead();
        assert_eq!((journal.len(), journal.begin_flush()), (1, true));
        // It was not confirmed.
        journal.give_back();
        assert!(journal.begin_flush());
        // Meanwhile another one is wanted.
        journal.flush_instead();
        journal.has_deleted();
        assert!(journal.begin_flush());
        journal.has_deleted();
        assert!(!journal.begin_flush());
        assert!(journal.add(b"more", true, None));
    }
}
