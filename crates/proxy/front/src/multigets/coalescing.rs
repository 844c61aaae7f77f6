//! Coalescing of concurrent equal gets (setting `join`).
//!
//! A get joins an equal one of its thread until the first byte of the response arrives. It never joins one that was sent before a write,
//! delete or flush that any thread of this front end has answered since, so a client that knows of a write cannot read an older value.

use std::collections::BTreeMap;

use fanin_proxy_core::memory::table::{Id, Table};
use fanin_proxy_core::memory::{Buffer, Charge};
use fanin_proxy_routing::writes::Writes;

/// A client and its request.
pub type ClientRequest = (Id, u64);

/// Gets of one thread that can be joined, and joined ones.
#[derive(Debug, Default)]
pub struct Coalescing {
    /// By pool and line: the get, and the version when it was sent.
    open: BTreeMap<(usize, Vec<u8>), (Id, u64)>,
    gets: Table<Get>,
}

#[derive(Debug)]
struct Get {
    asked: (usize, Vec<u8>),
    who: Vec<ClientRequest>,
    /// The response, held once for all clients.
    held: Buffer,
    charge: Charge,
}

impl Get {
    fn joins(&mut self, who: ClientRequest) {
        self.who.push(who);
        // The map has the line, too.
        self.charge.set(2 * self.asked.1.capacity() + self.who.capacity() * size_of::<ClientRequest>());
    }
}

impl Coalescing {
    /// Adds a client's get; returns the get to send, or nothing if it joined one.
    pub fn join(&mut self, pool: usize, line: Vec<u8>, key: &[u8], writes: &Writes, who: ClientRequest) -> Option<Id> {
        let (seen, asked) = (writes.seen(Writes::group(key)), (pool, line));
        if let Some((get, before)) = self.open.get(&asked)
            && *before == seen
            && !writes.are_elsewhere()
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

    /// Number of clients of a get.
    pub fn clients(&self, get: Id) -> usize {
        self.gets.get(get).map_or(0, |get| get.who.len())
    }

    /// Takes response bytes; from now on nobody can join.
    pub fn receives(&mut self, get: Id, bytes: &[u8]) {
        self.closes(get);
        self.gets.get_mut(get).into_iter().for_each(|get| get.held.extend(bytes));
    }

    /// Prevents further joins.
    fn closes(&mut self, get: Id) {
        let Some(Get { asked, .. }) = self.gets.get(get) else { return };
        if self.open.get(asked).is_some_and(|(other, _)| *other == get) {
            self.open.remove(asked);
        }
    }

    /// Ends a get; returns its clients and response.
    pub fn over(&mut self, get: Id) -> (Vec<ClientRequest>, Buffer) {
        self.closes(get);
        self.gets.remove(get).map_or_else(Default::default, |get| (get.who, get.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a client's get joins an outstanding one.
    fn joins(coalescing: &mut Coalescing, writes: &Writes, client: u64) -> bool {
        let id = Table::default().insert(());
        coalescing.join(0, b"get a\r\n".to_vec(), b"a", writes, (id, client)).is_none()
    }

    #[test]
    fn joins_until_response_or_write() {
        let (mut coalescing, writes) = (Coalescing::default(), Writes::default());
        assert!(!joins(&mut coalescing, &writes, 1));
        assert!(joins(&mut coalescing, &writes, 2));
        writes.wrote(Writes::group(b"a"));
        assert!(!joins(&mut coalescing, &writes, 3));
        assert!(joins(&mut coalescing, &writes, 4));
        writes.flushed();
        assert!(!joins(&mut coalescing, &writes, 5));
        assert_ne!(Writes::group(b"a"), Writes::group(b"b"));
        writes.wrote(Writes::group(b"b"));
        assert!(joins(&mut coalescing, &writes, 6));
    }

    #[test]
    fn delivers_response_to_all_joined() {
        let (mut coalescing, writes) = (Coalescing::default(), Writes::default());
        let id = Table::default().insert(());
        let ask = |coalescing: &mut Coalescing, client| {
            coalescing.join(0, b"get a\r\n".to_vec(), b"a", &writes, (id, client))
        };
        let first = ask(&mut coalescing, 1).unwrap();
        assert_eq!(ask(&mut coalescing, 2), None);
        coalescing.receives(first, b"VALUE");
        let second = ask(&mut coalescing, 3).unwrap();
        coalescing.receives(first, b" a");
        let (who, held) = coalescing.over(first);
        assert_eq!((who, &held[..]), (vec![(id, 1), (id, 2)], &b"VALUE a"[..]));
        // The end of the first does not close the second.
        assert_eq!(ask(&mut coalescing, 4), None);
        assert_eq!(coalescing.over(second).0, [(id, 3), (id, 4)]);
        assert_eq!(coalescing.over(second).0, []);
    }
}
