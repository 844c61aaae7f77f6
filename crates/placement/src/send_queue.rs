//! The queue of a server that sends one object after another, of which small ones and those that have waited go first.
//! Sources: Wang and Shen, "Proactive Incast Congestion Control in a Datacenter Serving Web Applications" (INFOCOM 2018),
//!          section III-C, equation 2 and Algorithm 3.
//! Law:     the first m objects in the order of arrival form a sub-queue, which is sorted by M = τ^e / B, τ being how long an object
//!          has waited and B its size, the largest M first, and sent out whole before the next one is formed. The paper has e = 3
//!          and, as an example, m = 10; with m = 1 nothing is reordered.
//! Units:   bytes; waits in any unit of time, counted to the power e in 96 bits.
//! Owns:    what waits.
//! Departs: a wait is counted as the sub-queue is formed, and as one tick at least: of objects that came this instant equation 2
//!          would have M = 0 whatever their sizes, and they go by size, as all do that waited alike. Ties go in the order of arrival.
//! Checked: its own tests; the paper's example (Figure 3): 400, 2, 2 and 200 kb, sent at g, are there at 400, 402, 404 and 604, on
//!          average at 452.5/g; Algorithm 3 sends 2, 2, 200 and 400, there at 2, 4, 204 and 604, on average at 203.5/g. The paper's
//!          sums, (400 + 604)/4 = 251 and (204 + 604)/4 = 202, are of two terms each where four objects are waited for.
//!
//! Nobody starves: sub-queues are made of whoever came first, so that all who came before an object are in its sub-queue or an earlier
//! one, and of those who came after it none is in an earlier one. So at most m - 1 that came after it are sent before it: with k before
//! it in the queue and r of a sub-queue yet to be sent, it waits for no more than r + k + m - 1 others, however small these are and
//! however many come.

use std::cmp::Ordering;
use std::collections::VecDeque;

/// The largest exponent: the longest of a sub-queue's waits is then counted in twelve bits.
pub const EXPONENT_MAX: u32 = 8;

/// Bits of a wait to the power of the exponent; a size has the other 32 of 128.
const POWER_BITS: u32 = 96;

/// What waits to be sent.
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
    /// In the order of arrival.
    waiting: VecDeque<Item<T>>,
    /// The last is the next to be sent.
    sub_queue: Vec<T>,
}

impl<T> SendQueue<T> {
    /// One whose sub-queues have so many objects, at least one, and go by the wait to the power of `exponent`, at most
    /// [`EXPONENT_MAX`].
    pub fn new(most: usize, exponent: u32) -> SendQueue<T> {
        SendQueue {
            most: most.max(1),
            exponent: exponent.min(EXPONENT_MAX),
            waiting: VecDeque::new(),
            sub_queue: Vec::new(),
        }
    }

    /// Objects that wait.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.sub_queue.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.sub_queue.is_empty()
    }

    /// An object of so many bytes comes, in any unit of time.
    pub fn push(&mut self, what: T, bytes: u32, now: u64) {
        self.waiting.push_back(Item { what, bytes, since: now });
    }

    /// The next to be sent.
    pub fn pop(&mut self, now: u64) -> Option<T> {
        if self.sub_queue.is_empty() {
            self.form(now);
        }
        self.sub_queue.pop()
    }

    /// The first m become the sub-queue.
    fn form(&mut self, now: u64) {
        let wait = |item: &Item<T>| now.saturating_sub(item.since).max(1);
        let count = self.most.min(self.waiting.len());
        // Only how waits compare matters: all are counted in the same unit, in which the longest has its power in 96 bits.
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

/// How one of M = `power` / `bytes` stands to another, the larger M first: without a division, nothing is rounded. What has no
/// bytes, an answer that there is nothing, counts as a byte.
fn first(one: u128, one_bytes: u32, other: u128, other_bytes: u32) -> Ordering {
    let (one, other) = (one * u128::from(other_bytes.max(1)), other * u128::from(one_bytes.max(1)));
    other.cmp(&one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is sent, in its order, of objects that came at these times, asked for at `now`.
    fn order(most: usize, exponent: u32, objects: &[(u32, u64)], now: u64) -> Vec<u32> {
        let mut queue = SendQueue::new(most, exponent);
        objects.iter().for_each(|&(bytes, since)| queue.push(bytes, bytes, since));
        std::iter::from_fn(|| queue.pop(now)).collect()
    }

    /// When each is there on average, times their number, where a byte takes a tick.
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
    fn the_papers_example_takes_its_order_and_these_times() {
        let came = [(400, 0), (2, 0), (2, 0), (200, 0)];
        let sent = order(10, 3, &came, 50);
        assert_eq!(sent, [2, 2, 200, 400]);
        assert_eq!(sum_of_ends(&came.map(|(bytes, _)| bytes)), 4 * 452 + 2);
        assert_eq!(sum_of_ends(&sent), 4 * 203 + 2);
        // What the paper adds up.
        assert_eq!(((400 + 604) / 4, (204 + 604) / 4), (251, 202));
    }

    #[test]
    fn what_has_waited_twice_as_long_goes_before_what_is_seven_times_smaller_and_behind_what_is_nine_times() {
        // 2^3 = 8.
        assert_eq!(order(10, 3, &[(700, 100), (100, 150)], 200), [700, 100]);
        assert_eq!(order(10, 3, &[(900, 100), (100, 150)], 200), [100, 900]);
        // Alike: in the order of arrival.
        assert_eq!(order(10, 3, &[(800, 100), (100, 150)], 200), [800, 100]);
    }

    #[test]
    fn without_weight_on_waits_the_smallest_goes_first_and_with_sub_queues_of_one_the_oldest() {
        let came = [(30, 0), (10, 90), (20, 95)];
        assert_eq!(order(10, 0, &came, 100), [10, 20, 30]);
        assert_eq!(order(1, 3, &came, 100), [30, 10, 20]);
        // Alike in size: the longest wait first, which is the order of arrival too.
        assert_eq!(order(10, 3, &[(7, 1), (7, 0), (7, 2)], 10), [7, 7, 7]);
    }

    #[test]
    fn a_sub_queue_goes_out_whole_before_smaller_ones_that_came_later() {
        let came = [(50, 0), (40, 0), (30, 0), (3, 0), (2, 0), (1, 0)];
        assert_eq!(order(3, 3, &came, 10), [30, 40, 50, 1, 2, 3]);
    }

    #[test]
    fn those_that_came_this_instant_go_by_size() {
        assert_eq!(order(10, 3, &[(40, 5), (0, 5), (30, 5)], 5), [0, 30, 40]);
    }

    #[test]
    fn the_longest_waits_and_the_largest_sizes_are_counted() {
        for exponent in 0..=EXPONENT_MAX {
            let sent = order(10, exponent, &[(u32::MAX, 0), (u32::MAX - 1, u64::MAX - 1), (1, 0)], u64::MAX);
            assert_eq!(sent[0], 1, "exponent {exponent}: it has waited longest and is the smallest");
            assert_eq!(sent[1] == u32::MAX, exponent > 0, "exponent {exponent}");
        }
    }

    /// A sequence of draws.
    fn below(state: &mut u64, bound: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % bound
    }

    #[test]
    fn no_more_than_a_sub_queue_less_one_of_those_that_came_later_go_before_anybody() {
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
    fn a_sub_queue_is_in_the_order_of_exact_fractions() {
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
