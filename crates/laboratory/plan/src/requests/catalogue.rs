//! The keys of a log.

use std::borrow::Cow;

use indexmap::IndexSet;

use fanin_lab::figures::cell;
use fanin_plan_files::key_name;

/// Size and server of a key, if given.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// Bytes of its object.
    pub size: Option<u32>,
    /// The number of its server, from 1.
    pub server: Option<u32>,
}

/// The keys of a log by their names, numbered as they come, with their sizes.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    keys: IndexSet<Box<[u8]>>,
    /// Latest size of each; none if there were only misses.
    sizes: Vec<Option<u32>>,
    /// Server of each in the log; zero if unknown.
    servers: Vec<u32>,
}

impl Catalogue {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A key by its number.
    pub fn key(&self, number: u32) -> &[u8] {
        &self.keys[number as usize]
    }

    /// The number of a key.
    pub fn number(&self, key: &[u8]) -> Option<u32> {
        self.keys.get_index_of(name(key).as_ref()).map(|number| number as u32)
    }

    /// Bytes of each key's object, by number: those that were never seen are empty.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.sizes.iter().map(|size| size.unwrap_or(0))
    }

    /// The number, from 1, of the server that the log gives for a key.
    pub fn server(&self, number: u32) -> Option<u32> {
        Some(self.servers[number as usize]).filter(|server| *server > 0)
    }

    /// Bytes of a key's object, if ever seen.
    pub(crate) fn size(&self, number: u32) -> Option<u32> {
        self.sizes[number as usize]
    }

    /// Records a key of an earlier log: its size, and the server, from 0, that the log gave.
    pub(crate) fn remember(&mut self, key: &[u8], size: Option<u32>, server: u32) {
        self.note(key, Seen { size, server: Some(server + 1) });
    }

    /// Record a key's size and server, and return its number.
    pub(super) fn note(&mut self, key: &[u8], seen: Seen) -> u32 {
        let number = self.keys.get_index_of(key).unwrap_or_else(|| {
            let (number, is_new) = self.keys.insert_full(name(key).into());
            if is_new {
                self.sizes.push(None);
                self.servers.push(0);
            }
            number
        });
        if seen.size.is_some() {
            self.sizes[number] = seen.size;
        }
        if let Some(server) = seen.server {
            self.servers[number] = server;
        }
        number as u32 // sizes of 2^32 keys would not fit
    }
}

/// A key's name, safe in tables and terminals: a text without control or direction characters, and no formula. Any other key is escaped.
fn name(key: &[u8]) -> Cow<'_, [u8]> {
    if str::from_utf8(key).is_ok_and(|text| cell(text) == text) {
        return Cow::Borrowed(key);
    }
    let mut name = Vec::with_capacity(3 * key.len());
    key_name::escape(key, &mut name);
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_unique() {
        let names = [
            (&b"user:7"[..], &b"user:7"[..]),
            (b"~0123abcd~00", b"~0123abcd~00"),
            (b"=1+1", b"%3D1%2B1"),
            (b"-x", b"%2Dx"),
            ("a\u{202e}b".as_bytes(), b"a%E2%80%AEb"),
            (b"\x1b[31m", b"%1B%5B31m"),
            (b"\xff", b"%FF"),
            (b"@a%3Ab", b"%40a%3Ab"),
        ];
        let mut catalogue = Catalogue::default();
        for (number, (key, expected)) in (0..).zip(names) {
            assert_eq!(catalogue.note(key, Seen { size: Some(1), server: None }), number);
            assert_eq!(catalogue.key(number), expected);
            assert_eq!(name(expected), expected, "a name's name is itself");
            // However it is written, it is one key.
            assert_eq!((catalogue.note(expected, Seen::default()), catalogue.number(key)), (number, Some(number)));
        }
        assert_eq!((catalogue.len(), catalogue.sizes().count()), (names.len(), names.len()));
    }
}
