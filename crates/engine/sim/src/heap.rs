//! Heap with four children per node over packed keys, siblings in one cache line.

use crate::event::Key;

/// The children of one node: a line of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Brood([Key; ARITY]);

const ARITY: usize = 4;

/// Index of the least key: the last of a group of siblings, so that all others are aligned.
const ROOT: usize = ARITY - 1;

/// A min-heap. Ties are indistinguishable, since it holds only keys.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    /// Empty entries hold `NEVER`.
    broods: Vec<Brood>,
    /// Index after the last key.
    end: usize,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { broods: vec![Brood([Key::NEVER; ARITY])], end: ROOT }
    }
}

impl Heap {
    /// The least key, or `NEVER`.
    #[inline]
    pub fn peek(&self) -> Key {
        self.broods[0].0[ROOT]
    }

    #[inline]
    fn at(&mut self, place: usize) -> &mut Key {
        &mut self.broods[place / ARITY].0[place % ARITY]
    }

    #[inline]
    pub fn push(&mut self, key: Key) {
        let mut hole = self.end;
        self.end += 1;
        if hole / ARITY == self.broods.len() {
            self.broods.push(Brood([Key::NEVER; ARITY]));
        }
        while hole > ROOT {
            let parent = hole / ARITY + ROOT - 1;
            let above = *self.at(parent);
            if above <= key {
                break;
            }
            *self.at(hole) = above;
            hole = parent;
        }
        *self.at(hole) = key;
    }

    /// Take the least key.
    #[inline]
    pub fn pop(&mut self) {
        if self.end > ROOT {
            self.end -= 1;
            let end = self.end;
            let last = std::mem::replace(self.at(end), Key::NEVER);
            if end > ROOT {
                self.sink(last);
            }
        }
    }

    #[inline]
    fn sink(&mut self, key: Key) {
        let mut hole = ROOT;
        while let Some(Brood(children)) = self.broods.get(hole - ROOT + 1) {
            let (mut least, mut child) = (children[0], 0);
            for (i, &candidate) in children.iter().enumerate().skip(1) {
                if candidate < least {
                    (least, child) = (candidate, i);
                }
            }
            if key <= least {
                break;
            }
            *self.at(hole) = least;
            hole = (hole - ROOT + 1) * ARITY + child;
        }
        *self.at(hole) = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn keys_come_out_in_order(operations: Vec<Option<u16>>) {
            let (mut heap, mut model) = (Heap::default(), Vec::new());
            for operation in operations {
                match operation.map(|time| Key::new(time.into(), 0)) {
                    Some(key) => { heap.push(key); model.push(key); model.sort_unstable(); }
                    None => { heap.pop(); if !model.is_empty() { model.remove(0); } }
                }
                prop_assert_eq!(heap.peek(), model.first().copied().unwrap_or(Key::NEVER));
            }
        }
    }
}
