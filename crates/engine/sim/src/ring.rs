//! FIFO in a power of two of slots: empty before the first push, grows when full, shrinks once it is empty.

use std::hint::cold_path;

use crate::fetch::fetch;

/// Minimum number of slots to free.
const MANY: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    slots: Box<[T]>,
    head: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    pub fn new() -> Ring<T> {
        Ring { slots: Box::default(), head: 0, len: 0 }
    }

    /// Prefetch the slot this far from the head, if there is one.
    #[inline(always)]
    pub fn fetch(&self, i: usize) {
        if let Some(slot) = self.slots.get(self.head.wrapping_add(i as u32) as usize & self.slots.len().wrapping_sub(1))
        {
            fetch(slot);
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    fn at(&self, i: usize) -> usize {
        (self.head as usize).wrapping_add(i) & (self.slots.len() - 1)
    }

    /// The `i`th from the head, which exists.
    #[inline]
    pub fn get(&self, i: usize) -> &T {
        debug_assert!(i < self.len());
        &self.slots[self.at(i)]
    }

    #[inline]
    pub fn get_mut(&mut self, i: usize) -> &mut T {
        debug_assert!(i < self.len());
        let at = self.at(i);
        &mut self.slots[at]
    }

    /// The slot after all others, which may hold an old value: the new value is built in place.
    #[inline(always)]
    pub fn push(&mut self) -> &mut T {
        // Not `==`, so that the compiler knows that slots exist if one is free.
        if self.len() >= self.slots.len() {
            return self.push_grown();
        }
        let at = self.at(self.len());
        self.len += 1;
        &mut self.slots[at]
    }

    #[cold]
    fn push_grown(&mut self) -> &mut T {
        self.grow();
        let at = self.len();
        self.len += 1;
        &mut self.slots[at]
    }

    /// Take the head, which exists, and return the slot of the next, which may be unused.
    #[inline(always)]
    pub fn pop(&mut self) -> (T, &T) {
        debug_assert!(self.len > 0);
        let (head, mask) = (self.head as usize, self.slots.len() - 1);
        let value = self.slots[head];
        let next = (head + 1) & mask;
        self.head = next as u32;
        self.len -= 1;
        (value, &self.slots[next])
    }

    /// Remove `count` from the head.
    pub fn forget(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        self.head = self.at(count) as u32;
        self.len -= count as u32;
    }

    /// Remove the `i`th from the head: those before it move up.
    pub fn remove(&mut self, i: usize) -> T {
        let value = *self.get(i);
        for i in (0..i).rev() {
            *self.get_mut(i + 1) = *self.get(i);
        }
        self.pop();
        value
    }

    /// Move the `from`th to place `to` before it: those between move back.
    pub fn lift(&mut self, from: usize, to: usize) {
        let value = *self.get(from);
        for i in (to..from).rev() {
            *self.get_mut(i + 1) = *self.get(i);
        }
        *self.get_mut(to) = value;
    }

    /// Move the last one to place `to` before it. Either those between move back or those before move forward, whichever are fewer.
    pub fn lift_last(&mut self, to: usize) {
        let last = self.len() - 1;
        if last - to <= to {
            return self.lift(last, to);
        }
        let value = *self.get(last);
        self.head = self.head.wrapping_sub(1) & (self.slots.len() as u32 - 1);
        for i in 0..to {
            *self.get_mut(i) = *self.get(i + 1);
        }
        *self.get_mut(to) = value;
    }

    /// If empty, free a large allocation. Of a hundred thousand links that were once full, few are full at a time.
    #[inline(always)]
    pub fn rest(&mut self) {
        if self.len == 0 && self.slots.len() >= MANY {
            cold_path();
            (self.slots, self.head) = (Box::default(), 0);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots: Vec<T> = (0..self.len()).map(|i| *self.get(i)).collect();
        slots.resize((2 * self.slots.len()).max(1), T::default());
        (self.slots, self.head) = (slots.into(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    use proptest::prelude::*;

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn ring_is_a_fifo_with_removal(operations: Vec<Option<u8>>) {
            let (mut ring, mut model) = (Ring::new(), VecDeque::new());
            for operation in operations {
                match operation {
                    Some(value) if value < 40 && !model.is_empty() => {
                        let at = usize::from(value) % model.len();
                        prop_assert_eq!(Some(ring.remove(at)), model.remove(at));
                    }
                    Some(value) if value < 80 && !model.is_empty() => {
                        let from = usize::from(value) % model.len();
                        let to = from / 2;
                        ring.lift(from, to);
                        let lifted = model.remove(from).expect("it is there");
                        model.insert(to, lifted);
                    }
                    Some(value) if value < 110 && !model.is_empty() => {
                        let to = usize::from(value) % model.len();
                        ring.lift_last(to);
                        let lifted = model.pop_back().expect("it is there");
                        model.insert(to, lifted);
                    }
                    Some(value) => { *ring.push() = value; model.push_back(value); }
                    None if !model.is_empty() => prop_assert_eq!(Some(ring.pop().0), model.pop_front()),
                    None => {}
                }
                ring.rest();
                prop_assert_eq!(ring.len(), model.len());
                for (i, value) in model.iter().enumerate() {
                    prop_assert_eq!(ring.get(i), value);
                }
            }
        }
    }
}
