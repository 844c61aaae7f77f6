//! Equal gets that are under way are asked once, where a pool says so (`join`).
//!
//! A get joins an equal one of its thread while no byte of that one's answer has come, and never one that was sent before a write, a
//! delete or a flush that this front end, in whatever thread, has answered since: who has heard of a write does not read behind it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::memory::{Buffer, Charge};
use crate::routing::Hash;
use crate::table::{Id, Table};

/// Keys are told apart by so many groups: a write of one keeps gets of its whole group apart.
const GROUPS: u32 = 4096;

/// How many writes there were, of which threads tell one another. A write counts as it is taken, and again before its answer is given.
#[derive(Debug)]
pub struct Writes {
    groups: Vec<AtomicU64>,
    /// Of all keys.
    flushes: AtomicU64,
}

impl Default for Writes {
    fn default() -> Writes {
        Writes { groups: (0..GROUPS).map(|_| AtomicU64::new(0)).collect(), flushes: AtomicU64::new(0) }
    }
}

impl Writes {
    /// The group that a key is in.
    pub fn group(key: &[u8]) -> u16 {
        (Hash::Fnv1a32.of(key) % GROUPS) as u16
    }

    /// A key of the group is written.
    pub fn wrote(&self, group: u16) {
        self.groups[usize::from(group)].fetch_add(1, SeqCst);
    }

    /// All may be written.
    pub fn flushed(&self) {
        self.flushes.fetch_add(1, SeqCst);
    }

    /// As long as this is the same, nothing of the group was written: both numbers only grow.
    fn seen(&self, group: u16) -> u64 {
        self.groups[usize::from(group)].load(SeqCst).wrapping_add(self.flushes.load(SeqCst))
    }
}

/// A client, and which of its requests.
pub type ClientRequest = (Id, u64);

/// One thread's gets that may be joined, and those that were.
#[derive(Debug, Default)]
pub struct Joining {
    /// By pool and line: the get, and the writes before it was sent.
    open: BTreeMap<(usize, Vec<u8>), (Id, u64)>,
    gets: Table<Get>,
}

#[derive(Debug)]
struct Get {
    asked: (usize, Vec<u8>),
    who: Vec<ClientRequest>,
    /// What has come of its answer, which is kept once for all.
    held: Buffer,
    charge: Charge,
}

impl Get {
    fn joins(&mut self, who: ClientRequest) {
        self.who.push(who);
        // Its line stands in the map, too.
        self.charge.set(2 * self.asked.1.capacity() + self.who.capacity() * size_of::<ClientRequest>());
    }
}

impl Joining {
    /// Someone asks for a key: the get that is to be sent, or nothing where one is under way.
    pub fn join(&mut self, pool: usize, line: Vec<u8>, key: &[u8], writes: &Writes, who: ClientRequest) -> Option<Id> {
        let (seen, asked) = (writes.seen(Writes::group(key)), (pool, line));
        if let Some((get, before)) = self.open.get(&asked)
            && *before == seen
            && let Some(get) = self.gets.get_mut(*get)
        {
            get.joins(who);
            return None;
        }
        let (held, charge) = (Buffer::default(), Charge::default());
        let mut get = Get { asked: asked.clone(), who: Vec::new(), held, charge };
        get.joins(who);
        let get = self.gets.insert(get);
        self.open.insert(asked, (get, seen));
        Some(get)
    }

    /// Bytes of its answer: whoever came now would miss them.
    pub fn hears(&mut self, get: Id, bytes: &[u8]) {
        self.closes(get);
        self.gets.get_mut(get).into_iter().for_each(|get| get.held.extend(bytes));
    }

    /// Nobody joins it any more.
    fn closes(&mut self, get: Id) {
        let Some(Get { asked, .. }) = self.gets.get(get) else { return };
        if self.open.get(asked).is_some_and(|(other, _)| *other == get) {
            self.open.remove(asked);
        }
    }

    /// It is over: whose it was, and its answer.
    pub fn over(&mut self, get: Id) -> (Vec<ClientRequest>, Buffer) {
        self.closes(get);
        self.gets.remove(get).map_or_else(Default::default, |get| (get.who, get.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a client's get joins one that is under way.
    fn joins(joining: &mut Joining, writes: &Writes, client: u64) -> bool {
        let id = Table::default().insert(());
        joining.join(0, b"get a\r\n".to_vec(), b"a", writes, (id, client)).is_none()
    }

    #[test]
    fn a_get_joins_an_equal_one_until_that_is_answered_or_its_key_is_written() {
        let (mut joining, writes) = (Joining::default(), Writes::default());
        assert!(!joins(&mut joining, &writes, 1));
        assert!(joins(&mut joining, &writes, 2));
        writes.wrote(Writes::group(b"a"));
        assert!(!joins(&mut joining, &writes, 3));
        assert!(joins(&mut joining, &writes, 4));
        writes.flushed();
        assert!(!joins(&mut joining, &writes, 5));
        assert_ne!(Writes::group(b"a"), Writes::group(b"b"));
        writes.wrote(Writes::group(b"b"));
        assert!(joins(&mut joining, &writes, 6));
    }

    #[test]
    fn an_answer_is_that_of_all_who_joined_before_it_began() {
        let (mut joining, writes) = (Joining::default(), Writes::default());
        let id = Table::default().insert(());
        let ask = |joining: &mut Joining, client| joining.join(0, b"get a\r\n".to_vec(), b"a", &writes, (id, client));
        let first = ask(&mut joining, 1).unwrap();
        assert_eq!(ask(&mut joining, 2), None);
        joining.hears(first, b"VALUE");
        let second = ask(&mut joining, 3).unwrap();
        joining.hears(first, b" a");
        let (who, held) = joining.over(first);
        assert_eq!((who, &held[..]), (vec![(id, 1), (id, 2)], &b"VALUE a"[..]));
        // The end of the first does not close the second.
        assert_eq!(ask(&mut joining, 4), None);
        assert_eq!(joining.over(second).0, [(id, 3), (id, 4)]);
        assert_eq!(joining.over(second).0, []);
    }
}
