//! The event queue: a heap of four children a node over packed keys.

/// A moment and what it is for, packed so that one comparison orders both: time above, rank below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    /// Later than anything.
    pub const NEVER: Key = Key(u128::MAX);

    #[inline]
    pub fn new(time: u64, rank: u64) -> Key {
        Key((time as u128) << 64 | rank as u128)
    }

    #[inline]
    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    pub fn rank(self) -> u64 {
        self.0 as u64
    }
}

/// A min-heap. Ties cannot be told apart, since keys are all that there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    keys: Vec<Key>,
}

const ARITY: usize = 4;

impl Heap {
    /// The least key, or `NEVER`.
    #[inline]
    pub fn peek(&self) -> Key {
        self.keys.first().copied().unwrap_or(Key::NEVER)
    }

    #[inline]
    pub fn push(&mut self, key: Key) {
        let mut hole = self.keys.len();
        self.keys.push(key);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    /// Takes the least key off.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.sink(last);
        }
    }

    /// Puts `key` in the place of the least: cheaper than a pop and a push.
    #[inline]
    pub fn replace_top(&mut self, key: Key) {
        debug_assert!(!self.keys.is_empty());
        self.sink(key);
    }

    #[inline]
    fn sink(&mut self, key: Key) {
        let keys = self.keys.as_mut_slice();
        let mut hole = 0;
        loop {
            let first = hole * ARITY + 1;
            if first >= keys.len() {
                break;
            }
            let children = &keys[first..keys.len().min(first + ARITY)];
            let (mut least, mut child) = (children[0], 0);
            for (i, &candidate) in children.iter().enumerate().skip(1) {
                if candidate < least {
                    (least, child) = (candidate, i);
                }
            }
            if key <= least {
                break;
            }
            keys[hole] = least;
            hole = first + child;
        }
        keys[hole] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_out_in_order_whatever_the_operations(operations: Vec<(u8, u16)>) {
            let (mut heap, mut model) = (Heap::default(), Vec::new());
            for (what, time) in operations {
                let key = Key::new(time.into(), what.into());
                match what % 3 {
                    0 => { heap.push(key); model.push(key); }
                    1 => { heap.pop(); if !model.is_empty() { model.remove(0); } }
                    _ if !model.is_empty() => { heap.replace_top(key); model[0] = key; }
                    _ => {}
                }
                model.sort();
                prop_assert_eq!(heap.peek(), model.first().copied().unwrap_or(Key::NEVER));
            }
        }
    }
}
