//! Distributions of times: since start, and of the last one or two counting windows.

use super::counter::Counter;

/// Fine buckets per doubling. Together with the bounds, powers of two of a second, this makes them buckets of Prometheus' native histograms
/// with schema 3.
const PER_DOUBLING: usize = 8;
/// Numbers of powers of two below and above a second.
const BELOW: usize = 20;
const ABOVE: usize = 7;
/// Number of bounds; another bucket takes longer times.
const BOUNDS: usize = (BELOW + ABOVE) * PER_DOUBLING + 1;
/// Upper bounds in nanoseconds: 2^(n/8) s, rounded down, so that a whole number of nanoseconds is in the right bucket.
static UPPER: [u64; BOUNDS] = upper_bounds();
/// Length of a counting window; reports cover the current and the last one.
const SPAN: u64 = 30_000_000_000;

const fn upper_bounds() -> [u64; BOUNDS] {
    // 2^(n/8) in units of 2^-60.
    const PARTS: [u128; PER_DOUBLING] = [
        1152921504606846976,
        1257269815929830108,
        1371062456318104877,
        1495154210581915421,
        1630477228166597776,
        1778048025250290523,
        1938975120585633118,
        2114467362444183333,
    ];
    let (mut bounds, mut number) = ([0; BOUNDS], 0);
    while number < BOUNDS {
        let nanos = PARTS[number % PER_DOUBLING] * 1_000_000_000;
        bounds[number] = (nanos >> (60 + BELOW - number / PER_DOUBLING)) as u64;
        number += 1;
    }
    bounds
}

/// The bucket of a time.
#[inline]
fn bucket(nanos: u64) -> usize {
    if nanos <= UPPER[0] {
        return 0;
    }
    // Between powers of two, equal steps are never above the bounds, and at most two buckets below.
    let upper = nanos.ilog2();
    let eighths = (nanos >> (upper - 3)) & 7;
    let start = START[upper as usize];
    let mut bucket = if start > 0 { (start + eighths as usize).min(BOUNDS) } else { 1 };
    while bucket < BOUNDS && UPPER[bucket] < nanos {
        bucket += 1;
    }
    bucket
}

/// For each power of two in nanoseconds, its bucket.
static START: [usize; 64] = starts();

const fn starts() -> [usize; 64] {
    let (bounds, mut starts, mut power) = (upper_bounds(), [0; 64], 0);
    while power < 64 {
        let mut bucket = 0;
        while bucket < BOUNDS && bounds[bucket] < 1 << power {
            bucket += 1;
        }
        starts[power] = bucket;
        power += 1;
    }
    starts
}

/// A distribution of times since start.
#[derive(Debug)]
pub struct Times {
    /// Counts of groups of buckets.
    counts: Vec<Counter>,
    group: usize,
    /// Sum in nanoseconds.
    sum: Counter,
}

impl Times {
    /// With eight buckets per doubling.
    pub fn fine() -> Times {
        Times::in_groups(1)
    }

    /// With one bucket per doubling.
    pub fn coarse() -> Times {
        Times::in_groups(PER_DOUBLING)
    }

    fn in_groups(group: usize) -> Times {
        let counts = (0..=(BOUNDS - 1) / group + 1).map(|_| Counter::default()).collect();
        Times { counts, group, sum: Counter::default() }
    }

    /// Counts a time.
    pub fn add(&self, nanos: u64) {
        self.add_in(bucket(nanos), nanos);
    }

    fn add_in(&self, bucket: usize, nanos: u64) {
        self.counts[bucket.div_ceil(self.group)].add(1);
        self.sum.add(nanos);
    }
}

/// The sum of distributions of several threads.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// Upper bounds, one per doubling and the last one infinite, and counts.
    pub buckets: Vec<(f64, u64)>,
    /// Sum of all values.
    pub sum: f64,
    /// The same values in finer buckets.
    pub native: Native,
}

/// Buckets of a native histogram of Prometheus.
#[derive(Clone, Debug)]
pub struct Native {
    /// Binary logarithm of the number of buckets per doubling: bucket `n` ends at 2^(n / 2^schema).
    pub schema: i32,
    /// Count of values up to this one.
    pub zero: (f64, u64),
    /// Number of the first bucket, and counts. The last one has all larger values.
    pub first: i32,
    /// Counts of the buckets from `first` on.
    pub counts: Vec<u64>,
}

impl Distribution {
    /// Sum of times, in seconds.
    pub fn of_times<'a>(times: impl Iterator<Item = &'a Times>) -> Distribution {
        let times: Vec<&Times> = times.collect();
        let group = times.first().map_or(PER_DOUBLING, |one| one.group);
        let mut counts = vec![0u64; (BOUNDS - 1) / group + 2];
        for one in &times {
            counts.iter_mut().zip(&one.counts).for_each(|(sum, count)| *sum += count.get());
        }
        let nanos = times.iter().fold(0u64, |sum, one| sum.wrapping_add(one.sum.get()));
        let bounds = (0..BOUNDS.div_ceil(PER_DOUBLING)).map(|doubling| libm::exp2(doubling as f64 - BELOW as f64));
        let mut buckets: Vec<(f64, u64)> = bounds.chain([f64::INFINITY]).map(|bound| (bound, 0)).collect();
        for (number, count) in counts.iter().enumerate() {
            buckets[(number * group).div_ceil(PER_DOUBLING)].1 += count;
        }
        let native = Native {
            schema: (PER_DOUBLING / group).ilog2() as i32,
            zero: (buckets[0].0, counts[0]),
            first: 1 - (BELOW * PER_DOUBLING / group) as i32,
            counts: counts.split_off(1),
        };
        Distribution { buckets, sum: nanos as f64 / 1e9, native }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}

/// The histogram of the last counting windows and, if wanted, of all times since start.
#[derive(Debug)]
pub struct Histogram {
    /// Two windows that alternate.
    counts: [Vec<Counter>; 2],
    /// Index of the last window counted.
    span: Counter,
    all: Option<Times>,
}

impl Histogram {
    /// An empty histogram; `all`: since start, too.
    pub fn new(all: bool) -> Histogram {
        let counts = || (0..=BOUNDS).map(|_| Counter::default()).collect();
        Histogram { counts: [counts(), counts()], span: Counter::default(), all: all.then(Times::fine) }
    }

    /// Counts a request that took this long and ends now.
    pub fn add(&self, now: u64, nanos: u64) {
        let (span, last) = (now / SPAN, self.span.get());
        if span != last {
            // Forget windows that are two or more back.
            let old = if span == last + 1 { &self.counts[span as usize % 2..][..1] } else { &self.counts[..] };
            old.iter().flatten().for_each(|counter| counter.less(counter.get()));
            self.span.add(span - last);
        }
        let bucket = bucket(nanos);
        self.counts[span as usize % 2][bucket].add(1);
        if let Some(all) = &self.all {
            all.add_in(bucket, nanos);
        }
    }

    /// All times since start, if they are counted.
    pub fn all(&self) -> Option<&Times> {
        self.all.as_ref()
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

/// Percentiles in nanoseconds over all threads' histograms (upper ends of buckets), given per mille.
pub fn percentiles<'a>(took: impl Iterator<Item = &'a Histogram> + Clone, now: u64, thousandths: &[u64]) -> Vec<u64> {
    let sums: Vec<u64> = (0..=BOUNDS).map(|index| took.clone().map(|one| one.recent(now, index)).sum()).collect();
    let total: u64 = sums.iter().sum();
    let at = |part: u64| {
        let (mut seen, wanted) = (0, (total * part).div_ceil(1000).max(1));
        let index = sums.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        index.map_or(0, |index| UPPER[index.min(BOUNDS - 1)])
    };
    thousandths.iter().map(|part| at(*part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_within_an_eighth() {
        let took = Histogram::new(false);
        (1..=1000).for_each(|micros| took.add(5, micros * 1000));
        for (part, nanos) in [(500, 500_000), (990, 990_000), (999, 999_000)] {
            let found = percentiles([&took].into_iter(), 5, &[part])[0];
            assert!((nanos..=nanos * 9 / 8 + 1).contains(&found), "{part}: {found}");
        }
        assert_eq!(percentiles(std::iter::empty(), 5, &[500]), [0]);
    }

    #[test]
    fn forgets_earlier_windows() {
        let took = Histogram::new(false);
        let median = |now| percentiles([&took].into_iter(), now, &[500])[0] / 1000;
        (0..9).for_each(|_| took.add(1, 1_000_000));
        assert!([1, SPAN - 1, SPAN, 2 * SPAN - 1].iter().all(|now| median(*now) >= 1000));
        assert_eq!(median(2 * SPAN), 0);
        took.add(SPAN, 8_000);
        assert!(median(SPAN) >= 1000 && (8..10).contains(&median(2 * SPAN)), "{}", median(2 * SPAN));
        took.add(9 * SPAN, 16_000);
        assert!((16..19).contains(&median(9 * SPAN)));
    }

    #[test]
    fn bucket_contains_its_time() {
        let is_in = |nanos: u64| {
            let bucket = bucket(nanos);
            (bucket == 0 || UPPER[bucket - 1] < nanos) && (bucket == BOUNDS || nanos <= UPPER[bucket])
        };
        assert!(UPPER.iter().all(|bound| [bound - 1, *bound, bound + 1].into_iter().all(is_in)));
        assert!((0..64).all(|power| is_in(1 << power)) && is_in(0) && is_in(u64::MAX));
        let seconds = |bucket: usize| UPPER[bucket] as f64 / 1e9;
        assert_eq!((seconds(0), seconds(BELOW * 8), seconds(BOUNDS - 1)), (953e-9, 1.0, 128.0));
        assert!((seconds(BELOW * 8 + 1) - 1.090507732).abs() < 1e-8);
    }

    #[test]
    fn distributions_sum_threads() {
        let (fine, coarse) = (Times::fine(), Times::coarse());
        for nanos in [0, 1_000_000_000, 1_000_000_001, 3_000_000_000, 200_000_000_000] {
            fine.add(nanos);
            coarse.add(nanos);
        }
        for (times, schema) in [(&fine, 3), (&coarse, 0)] {
            let sum = Distribution::of_times([times, times].into_iter());
            let found: Vec<(f64, u64)> = sum.buckets.iter().copied().filter(|(_, count)| *count > 0).collect();
            assert_eq!(found, [(libm::exp2(-20.0), 2), (1.0, 2), (2.0, 2), (4.0, 2), (f64::INFINITY, 2)]);
            assert_eq!((sum.count(), sum.sum.round()), (10, 410.0));
            // A second is the end of bucket 0; 2^(13/8) s is the next bound above three seconds.
            let Native { schema: own, zero, first, counts } = sum.native;
            let at = |index: i32| counts[(index - first) as usize];
            let third = if schema == 3 { 13 } else { 2 };
            assert_eq!((own, zero.1, at(0), at(1), at(third)), (schema, 2, 2, 2, 2));
            assert_eq!(zero.1 + counts.iter().sum::<u64>(), 10);
        }
    }
}
