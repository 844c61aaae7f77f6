//! A heap of four children a node over packed keys.

use crate::event::Key;

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
        fn keys_come_out_in_order_whatever_the_operations(operations: Vec<Option<u16>>) {
            let (mut heap, mut model) = (Heap::default(), Vec::new());
            for operation in operations {
                match operation.map(|time| Key::new(time.into(), 0)) {
                    Some(key) => { heap.push(key); model.push(key); model.sort(); }
                    None => { heap.pop(); if !model.is_empty() { model.remove(0); } }
                }
                prop_assert_eq!(heap.peek(), model.first().copied().unwrap_or(Key::NEVER));
            }
        }
    }
}
