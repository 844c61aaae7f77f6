//! The keys of a log.

use indexmap::IndexSet;

/// The keys of a log, numbered as they come, with their sizes.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    keys: IndexSet<Box<[u8]>>,
    /// The latest size of each; none where only misses were seen.
    sizes: Vec<Option<u32>>,
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
        self.keys.get_index_of(key).map(|number| number as u32)
    }

    /// Bytes of each key's object, by number: those that were never seen are empty.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.sizes.iter().map(|size| size.unwrap_or(0))
    }

    /// The number of a key whose object has that size, where it is known.
    pub(super) fn note(&mut self, key: &[u8], size: Option<u32>) -> u32 {
        let number = match self.keys.get_index_of(key) {
            Some(number) => number,
            None => {
                self.sizes.push(None);
                self.keys.insert_full(key.into()).0
            }
        };
        if size.is_some() {
            self.sizes[number] = size;
        }
        number as u32 // sizes of 2^32 keys would not fit
    }
}
