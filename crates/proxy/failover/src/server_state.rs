//! State of a server that threads share, with its journal: keys that changed while it was away, or whose change there may or may not have
//! happened. They are deleted before it is read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fanin_proxy_observe::metrics::ServerFigures;

/// Most keys. A tenant may use as much as is free, so that none can fill it: each of its changes reserves a place, in case it fails, and is
/// refused without one. A part is for the front end's own notes; if that is full, the server is flushed when it returns.
const MOST_KEYS: usize = 1 << 18;
const OWN_KEYS: usize = MOST_KEYS / 8;

/// Key of an entry: as it is sent, and whether that is base64.
type SentKey = (Vec<u8>, bool);
/// Other servers to which a key was written in place of this one.
type Others = Vec<Weak<ServerState>>;

/// A noted key.
#[derive(Debug, Default)]
struct Noted {
    others: Others,
    /// The tenant whose change it was, if the note could have been refused.
    tenant: Option<u32>,
}

/// A key to delete.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key, as clients write it.
    pub key: Vec<u8>,
    /// Whether that is base64.
    pub base64: bool,
    /// Other servers that must delete it, too.
    pub others: Others,
}

/// State of a server that threads share.
#[derive(Debug, Default)]
pub struct ServerState {
    /// Whether it was last reported as down, and as busy.
    is_down: AtomicBool,
    is_busy: AtomicBool,
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

    /// A place in its journal for a change of a tenant, if there is one.
    pub fn reserve(self: &Arc<ServerState>, tenant: u32) -> Option<Reserved> {
        self.journal().reserve(tenant).then(|| Reserved { server: self.clone(), tenant })
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

    /// Records whether it is busy; returns whether that has changed.
    pub fn has_changed_business(&self, busy: bool) -> bool {
        self.is_busy.swap(busy, Relaxed) != busy
    }

    /// Records whether it is up; returns whether that is unchanged.
    pub fn stays(&self, up: bool) -> bool {
        self.is_down.swap(!up, Relaxed) != up
    }
}

/// A place in a server's journal for a change that is not complete, until dropped.
#[derive(Debug)]
pub struct Reserved {
    server: Arc<ServerState>,
    /// Number of the tenant whose request it is.
    pub tenant: u32,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.server.journal().release(self.tenant);
    }
}

/// Keys to delete at a server.
#[derive(Debug, Default)]
pub struct Journal {
    keys: BTreeMap<SentKey, Noted>,
    /// Number of keys by tenant, and of reserved places; and the number of all these places.
    of_tenants: BTreeMap<u32, usize>,
    reserved_of: BTreeMap<u32, usize>,
    reserved: usize,
    /// Keys that are being deleted.
    taken: Vec<Entry>,
    /// Whether everything must be deleted.
    flush: bool,
    /// Whether everything is being deleted.
    is_flushing: bool,
}

impl Journal {
    /// Adds a key that a tenant changes, or the front end itself, and that was written to another server instead, if any; returns false if
    /// there are too many.
    #[must_use]
    pub fn add(&mut self, key: &[u8], base64: bool, other: Option<&Arc<ServerState>>, tenant: Option<u32>) -> bool {
        let key = (key.to_vec(), base64);
        let has_place = match tenant {
            _ if self.keys.contains_key(&key) => true,
            Some(tenant) => self.has_place(tenant),
            None => self.free() > 0,
        };
        if has_place {
            self.insert(key, other, tenant);
        }
        has_place
    }

    /// Adds a key for which the tenant has reserved a place.
    pub fn add_reserved(&mut self, key: &[u8], base64: bool, tenant: u32) {
        self.insert((key.to_vec(), base64), None, Some(tenant));
    }

    fn insert(&mut self, key: SentKey, other: Option<&Arc<ServerState>>, tenant: Option<u32>) {
        let noted = self.keys.entry(key).or_insert_with(|| {
            tenant.into_iter().for_each(|tenant| *self.of_tenants.entry(tenant).or_default() += 1);
            Noted { others: Vec::new(), tenant }
        });
        if let Some(other) = other.map(Arc::downgrade)
            && !noted.others.iter().any(|known| known.ptr_eq(&other))
        {
            noted.others.push(other);
        }
    }

    /// Number of places that are neither used nor reserved.
    fn free(&self) -> usize {
        MOST_KEYS.saturating_sub(self.keys.len() + self.reserved)
    }

    /// Whether a tenant may use another place.
    fn has_place(&self, tenant: u32) -> bool {
        let used = [&self.of_tenants, &self.reserved_of].map(|of| of.get(&tenant).copied().unwrap_or(0));
        used.iter().sum::<usize>() < self.free().saturating_sub(OWN_KEYS)
    }

    fn reserve(&mut self, tenant: u32) -> bool {
        let has_place = self.has_place(tenant);
        if has_place {
            *self.reserved_of.entry(tenant).or_default() += 1;
            self.reserved += 1;
        }
        has_place
    }

    fn release(&mut self, tenant: u32) {
        self.reserved -= 1;
        if let Some(reserved) = self.reserved_of.get_mut(&tenant) {
            *reserved -= 1;
            if *reserved == 0 {
                self.reserved_of.remove(&tenant);
            }
        }
    }

    /// Has everything deleted at this server. Only keys for other servers are kept.
    pub fn flush_instead(&mut self) {
        self.keys.retain(|_, noted| !noted.others.is_empty());
        self.of_tenants.clear();
        for tenant in self.keys.values().filter_map(|noted| noted.tenant) {
            *self.of_tenants.entry(tenant).or_default() += 1;
        }
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
            && let Some(((key, base64), Noted { others, tenant })) = self.keys.pop_first()
        {
            if let Some(count) = tenant.and_then(|tenant| self.of_tenants.get_mut(&tenant)) {
                *count -= 1;
            }
            self.of_tenants.retain(|_, count| *count > 0);
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
            self.keys.entry((key, base64)).or_default().others.extend(others);
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
            assert!(journal.add(key, false, other, None));
        }
        let keys =
            |entries: &[Entry]| entries.iter().map(|entry| (entry.key[0], entry.others.len())).collect::<Vec<_>>();
        assert_eq!((journal.len(), keys(&journal.take(1))), (2, vec![(b'a', 1)]));
        journal.give_back();
        assert_eq!(keys(&journal.take(5)), [(b'a', 1), (b'b', 0)]);
        assert!(journal.add(b"c", false, None, None));
        journal.has_deleted();
        assert_eq!(keys(&journal.take(5)), [(b'c', 0)]);
    }

    #[test]
    fn is_bounded() {
        let mut journal = Journal::default();
        assert!((0..MOST_KEYS as u32).all(|key| journal.add(&key.to_be_bytes(), true, None, None)));
        assert!(!journal.add(b"more", true, None, None));
        assert!(journal.add(&7u32.to_be_bytes(), true, None, None), "is in it");
        assert!(journal.add(&7u32.to_be_bytes(), true, Some(&Arc::default()), None));
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
        assert!(journal.add(b"more", true, None, None));
    }

    #[test]
    fn failed_changes_have_reserved_places() {
        let server = Arc::<ServerState>::default();
        let reserve = |tenant: u32| std::iter::from_fn(|| server.reserve(tenant)).take(MOST_KEYS).collect::<Vec<_>>();
        let (first, second) = (reserve(1), reserve(2));
        assert_eq!([first.len(), second.len()], [(MOST_KEYS - OWN_KEYS) / 2, (MOST_KEYS - OWN_KEYS) / 4]);
        assert!(!server.journal().add(b"refused", false, None, Some(1)));
        // All of them fail.
        for (number, place) in first.iter().chain(&second).enumerate() {
            server.journal().add_reserved(&number.to_be_bytes(), false, place.tenant);
        }
        drop((first, second));
        assert_eq!(server.journal().len(), (MOST_KEYS - OWN_KEYS) / 4 * 3);
        assert!(server.reserve(1).is_none() && server.reserve(3).is_some());
        assert!((0..OWN_KEYS as u32).all(|key| server.journal().add(&key.to_be_bytes(), true, None, None)));
        let mut journal = server.journal();
        journal.take(MOST_KEYS);
        journal.has_deleted();
        assert!(journal.is_clear() && journal.reserved == 0 && journal.reserved_of.is_empty());
    }

    #[test]
    fn no_tenant_fills_it() {
        let mut journal = Journal::default();
        let mut fill = |tenant: u32| {
            let keys = 0..MOST_KEYS as u32;
            keys.filter(|key| journal.add(format!("{tenant}:{key}").as_bytes(), false, None, Some(tenant))).count()
        };
        let [first, second, third] = [1, 2, 3].map(&mut fill);
        assert_eq!(
            [first, second, third],
            [(MOST_KEYS - OWN_KEYS) / 2, (MOST_KEYS - OWN_KEYS) / 4, (MOST_KEYS - OWN_KEYS) / 8]
        );
        assert!(journal.add(b"own", false, None, None), "the front end's own notes have their place");
        journal.take(MOST_KEYS);
        journal.has_deleted();
        assert!(journal.of_tenants.is_empty() && journal.is_clear());
    }
}
