//! Event queue: a wheel of buckets for near events, a heap for the rest.
//!
//! Only a link's head is in the queue, so nearly all events are within one transmission and one propagation of now.
//! The wheel spans that, and the timers of senders that pace their packets. With few links nearly every non-empty bucket has one event;
//! with hundreds of busy links buckets have several, which are sorted when their turn comes.

use std::hint::cold_path;
use std::num::NonZeroU64;

use fanin_units::Time;

use crate::event::Key;
use crate::heap::Heap;

/// Buckets of the wheel, and of a word of its bitmap.
const BUCKETS: usize = 4096;
const A_WORD: usize = 64;
const WORDS: usize = BUCKETS / A_WORD;

/// No node; nothing in the hand.
const NIL: u32 = u32::MAX;
/// No node; the hand holds the rest.
const HAND: u32 = NIL - 1;

#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    next: u32,
}

/// A queue of keys, with at most one near key per slot number.
pub(crate) struct Calendar {
    /// Right shift from a time to the number of its bucket.
    shift: u32,
    /// Number of the first bucket of the current word, which contained the last key taken: the wheel covers one turn from there.
    base: u64,
    /// Keys before this time precede all far keys and the time limit.
    bound: u64,
    until: u64,
    /// The least of `far`, or `NEVER`.
    far_first: Key,
    full: [u64; WORDS],
    /// The first key of each bucket, mostly the only one. Boxed, as it is 64 KiB and a world is moved a few times before it runs.
    firsts: Box<[Key; BUCKETS]>,
    /// Further keys of each bucket, as lists of nodes.
    heads: [u32; BUCKETS],
    nodes: Vec<Node>,
    /// Number of nodes that belong to slots; the others are the timers'. And those of timers that are free.
    slots: u32,
    free: Vec<u32>,
    /// Rest of a bucket with several keys, earliest last; and its number.
    hand: Vec<Key>,
    of_hand: usize,
    far: Heap,
}

/// Index of the word with this number of its first bucket.
#[inline(always)]
fn word_of(base: u64) -> usize {
    base as usize / A_WORD % WORDS
}

impl Calendar {
    /// A queue for events mostly within `span` picoseconds of now, one for each of `slots`.
    pub fn new(span: u64, slots: usize) -> Calendar {
        let width = (span / (BUCKETS - A_WORD - 1) as u64).max(1);
        Calendar {
            shift: width.next_power_of_two().trailing_zeros(),
            base: 0,
            bound: 0,
            until: 0,
            far_first: Key::NEVER,
            full: [0; WORDS],
            firsts: Box::new([Key::NEVER; BUCKETS]),
            heads: [NIL; BUCKETS],
            nodes: vec![Node { key: Key::NEVER, next: NIL }; slots],
            slots: slots as u32,
            free: Vec::new(),
            hand: Vec::with_capacity(64),
            of_hand: 0,
            far: Heap::default(),
        }
    }

    /// An empty queue of the same shape, and all remaining keys.
    pub fn emptied(&mut self) -> (Calendar, Vec<Key>) {
        self.serve(Time::NEVER);
        let keys = std::iter::from_fn(|| self.pop()).collect();
        (Calendar { shift: self.shift, ..Calendar::new(1, self.slots as usize) }, keys)
    }

    /// Lower bound of all keys, from the wheel's buckets.
    pub fn first(&self) -> Time {
        let near =
            self.next_word().map_or(u64::MAX, |(base, bits)| (base + u64::from(bits.trailing_zeros())) << self.shift);
        Time(near.min(self.far_first.time()))
    }

    /// Allow keys up to this time to be taken.
    pub fn serve(&mut self, until: Time) {
        self.until = until.0;
        self.look_at_far();
    }

    /// Insert a key that is likely to be near: the key of a slot that has none.
    #[inline(always)]
    pub fn push(&mut self, slot: usize, key: Key) {
        let bucket = key.time() >> self.shift;
        if bucket.wrapping_sub(self.base) >= BUCKETS as u64 {
            return self.push_far(key);
        }
        let place = bucket as usize % BUCKETS;
        if !self.push_first(place, key) {
            self.push_behind(slot, place, key);
        }
    }

    /// Insert a key into an empty bucket; whether it was empty.
    #[inline(always)]
    fn push_first(&mut self, place: usize, key: Key) -> bool {
        let (word, bit) = (&mut self.full[place / A_WORD], 1 << (place % A_WORD));
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.firsts[place] = key;
        true
    }

    /// Insert a key that is not the first in its bucket.
    #[inline(never)]
    fn push_behind(&mut self, slot: usize, place: usize, key: Key) {
        self.nodes[slot] = Node { key, next: self.heads[place] };
        self.heads[place] = slot as u32;
    }

    /// Insert a key that may be near or far: an endpoint's timer, of which there may be several.
    #[inline(never)]
    pub fn push_timer(&mut self, key: Key) {
        let bucket = key.time() >> self.shift;
        if bucket.wrapping_sub(self.base) >= BUCKETS as u64 {
            return self.push_far(key);
        }
        let place = bucket as usize % BUCKETS;
        if !self.push_first(place, key) {
            let node = self.free.pop().unwrap_or_else(|| {
                self.nodes.push(Node { key, next: NIL });
                self.nodes.len() as u32 - 1
            });
            self.push_behind(node as usize, place, key);
        }
    }

    /// A key has left its node.
    #[inline]
    fn left(&mut self, node: u32) {
        if node >= self.slots {
            self.free.push(node);
        }
    }

    /// Insert a key that is likely to be far.
    #[inline(never)]
    pub fn push_far(&mut self, key: Key) {
        self.far.push(key);
        self.look_at_far();
    }

    /// Take the least key within the time limit.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Key> {
        let Some((base, bits)) = self.next_word() else { return self.pop_with_care().there() };
        let word = word_of(base);
        let place = A_WORD * word + bits.trailing_zeros() as usize;
        let key = self.firsts[place];
        if self.heads[place] == NIL && key.time() < self.bound {
            self.base = base;
            self.full[word] = bits.get() & (bits.get() - 1);
            return Some(key);
        }
        self.pop_of_two(base, place).there()
    }

    /// The next word with a non-empty bucket, with the number of its first bucket.
    #[inline(always)]
    fn next_word(&self) -> Option<(u64, NonZeroU64)> {
        if let Some(bits) = NonZeroU64::new(self.full[word_of(self.base)]) {
            return Some((self.base, bits));
        }
        cold_path();
        self.next_but_one()
    }

    #[inline]
    fn next_but_one(&self) -> Option<(u64, NonZeroU64)> {
        let others = (1..WORDS as u64).map(|step| self.base + step * A_WORD as u64);
        let mut full = others.filter_map(|base| Some((base, NonZeroU64::new(self.full[word_of(base)])?)));
        full.next()
    }

    /// Remove all keys.
    pub fn clear(&mut self) {
        self.hand.clear();
        (self.full, self.heads) = ([0; WORDS], [NIL; BUCKETS]);
        self.nodes.truncate(self.slots as usize);
        self.free.clear();
        self.far = Heap::default();
        self.look_at_far();
    }

    /// Whether no keys remain, inside or outside the time limit.
    pub fn is_empty(&self) -> bool {
        self.far_first == Key::NEVER && self.full == [0; WORDS]
    }

    /// Take the least key from a bucket of two; `NEVER` as below.
    #[inline(never)]
    fn pop_of_two(&mut self, base: u64, place: usize) -> Key {
        let (first, head) = (self.firsts[place], self.heads[place]);
        if let Some(&Node { key: last, next: NIL }) = self.nodes.get(head as usize)
            && last.min(first).time() < self.bound
        {
            self.left(head);
            self.base = base;
            self.heads[place] = NIL;
            self.firsts[place] = last.max(first);
            return last.min(first);
        }
        self.pop_with_care()
    }

    /// Take the least key if it may be far, or one of several in a bucket; `NEVER` if none is within the time limit.
    #[inline(never)]
    fn pop_with_care(&mut self) -> Key {
        let place = |(base, bits): (u64, NonZeroU64)| A_WORD * word_of(base) + bits.trailing_zeros() as usize;
        let place = self.next_word().map(place);
        let near = match place {
            Some(place) if self.heads[place] == NIL => self.firsts[place],
            Some(place) => self.first_of(place),
            None => Key::NEVER,
        };
        let key = near.min(self.far_first);
        if key == Key::NEVER || key.time() > self.until {
            return Key::NEVER;
        }
        self.base = key.time() >> self.shift & !(A_WORD as u64 - 1);
        match place.filter(|_| key == near) {
            Some(place) if self.heads[place] == NIL => self.empty(place),
            Some(_) => self.take_of_hand(),
            None => self.take_far(),
        }
        key
    }

    /// The least key of a non-empty bucket, whose keys all move to the hand.
    fn first_of(&mut self, place: usize) -> Key {
        if self.of_hand != place {
            self.put_hand_away();
            self.of_hand = place;
        }
        let mut head = std::mem::replace(&mut self.heads[place], HAND);
        let sorted = self.hand.len();
        if sorted == 0 {
            self.hand.push(self.firsts[place]);
        }
        while let Some(&Node { key, next }) = self.nodes.get(head as usize) {
            let at = if sorted == 0 { self.hand.len() } else { self.hand.partition_point(|&later| later > key) };
            self.hand.insert(at, key);
            self.left(head);
            head = next;
        }
        if sorted == 0 {
            self.hand.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.hand.last().copied().unwrap_or(Key::NEVER)
    }

    /// Return the hand to its bucket: a far key, and now one of an earlier bucket, came after it.
    fn put_hand_away(&mut self) {
        if !self.hand.is_empty() {
            self.first_of(self.of_hand);
            while let Some(key) = self.hand.pop() {
                self.far.push(key);
            }
            self.empty(self.of_hand);
            self.look_at_far();
        }
    }

    fn take_of_hand(&mut self) {
        self.hand.pop();
        if self.hand.is_empty() {
            self.empty(self.of_hand);
        }
    }

    /// Mark a bucket as empty.
    fn empty(&mut self, place: usize) {
        self.heads[place] = NIL;
        self.full[place / A_WORD] &= !(1 << (place % A_WORD));
    }

    fn take_far(&mut self) {
        self.far.pop();
        self.look_at_far();
    }

    fn look_at_far(&mut self) {
        self.far_first = self.far.peek();
        self.bound = self.far_first.time().min(self.until.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn keys_come_out_in_order_within_limit(
            pushes: Vec<(u16, u8, u8)>, span in 1u64..5000, patience in 0u64..2000,
        ) {
            let mut calendar = Calendar::new(span, pushes.len());
            let (mut model, mut now) = (Vec::<Key>::new(), 0);
            for (slot, &(ahead, pops, kind)) in pushes.iter().enumerate() {
                // Many at the same time, and many near.
                let ahead = if ahead % 3 == 0 { u64::from(ahead) } else { u64::from(ahead % 64) / 8 * 8 };
                let key = Key::new(now + ahead, slot as u64);
                match kind % 3 {
                    0 => calendar.push(slot, key),
                    1 => calendar.push_timer(key),
                    _ => calendar.push_far(key),
                }
                model.push(key);
                model.sort_unstable_by(|a, b| b.cmp(a));
                let until = Time(now + patience);
                calendar.serve(until);
                for _ in 0..pops % 3 {
                    let least = model.pop_if(|least| least.time() <= until.0);
                    prop_assert_eq!(calendar.pop(), least);
                    prop_assert_eq!(calendar.is_empty(), model.is_empty());
                    now = least.map_or(now, Key::time);
                }
            }
        }
    }
}
