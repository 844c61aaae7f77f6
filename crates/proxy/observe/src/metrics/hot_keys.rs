//! The most requested keys of a thread: the sketch Space-Saving of sampled requests (Efficient Computation of
//! Frequent and Top-k Elements in Data Streams, ICDT 2005).
//!
//! Counts are halved every minute, so that the sketch follows the present.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Keys that a sketch has. The count of any key is at most the number of samples divided by this too high.
const KEYS: usize = 256;
/// Mean number of keys per sample.
const EVERY: u64 = 256;
/// Samples that wait to be counted.
const WAITING: usize = 16;
/// Time after which counts are halved.
const HALVED: u64 = 60_000_000_000;

/// A pool's name, and a key.
pub type Key = (Box<str>, Box<[u8]>);

/// Keys of pools with their counts.
#[derive(Debug, Default)]
pub struct Sketch {
    /// Number in `counts`.
    places: BTreeMap<Key, usize>,
    counts: Vec<Count>,
    /// Samples of all keys.
    total: u64,
    halved: u64,
}

/// A key.
#[derive(Clone, Debug)]
struct Count {
    key: Key,
    count: u64,
    /// How much too high the count may be.
    error: u64,
}

impl Sketch {
    /// Counts a key of a pool.
    pub fn add(&mut self, key: Key, now: u64) {
        if now.saturating_sub(self.halved) >= HALVED {
            self.halve(now);
        }
        self.total += 1;
        if let Some(place) = self.places.get(&key) {
            self.counts[*place].count += 1;
            return;
        }
        if self.counts.len() < KEYS {
            self.places.insert(key.clone(), self.counts.len());
            return self.counts.push(Count { key, count: 1, error: 0 });
        }
        // The rarest key gives its place, and its count, to the new one.
        let rarest = self.counts.iter().enumerate().min_by_key(|(_, one)| one.count);
        if let Some((place, Count { key: old, count, .. })) = rarest.map(|(place, one)| (place, one.clone())) {
            self.places.remove(&old);
            self.places.insert(key.clone(), place);
            self.counts[place] = Count { key, count: count + 1, error: count };
        }
    }

    fn halve(&mut self, now: u64) {
        self.halved = now;
        self.total /= 2;
        let counts = std::mem::take(&mut self.counts);
        self.counts.extend(counts.into_iter().filter_map(|one| {
            let half = Count { count: one.count / 2, error: one.error / 2, ..one };
            (half.count > 0).then_some(half)
        }));
        self.places = self.counts.iter().enumerate().map(|(place, one)| (one.key.clone(), place)).collect();
    }

    /// Adds the keys, with counts that are certain, and the number of samples to those of other threads.
    pub fn sum_into(&self, sums: &mut BTreeMap<Key, u64>) -> u64 {
        for one in &self.counts {
            *sums.entry(one.key.clone()).or_default() += one.count - one.error;
        }
        self.total
    }
}

/// Sampling of a thread's keys.
#[derive(Debug)]
pub struct Sampler {
    /// Keys until the next sample.
    left: u64,
    random: StdRng,
    waiting: Vec<Key>,
}

impl Sampler {
    /// A sampler; its seed must be unpredictable.
    pub fn new(seed: u64) -> Sampler {
        let mut random = StdRng::seed_from_u64(seed);
        Sampler { left: skip(&mut random), random, waiting: Vec::new() }
    }

    /// Counts this many keys of a pool; `key` returns one of them by its number.
    #[inline]
    pub fn take<'a>(
        &mut self,
        sketch: &Mutex<Sketch>,
        pool: &str,
        keys: u64,
        now: u64,
        mut key: impl FnMut(u64) -> Option<&'a [u8]>,
    ) {
        let mut number = self.left;
        while number < keys {
            if let Some(key) = key(number) {
                self.waiting.push((Box::from(pool), Box::from(key)));
            }
            number += 1 + skip(&mut self.random);
        }
        self.left = number - keys;
        if self.waiting.len() >= WAITING {
            self.hand_on(sketch, now);
        }
    }

    /// Counts the samples, unless a reader has the sketch; then the next time, or never if there are too many.
    fn hand_on(&mut self, sketch: &Mutex<Sketch>, now: u64) {
        if let Ok(mut sketch) = sketch.try_lock() {
            self.waiting.drain(..).for_each(|key| sketch.add(key, now));
        }
        self.waiting.truncate(4 * WAITING);
    }
}

/// Keys before the next sample: uniform, so that no period of the requests is followed.
fn skip(random: &mut StdRng) -> u64 {
    random.next_u64() % (2 * EVERY)
}

/// The most requested keys of all threads, with their shares of all samples; at most this many.
pub fn hottest(sketches: &[&Mutex<Sketch>], most: usize) -> Vec<(Key, f64)> {
    let mut sums = BTreeMap::new();
    let total: u64 =
        sketches.iter().map(|sketch| sketch.lock().unwrap_or_else(PoisonError::into_inner).sum_into(&mut sums)).sum();
    let mut keys: Vec<_> = sums.into_iter().filter(|(_, count)| *count > 0).collect();
    keys.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
    let share = |count: u64| count as f64 / total.max(1) as f64;
    keys.into_iter().take(most).map(|(key, count)| (key, share(count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_hot_keys_among_many() {
        let (sketch, mut sampler) = (Mutex::new(Sketch::default()), Sampler::new(7));
        let keys: Vec<String> = (0..100_000).map(|number| format!("key{number}")).collect();
        let mut random = StdRng::seed_from_u64(3);
        for _ in 0..400_000 {
            let key = match random.next_u64() % 10 {
                0 | 1 => "hot",
                2 => "warm",
                _ => &keys[random.next_u64() as usize % keys.len()],
            };
            sampler.take(&sketch, "a", 1, 5, |_| Some(key.as_bytes()));
        }
        let found = hottest(&[&sketch], 2);
        let names: Vec<&[u8]> = found.iter().map(|((_, key), _)| &key[..]).collect();
        assert_eq!(names, [&b"hot"[..], b"warm"]);
        assert!((0.15..0.25).contains(&found[0].1) && (0.05..0.15).contains(&found[1].1), "{found:?}");
        assert!(sketch.lock().unwrap().counts.len() <= KEYS);
        // A multiget is sampled like as many gets.
        let before = sketch.lock().unwrap().total;
        (0..1000).for_each(|_| sampler.take(&sketch, "b", 100, 5, |number| Some(keys[number as usize].as_bytes())));
        let samples = sketch.lock().unwrap().total - before;
        assert!((100_000 / EVERY * 8 / 10..100_000 / EVERY * 12 / 10).contains(&samples), "{samples}");
    }

    #[test]
    fn forgets_what_was_hot() {
        let mut sketch = Sketch::default();
        let key = |key: &[u8]| (Box::from("a"), Box::from(key));
        (0..1000).for_each(|_| sketch.add(key(b"old"), 0));
        for minute in 1..20 {
            (0..10).for_each(|_| sketch.add(key(b"new"), minute * HALVED));
        }
        let mut sums = BTreeMap::new();
        sketch.sum_into(&mut sums);
        assert_eq!(sums.keys().map(|(_, key)| &key[..]).collect::<Vec<_>>(), [&b"new"[..]]);
    }
}
