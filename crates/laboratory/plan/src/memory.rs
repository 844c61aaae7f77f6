//! Memory of a planner between periods: the servers of keys that plans have moved, and the closeness of objects (PICC, equation 1).

use fanin_placement::{Edge, Move, Object, Placement, Reason, Server};
use serde::{Deserialize, Serialize};

use crate::requests::Catalogue;

/// A key without requests for this many periods returns to the server that its hash selects.
const IDLE: u32 = 3;

/// Memory of a planner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Keys that are not where their hashes say, were not before the last plan, or are close to others.
    keys: Vec<Key>,
    /// Ends, as places in `keys`, and closeness.
    history: Option<Vec<(u32, u32, u32)>>,
}

/// A key. Servers count from zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    /// Its name in logs.
    name: String,
    /// Bytes of its object, if known.
    size: Option<u32>,
    /// The server that its hash selects.
    home: u32,
    /// Its server.
    server: u32,
    /// Its server before the last plan, until that has been judged.
    former: u32,
    /// Periods without requests.
    idle: u32,
}

impl Memory {
    /// Its text, for the next start of a planner.
    ///
    /// # Panics
    /// Never: it has only texts and numbers.
    pub fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers")
    }

    /// The memory with this text.
    ///
    /// # Errors
    /// The text is not a memory's.
    pub fn of_text(text: &[u8]) -> Result<Memory, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// A catalogue that begins with the remembered keys.
    pub(crate) fn catalogue(&self) -> Catalogue {
        let mut catalogue = Catalogue::default();
        self.keys.iter().for_each(|key| catalogue.remember(key.name.as_bytes(), key.size, key.home));
        catalogue
    }

    /// Closeness after the last period.
    pub(crate) fn history(&self) -> Option<Vec<Edge>> {
        let edge = |&(one, other, closeness)| Edge { ends: [Object(one), Object(other)], closeness };
        self.history.as_ref().map(|edges| edges.iter().map(edge).collect())
    }

    /// The placement after the last plan, and before it; other keys are where their hashes say.
    pub(crate) fn placements(&self, homes: &Placement) -> [Placement; 2] {
        let mut now = homes.clone();
        let mut former = homes.clone();
        for (object, key) in (0..).map(Object).zip(&self.keys) {
            put(&mut now, object, Server(key.server));
            put(&mut former, object, Server(key.former));
        }
        [now, former]
    }

    /// Whether there was a plan that has not been judged yet.
    pub(crate) fn has_former(&self) -> bool {
        self.keys.iter().any(|key| key.former != key.server)
    }

    fn idle(&self, object: Object) -> u32 {
        self.keys.get(object.0 as usize).map_or(0, |key| key.idle)
    }
}

/// A period of a planner with a memory.
pub(crate) struct Remembered {
    /// Servers by hash.
    homes: Placement,
    /// Servers before the last plan.
    pub former: Placement,
    /// Periods without requests, of each key.
    idle: Vec<u32>,
    history: Option<Vec<Edge>>,
}

impl Remembered {
    /// A period in which these objects were requested.
    pub fn new(memory: &Memory, homes: Placement, former: Placement, requested: &[bool]) -> Remembered {
        let idle = |object: Object| if requested[object.0 as usize] { 0 } else { memory.idle(object) + 1 };
        let (idle, history) = (homes.all().map(idle).collect(), memory.history());
        Remembered { homes, former, idle, history }
    }

    /// Sends keys home that have been idle for long; returns how many.
    pub fn send_home(&self, after: &mut Placement) -> u64 {
        let mut sent = 0;
        for object in self.homes.all().filter(|object| self.idle[object.0 as usize] >= IDLE) {
            let home = self.home(object);
            if after.homes(object)[0] != home {
                put(after, object, home);
                sent += 1;
            }
        }
        sent
    }

    /// The server that a key's hash selects.
    pub fn home(&self, object: Object) -> Server {
        self.homes.homes(object)[0]
    }

    /// The memory after the period, with the servers of keys, and those before if that is yet to be judged. `history` is the new one, if any.
    pub fn memory(&self, catalogue: &Catalogue, [server, former]: [&Placement; 2], history: Option<&[Edge]>) -> Memory {
        let history = history.or(self.history.as_deref());
        let mut places = vec![None; catalogue.len()];
        for object in history.into_iter().flatten().flat_map(|edge| edge.ends) {
            places[object.0 as usize] = Some(0);
        }
        let mut keys = Vec::new();
        for object in self.homes.all() {
            let [home, server, former] = [&self.homes, server, former].map(|of| of.homes(object)[0].0);
            let place = &mut places[object.0 as usize];
            if server == home && former == home && place.is_none() {
                continue;
            }
            *place = Some(keys.len() as u32);
            let name = String::from_utf8_lossy(catalogue.key(object.0)).into_owned();
            let (size, idle) = (catalogue.size(object.0), self.idle[object.0 as usize]);
            keys.push(Key { name, size, home, server, former, idle });
        }
        let place = |object: Object| places[object.0 as usize].unwrap_or_default();
        let edge = |edge: &Edge| (place(edge.ends[0]), place(edge.ends[1]), edge.closeness);
        Memory { keys, history: history.map(|edges| edges.iter().map(edge).collect()) }
    }
}

/// Puts an object with one replica on a server.
fn put(placement: &mut Placement, object: Object, to: Server) {
    let from = placement.homes(object)[0];
    placement.apply(&Move { object, from, to, reason: Reason::Correlated });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(names: &[&str]) -> Catalogue {
        let mut catalogue = Catalogue::default();
        names.iter().for_each(|name| catalogue.remember(name.as_bytes(), Some(7), 0));
        catalogue
    }

    fn placement(servers: &[u32]) -> Placement {
        Placement::new(1, servers.iter().copied().map(Server).collect())
    }

    #[test]
    fn keeps_moved_and_close_keys() {
        let catalogue = catalogue(&["moved", "home", "close", "closer", "left"]);
        let homes = placement(&[0, 0, 0, 0, 0]);
        let remembered = Remembered::new(&Memory::default(), homes.clone(), homes.clone(), &[true; 5]);
        let edges = [Edge { ends: [Object(2), Object(3)], closeness: 9 }];
        let now = placement(&[1, 0, 0, 0, 0]);
        let memory = remembered.memory(&catalogue, [&now, &placement(&[0, 0, 0, 0, 2])], Some(&edges));
        let names: Vec<&str> = memory.keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["moved", "close", "closer", "left"]);
        assert_eq!(memory.history, Some(vec![(1, 2, 9)]));
        assert!(memory.has_former());
        let [server, former] = memory.placements(&placement(&[0, 0, 0, 0]));
        assert_eq!([server, former], [placement(&[1, 0, 0, 0]), placement(&[0, 0, 0, 2])]);
        assert_eq!(Memory::of_text(&memory.text()).unwrap(), memory);
        assert_eq!(memory.catalogue().len(), 4);
    }

    #[test]
    fn idle_keys_return_home() {
        let (catalogue, homes) = (catalogue(&["a", "b"]), placement(&[0, 0]));
        let moved = placement(&[1, 1]);
        let mut memory = Memory::default();
        for sent in [0, 0, 1] {
            let remembered = Remembered::new(&memory, homes.clone(), moved.clone(), &[true, false]);
            let mut after = moved.clone();
            assert_eq!(remembered.send_home(&mut after), sent);
            assert_eq!(after, placement(&[1, 1 - sent as u32]));
            memory = remembered.memory(&catalogue, [&moved, &moved], None);
        }
    }
}
