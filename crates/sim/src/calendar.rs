//! The queue of events: a wheel of buckets for what happens soon, a heap for the rest.
//!
//! Only a link's head is in the queue, so that nearly all events lie within one transmission and one propagation of now.
//! The wheel spans that; the bucket at hand is sorted, the others are lists.

use crate::event::Key;
use crate::fetch::fetch;
use crate::heap::Heap;

/// Buckets of the wheel.
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / 64;

/// No node.
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    next: u32,
}

/// A queue of keys, at most one near one for each slot number.
pub(crate) struct Calendar {
    /// Time is shifted right by this to give the number of a bucket.
    shift: u32,
    /// The number of the bucket at hand; those up to `BUCKETS` ahead of it are on the wheel.
    at: u64,
    /// What is left of the bucket at hand, the earliest last.
    hand: Vec<Key>,
    heads: Box<[u32; BUCKETS]>,
    full: [u64; WORDS],
    nodes: Vec<Node>,
    far: Heap,
    /// The least of `far`, or `NEVER`.
    far_first: Key,
}

impl Calendar {
    /// A queue for events that mostly lie within `span` picoseconds of now, one for each of `slots`.
    pub fn new(span: u64, slots: usize) -> Calendar {
        let width = (span / (BUCKETS as u64 - 2)).max(1);
        Calendar {
            shift: width.next_power_of_two().trailing_zeros(),
            at: 0,
            hand: Vec::with_capacity(64),
            heads: Box::new([NIL; BUCKETS]),
            full: [0; WORDS],
            nodes: vec![Node { key: Key::NEVER, next: NIL }; slots],
            far: Heap::default(),
            far_first: Key::NEVER,
        }
    }

    /// Asks for the memory of a slot.
    #[inline(always)]
    pub fn fetch(&self, slot: usize) {
        fetch(&self.nodes[slot]);
    }

    /// Puts in what is likely to be near: the key of a slot that has none.
    #[inline]
    pub fn push(&mut self, slot: usize, key: Key) {
        let bucket = key.time() >> self.shift;
        let ahead = bucket.wrapping_sub(self.at);
        if ahead.wrapping_sub(1) < BUCKETS as u64 - 1 {
            let place = bucket as usize % BUCKETS;
            self.nodes[slot] = Node { key, next: self.heads[place] };
            self.heads[place] = slot as u32;
            self.full[place / 64] |= 1 << (place % 64);
        } else if bucket <= self.at {
            self.push_at_hand(key);
        } else {
            self.push_far(key);
        }
    }

    /// Puts in what is likely to be far: a timer.
    pub fn push_far(&mut self, key: Key) {
        self.far.push(key);
        self.far_first = self.far.peek();
    }

    #[cold]
    fn push_at_hand(&mut self, key: Key) {
        let place = self.hand.partition_point(|&later| later > key);
        self.hand.insert(place, key);
    }

    /// Takes the least key off; `NEVER` where there is none.
    #[inline]
    pub fn pop(&mut self) -> Key {
        if let Some(near) = self.hand.pop() {
            return self.first(near);
        }
        let Some(ahead) = self.next_full() else { return self.pop_far() };
        self.at += ahead;
        let place = self.at as usize % BUCKETS;
        self.full[place / 64] &= !(1 << (place % 64));
        let node = self.nodes[std::mem::replace(&mut self.heads[place], NIL) as usize];
        if node.next == NIL {
            return self.first(node.key);
        }
        self.take_to_hand(node);
        self.pop()
    }

    /// Puts back the key that was taken off last, which is the least.
    pub fn put_back(&mut self, key: Key) {
        self.hand.push(key);
    }

    /// The near key, unless a far one comes before it.
    #[inline]
    fn first(&mut self, near: Key) -> Key {
        if near < self.far_first {
            return near;
        }
        self.hand.push(near);
        self.take_far()
    }

    /// Nothing is near: the wheel goes on from the far one.
    #[cold]
    fn pop_far(&mut self) -> Key {
        if self.far_first != Key::NEVER {
            self.at = self.far_first.time() >> self.shift;
        }
        self.take_far()
    }

    #[cold]
    fn take_far(&mut self) -> Key {
        let far = self.far_first;
        self.far.pop();
        self.far_first = self.far.peek();
        far
    }

    /// Sorts a bucket of several.
    fn take_to_hand(&mut self, first: Node) {
        let mut node = first;
        loop {
            self.hand.push(node.key);
            if node.next == NIL {
                break;
            }
            node = self.nodes[node.next as usize];
        }
        self.hand.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// How many buckets ahead the next full one is.
    #[inline]
    fn next_full(&self) -> Option<u64> {
        let first = (self.at as usize + 1) % BUCKETS;
        let (word, bit) = (first / 64, first % 64);
        let rest = self.full[word] >> bit;
        if rest != 0 {
            return Some(1 + u64::from(rest.trailing_zeros()));
        }
        // On round the wheel, and back to the low bits of the first word.
        (1..=WORDS).find_map(|i| {
            let bits = self.full[(word + i) % WORDS];
            (bits != 0).then(|| (1 + 64 * i - bit) as u64 + u64::from(bits.trailing_zeros()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_out_in_order_wherever_they_lie(pushes: Vec<(u16, u8)>, span in 1u64..5000) {
            let mut calendar = Calendar::new(span, pushes.len());
            let (mut model, mut now) = (Vec::<Key>::new(), 0);
            for (slot, &(ahead, pops)) in pushes.iter().enumerate() {
                let key = Key::new(now + u64::from(ahead), slot as u64);
                calendar.push(slot, key);
                model.push(key);
                model.sort_by(|a, b| b.cmp(a));
                for _ in 0..pops % 3 {
                    let least = model.pop().unwrap_or(Key::NEVER);
                    prop_assert_eq!(calendar.pop(), least);
                    if least != Key::NEVER {
                        now = least.time();
                        // One that is put back is the next, whatever it was taken from.
                        calendar.put_back(least);
                        prop_assert_eq!(calendar.pop(), least);
                    }
                }
            }
        }
    }
}
