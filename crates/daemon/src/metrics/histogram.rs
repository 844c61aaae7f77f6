//! Latency histogram of the last one or two counting windows.

use super::counter::Counter;

/// Number of buckets: eight per doubling, from a nanosecond on.
const BUCKETS: usize = 8 * 48;
/// Length of a counting window; reports cover the current and the last one.
const SPAN: u64 = 30_000_000_000;

/// The histogram.
#[derive(Debug)]
pub struct Histogram {
    /// Two windows that alternate.
    counts: [Vec<Counter>; 2],
    /// Index of the last window counted.
    span: Counter,
}

impl Default for Histogram {
    fn default() -> Histogram {
        let counts = || (0..BUCKETS).map(|_| Counter::default()).collect();
        Histogram { counts: [counts(), counts()], span: Counter::default() }
    }
}

impl Histogram {
    /// Counts a request that took this long and ends now.
    pub fn add(&self, now: u64, nanos: u64) {
        let (span, last) = (now / SPAN, self.span.get());
        if span != last {
            // Forget windows that are two or more back.
            let old = if span == last + 1 { &self.counts[span as usize % 2..][..1] } else { &self.counts[..] };
            old.iter().flatten().for_each(|counter| counter.less(counter.get()));
            self.span.add(span - last);
        }
        self.counts[span as usize % 2][bucket(nanos)].add(1);
    }

    /// Count of a bucket in the current and the last window.
    fn recent(&self, now: u64, bucket: usize) -> u64 {
        let passed = (now / SPAN).saturating_sub(self.span.get());
        let present = self.span.get() as usize % 2;
        match passed {
            0 => self.counts[0][bucket].get() + self.counts[1][bucket].get(),
            1 => self.counts[present][bucket].get(),
            _ => 0,
        }
    }
}

fn bucket(nanos: u64) -> usize {
    let nanos = nanos.max(8);
    let upper = 63 - nanos.leading_zeros() as usize;
    let next = (nanos >> (upper - 3)) as usize & 7;
    (upper * 8 + next).min(BUCKETS - 1)
}

/// Lower end of a bucket.
fn least(bucket: usize) -> u64 {
    let (upper, next) = (bucket / 8, bucket as u64 % 8);
    (8 + next) << upper >> 3
}

/// Percentiles in nanoseconds over all threads' histograms (upper ends of buckets), given per mille.
pub fn percentiles<'a>(took: impl Iterator<Item = &'a Histogram> + Clone, now: u64, thousandths: &[u64]) -> Vec<u64> {
    let sums: Vec<u64> = (0..BUCKETS).map(|index| took.clone().map(|one| one.recent(now, index)).sum()).collect();
    let total: u64 = sums.iter().sum();
    let at = |part: u64| {
        let (mut seen, wanted) = (0, (total * part).div_ceil(1000).max(1));
        let index = sums.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        index.map_or(0, |index| least(index + 1))
    };
    thousandths.iter().map(|part| at(*part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_within_an_eighth() {
        let took = Histogram::default();
        (1..=1000).for_each(|micros| took.add(5, micros * 1000));
        for (part, nanos) in [(500, 500_000), (990, 990_000), (999, 999_000)] {
            let found = percentiles([&took].into_iter(), 5, &[part])[0];
            assert!((nanos..=nanos * 9 / 8 + 1).contains(&found), "{part}: {found}");
        }
        assert_eq!(percentiles(std::iter::empty(), 5, &[500]), [0]);
    }

    #[test]
    fn forgets_earlier_windows() {
        let took = Histogram::default();
        let median = |now| percentiles([&took].into_iter(), now, &[500])[0] / 1000;
        (0..9).for_each(|_| took.add(1, 1_000_000));
        assert!([1, SPAN - 1, SPAN, 2 * SPAN - 1].iter().all(|now| median(*now) >= 1000));
        assert_eq!(median(2 * SPAN), 0);
        took.add(SPAN, 8_000);
        assert!(median(SPAN) >= 1000 && (8..10).contains(&median(2 * SPAN)), "{}", median(2 * SPAN));
        took.add(9 * SPAN, 16_000);
        assert!((16..19).contains(&median(9 * SPAN)));
    }
}
