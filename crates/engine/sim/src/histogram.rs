//! Weighted values: exact mean, percentiles to 3 %.

/// Buckets between a value and its double.
const STEPS: usize = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Weights by value: exact below [`STEPS`], then that many buckets per doubling.
#[derive(Clone, Default)]
pub(crate) struct Histogram {
    weights: Vec<u64>,
    weight: u64,
    sum: u128,
    max: u32,
}

impl Histogram {
    /// Add a value with a weight.
    pub fn add(&mut self, value: u32, weight: u64) {
        let bucket = bucket(value);
        if self.weights.len() <= bucket {
            self.weights.resize(bucket + 1, 0);
        }
        self.weights[bucket] += weight;
        self.weight += weight;
        self.sum += u128::from(value) * u128::from(weight);
        self.max = self.max.max(value);
    }

    /// The weight of all values.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The mean in units of two to the minus `bits`; zero if empty.
    pub fn mean(&self, bits: u32) -> u64 {
        (self.sum << bits).checked_div(self.weight.into()).unwrap_or(0) as u64
    }

    /// The largest value.
    pub fn max(&self) -> u32 {
        self.max
    }

    /// The upper end of the bucket of the p-th per mille, by the nearest rank.
    pub fn quantile(&self, per_mille: u64) -> u32 {
        let rank = (u128::from(self.weight) * u128::from(per_mille)).div_ceil(1000).max(1);
        let mut seen = 0;
        let place = self.weights.iter().position(|&weight| {
            seen += u128::from(weight);
            seen >= rank
        });
        place.map_or(0, |bucket| upper_end(bucket).min(self.max))
    }
}

fn bucket(value: u32) -> usize {
    if (value as usize) < STEPS {
        return value as usize;
    }
    let doublings = value.ilog2() - STEP_BITS;
    (doublings as usize + 1) * STEPS + (value >> doublings) as usize - STEPS
}

/// The largest value of a bucket.
fn upper_end(bucket: usize) -> u32 {
    if bucket < STEPS {
        return bucket as u32;
    }
    let (doublings, step) = (bucket / STEPS - 1, bucket % STEPS + STEPS);
    (((step as u64 + 1) << doublings) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_bounds_are_within_three_percent() {
        for value in (0..100_000).chain([1 << 20, (1 << 30) + 12_345, u32::MAX]) {
            let end = upper_end(bucket(value));
            assert!(end >= value && end - value <= value / 32, "{value} ends at {end}");
            assert!(bucket(value) == 0 || upper_end(bucket(value) - 1) < value, "{value}");
        }
    }

    #[test]
    fn percentiles_are_by_the_nearest_rank() {
        let mut histogram = Histogram::default();
        (1..=20).for_each(|value| histogram.add(value, 1));
        assert_eq!([500, 950, 990].map(|p| histogram.quantile(p)), [10, 19, 20]);
    }

    #[test]
    fn a_value_counts_by_its_weight() {
        let mut histogram = Histogram::default();
        histogram.add(0, 90);
        histogram.add(20, 10);
        assert_eq!((histogram.mean(0), histogram.mean(1), histogram.weight()), (2, 4, 100));
        assert_eq!([900, 901].map(|p| histogram.quantile(p)), [0, 20]);
    }
}
