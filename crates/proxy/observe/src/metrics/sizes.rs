//! Distribution of sizes: numbers of keys or servers.

use super::counter::Counter;
use super::histogram::{Distribution, Native};

/// Number of bounds, which are powers of two from 1; another bucket takes larger sizes.
const BOUNDS: usize = 17;

/// A size below any.
const SMALLEST: f64 = f64::MIN_POSITIVE;

/// Counts by powers of two.
#[derive(Debug, Default)]
pub struct Sizes {
    counts: [Counter; BOUNDS + 1],
    sum: Counter,
}

impl Sizes {
    /// Counts a size.
    pub fn add(&self, size: u64) {
        let bucket = size.max(1).next_power_of_two().trailing_zeros() as usize;
        self.counts[bucket.min(BOUNDS)].add(1);
        self.sum.add(size);
    }

    /// Sum over threads.
    pub fn distribution<'a>(sizes: impl Iterator<Item = &'a Sizes>) -> Distribution {
        let bounds = (0..BOUNDS).map(|power| (1u64 << power) as f64).chain([f64::INFINITY]);
        let mut buckets: Vec<(f64, u64)> = bounds.map(|bound| (bound, 0)).collect();
        let mut total = 0u64;
        for one in sizes {
            buckets.iter_mut().zip(&one.counts).for_each(|(bucket, count)| bucket.1 += count.get());
            total = total.wrapping_add(one.sum.get());
        }
        let counts = buckets.iter().map(|(_, count)| *count).collect();
        let native = Native { schema: 0, zero: (SMALLEST, 0), first: 0, counts };
        Distribution { buckets, sum: total as f64, native }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive() {
        let sizes = Sizes::default();
        [1, 2, 3, 4, 65_536, 65_537].into_iter().for_each(|size| sizes.add(size));
        let found = Sizes::distribution([&sizes].into_iter());
        let some: Vec<(f64, u64)> = found.buckets.iter().copied().filter(|(_, count)| *count > 0).collect();
        assert_eq!(some, [(1.0, 1), (2.0, 1), (4.0, 2), (65_536.0, 1), (f64::INFINITY, 1)]);
        assert_eq!((found.sum, found.count()), (131_083.0, 6));
    }
}
