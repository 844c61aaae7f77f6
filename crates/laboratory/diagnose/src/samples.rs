//! Samples of a measured value, in bounded memory.

/// Maximum number of samples per host and kind; beyond it, every second one is kept, and so on.
const MOST_SAMPLES: usize = 4096;

/// Samples, thinned evenly if there are many.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    kept: Vec<u64>,
    every: u64,
    count: u64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples { kept: Vec::new(), every: 1, count: 0 }
    }
}

impl Samples {
    pub fn add(&mut self, sample: u64) {
        if self.count.is_multiple_of(self.every) {
            self.kept.push(sample);
            if self.kept.len() >= MOST_SAMPLES {
                let mut place = 0;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.every *= 2;
            }
        }
        self.count += 1;
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn kept(&self) -> &[u64] {
        &self.kept
    }

    /// The quantile of the samples for this share.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        quantile(&self.kept, share)
    }
}

/// The quantile of values for this share: the nearest rank.
pub(crate) fn quantile(values: &[u64], share: f64) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[((last as f64 * share).round() as usize).min(last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_quantiles_of_samples() {
        let mut samples = Samples::default();
        (0..1_000_000).for_each(|n| samples.add(n));
        assert!(samples.kept.len() < MOST_SAMPLES);
        assert!(samples.quantile(0.5).unwrap().abs_diff(500_000) < 5_000);
        assert_eq!(samples.count(), 1_000_000);
    }
}
