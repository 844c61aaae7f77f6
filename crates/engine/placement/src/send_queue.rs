//! Send queue of a server: small objects and those that have waited go first.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-C, equation 2 and Algorithm 3.
//! Law:     the first m objects in arrival order form a sub-queue, sorted by M = τ^e / B, where τ is the waiting time of an object and B
//!          its size, the largest M first. It is sent completely before the next one is formed. The paper has e = 3 and, as an example,
//!          m = 10; m = 1 changes no order.
//! Units:   bytes; waits in any unit of time, counted to the power e in 96 bits.
//! Owns:    the waiting objects.
//! Departs: waiting times are taken when the sub-queue is formed, and are at least one tick: equation 2 would give M = 0 to all objects
//!          that have just arrived, whatever their sizes. Objects with equal waiting times go by size. Ties go in arrival order.
//! Checked: its own tests; the paper's example (Figure 3): 400, 2, 2 and 200 kb, sent at rate g, complete at 400, 402, 404 and 604, mean
//!          452.5/g; Algorithm 3 sends 2, 2, 200 and 400, complete at 2, 4, 204 and 604, mean 203.5/g. The paper's sums,
//!          (400 + 604)/4 = 251 and (204 + 604)/4 = 202, have two terms each for four objects.
//!
//! There is no starvation: sub-queues are formed in arrival order, so earlier objects are in the same or an earlier sub-queue, and later
//! ones never in an earlier one. So at most m - 1 later objects are sent before an object: with k before it in the queue and r left of a
//! sub-queue, it waits for at most r + k + m - 1 others, whatever their sizes and number.

use std::cmp::Ordering;
use std::collections::VecDeque;

/// Maximum exponent: the longest waiting time of a sub-queue then has twelve bits.
pub const EXPONENT_MAX: u32 = 8;

/// Bits of a waiting time to the power of the exponent; a size has the other 32 of 128.
const POWER_BITS: u32 = 96;

/// A waiting object.
#[derive(Clone, Debug)]
struct Item<T> {
    what: T,
    bytes: u32,
    since: u64,
}

/// The queue.
#[derive(Clone, Debug)]
pub struct SendQueue<T> {
    most: usize,
    exponent: u32,
    /// In arrival order.
    waiting: VecDeque<Item<T>>,
    /// The last is the next to send.
    sub_queue: Vec<T>,
}

impl<T> SendQueue<T> {
    /// A queue with this maximum size of sub-queues, at least one, and this exponent, at most [`EXPONENT_MAX`].
    pub fn new(most: usize, exponent: u32) -> SendQueue<T> {
        SendQueue {
            most: most.max(1),
            exponent: exponent.min(EXPONENT_MAX),
            waiting: VecDeque::new(),
            sub_queue: Vec::new(),
        }
    }

    /// Number of waiting objects.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.sub_queue.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.sub_queue.is_empty()
    }

    /// Adds an object at a time, in any unit.
    pub fn push(&mut self, what: T, bytes: u32, now: u64) {
        self.waiting.push_back(Item { what, bytes, since: now });
    }

    /// Removes the next object to send.
    pub fn pop(&mut self, now: u64) -> Option<T> {
        if self.sub_queue.is_empty() {
            self.form(now);
        }
        self.sub_queue.pop()
    }

    /// Forms a sub-queue of the first m objects.
    fn form(&mut self, now: u64) {
        let wait = |item: &Item<T>| now.saturating_sub(item.since).max(1);
        let count = self.most.min(self.waiting.len());
        // Only ratios of waiting times matter: scale them so that the longest to the power fits 96 bits.
        let longest = self.waiting.iter().take(count).map(wait).max().unwrap_or(1);
        let room = POWER_BITS.checked_div(self.exponent).unwrap_or(u64::BITS).min(u64::BITS);
        let shift = (u64::BITS - longest.leading_zeros()).saturating_sub(room);
        let exponent = self.exponent;
        let power = |item: &Item<T>| u128::from((wait(item) >> shift).max(1)).pow(exponent);
        let mut items: Vec<(u128, Item<T>)> = self.waiting.drain(..count).map(|item| (power(&item), item)).collect();
        items.sort_by(|(one, a), (other, b)| first(*one, a.bytes, *other, b.bytes));
        self.sub_queue.extend(items.into_iter().rev().map(|(_, item)| item.what));
    }
}

/// Compares M = `power` / `bytes` without division or rounding, the larger first. Zero bytes, a response to a miss, count as one.
fn first(one: u128, one_bytes: u32, other: u128, other_bytes: u32) -> Ordering {
    let (one, other) = (one * u128::from(other_bytes.max(1)), other * u128::from(one_bytes.max(1)));
    other.cmp(&one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Order in which objects with these arrival times are sent when popped at `now`.
    fn order(most: usize, exponent: u32, objects: &[(u32, u64)], now: u64) -> Vec<u32> {
        let mut queue = SendQueue::new(most, exponent);
        objects.iter().for_each(|&(bytes, since)| queue.push(bytes, bytes, since));
        std::iter::from_fn(|| queue.pop(now)).collect()
    }

    /// Sum of completion times if a byte takes a tick.
    fn sum_of_ends(sizes: &[u32]) -> u32 {
        let mut at = 0;
        sizes
            .iter()
            .map(|bytes| {
                at += bytes;
                at
            })
            .sum()
    }

    #[test]
    fn papers_example_has_expected_order_and_times() {
        let came = [(400, 0), (2, 0), (2, 0), (200, 0)];
        let sent = order(10, 3, &came, 50);
        assert_eq!(sent, [2, 2, 200, 400]);
        assert_eq!(sum_of_ends(&came.map(|(bytes, _)| bytes)), 4 * 452 + 2);
        assert_eq!(sum_of_ends(&sent), 4 * 203 + 2);
        // The paper's sums.
        assert_eq!(((400 + 604) / 4, (204 + 604) / 4), (251, 202));
    }

    #[test]
    fn orders_by_wait_cubed_over_size() {
        // 2^3 = 8.
        assert_eq!(order(10, 3, &[(700, 100), (100, 150)], 200), [700, 100]);
        assert_eq!(order(10, 3, &[(900, 100), (100, 150)], 200), [100, 900]);
        // Equal: in arrival order.
        assert_eq!(order(10, 3, &[(800, 100), (100, 150)], 200), [800, 100]);
    }

    #[test]
    fn extreme_settings_give_size_or_arrival_order() {
        let came = [(30, 0), (10, 90), (20, 95)];
        assert_eq!(order(10, 0, &came, 100), [10, 20, 30]);
        assert_eq!(order(1, 3, &came, 100), [30, 10, 20]);
        // Equal sizes: the longest waiting time first, which is also arrival order.
        assert_eq!(order(10, 3, &[(7, 1), (7, 0), (7, 2)], 10), [7, 7, 7]);
    }

    #[test]
    fn sends_sub_queue_before_later_arrivals() {
        let came = [(50, 0), (40, 0), (30, 0), (3, 0), (2, 0), (1, 0)];
        assert_eq!(order(3, 3, &came, 10), [30, 40, 50, 1, 2, 3]);
    }

    #[test]
    fn new_arrivals_go_by_size() {
        assert_eq!(order(10, 3, &[(40, 5), (0, 5), (30, 5)], 5), [0, 30, 40]);
    }

    #[test]
    fn counts_the_longest_waits_and_the_largest_sizes() {
        for exponent in 0..=EXPONENT_MAX {
            let sent = order(10, exponent, &[(u32::MAX, 0), (u32::MAX - 1, u64::MAX - 1), (1, 0)], u64::MAX);
            assert_eq!(sent[0], 1, "exponent {exponent}: it has waited longest and is the smallest");
            assert_eq!(sent[1] == u32::MAX, exponent > 0, "exponent {exponent}");
        }
    }

    /// A sequence of random numbers.
    fn below(state: &mut u64, bound: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % bound
    }

    #[test]
    fn bounds_overtaking_by_later_arrivals() {
        for case in 0..500 {
            let state = &mut { case };
            let (most, exponent) = (1 + below(state, 12) as usize, below(state, 9) as u32);
            let mut queue = SendQueue::new(most, exponent);
            let (mut now, mut came, mut sent) = (0, 0u32, Vec::new());
            // Many small ones after few large ones, in bursts.
            for _ in 0..400 {
                now += below(state, 1_000);
                for _ in 0..below(state, 4) {
                    let bytes = if below(state, 5) == 0 { 1_000_000 } else { 1 + below(state, 100) as u32 };
                    queue.push(came, bytes, now);
                    came += 1;
                }
                sent.extend(queue.pop(now));
            }
            sent.extend(std::iter::from_fn(|| queue.pop(now)));
            assert!(queue.is_empty() && sent.len() == came as usize, "each is sent once");
            for (place, &object) in sent.iter().enumerate() {
                let later = sent[..place].iter().filter(|&&other| other > object).count();
                assert!(later < most, "case {case}: {later} went before {object} with sub-queues of {most}");
            }
        }
    }

    #[test]
    fn sorts_by_exact_fractions() {
        for case in 0..500 {
            let state = &mut { case };
            let came: Vec<(u32, u64)> =
                (0..10).map(|_| (1 + below(state, 1_024) as u32, below(state, 2_000))).collect();
            let sent = order(10, 3, &came, 2_000);
            let m = |&(bytes, since): &(u32, u64)| (u128::from(2_000 - since).pow(3), u128::from(bytes));
            let mut by_m: Vec<usize> = (0..10).collect();
            by_m.sort_by(|&a, &b| {
                let ((p, q), (r, s)) = (m(&came[a]), m(&came[b]));
                (r * q).cmp(&(p * s)).then(a.cmp(&b))
            });
            let expected: Vec<u32> = by_m.into_iter().map(|place| came[place].0).collect();
            assert_eq!(sent, expected, "case {case}");
        }
    }
}
