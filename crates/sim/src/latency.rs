//! How long packets take from end to end, by class: exact means, percentiles to 3 %.

use fanin_spec::{FlowKind, LatencyRow};
use fanin_units::Time;

/// The clock that packets carry: 32 bits of 2^14 ps, 16 ns; it wraps after 70 s.
const TICK_BITS: u32 = 14;
/// Buckets between a latency and its double.
const STEPS: usize = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// The time as packets carry it.
#[inline(always)]
pub(crate) fn stamp(now: u64) -> u32 {
    (now >> TICK_BITS) as u32
}

/// What is known of each class, data and pure ACKs apart.
#[derive(Default)]
pub(crate) struct Latencies {
    /// By connection: half an endpoint's number.
    class: Vec<FlowKind>,
    classes: Vec<(FlowKind, bool, Histogram)>,
}

impl Latencies {
    /// A connection's flow is of this class.
    pub fn classify(&mut self, endpoint: u32, kind: FlowKind) {
        let connection = endpoint as usize / 2;
        if self.class.len() <= connection {
            self.class.resize(connection + 1, FlowKind::Answer);
        }
        self.class[connection] = kind;
    }

    /// A packet to this endpoint is there.
    pub fn record(&mut self, now: u64, sent: u32, endpoint: u32, data: bool) {
        let kind = self.class.get(endpoint as usize / 2).copied().unwrap_or_default();
        let place = self.classes.iter().position(|(k, d, _)| (*k, *d) == (kind, data)).unwrap_or_else(|| {
            self.classes.push((kind, data, Histogram::default()));
            self.classes.len() - 1
        });
        self.classes[place].2.add(stamp(now).wrapping_sub(sent));
    }

    /// One row a class, data before ACKs.
    pub fn rows(&self) -> Vec<LatencyRow> {
        let row = |(kind, data, histogram): &(FlowKind, bool, Histogram)| histogram.row(*kind, *data);
        let mut rows: Vec<LatencyRow> = self.classes.iter().map(row).collect();
        rows.sort_by(|a, b| (&b.what, &a.class).cmp(&(&a.what, &b.class)));
        rows
    }
}

/// Counts by latency, in ticks: exact below [`STEPS`], then so many buckets a doubling.
#[derive(Default)]
struct Histogram {
    counts: Vec<u64>,
    packets: u64,
    sum: u64,
    max: u32,
}

impl Histogram {
    fn add(&mut self, ticks: u32) {
        let bucket = bucket(ticks);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.packets += 1;
        self.sum += u64::from(ticks);
        self.max = self.max.max(ticks);
    }

    /// The upper end of the bucket of the p-th per mille, by the nearest rank.
    fn quantile(&self, per_mille: u64) -> u64 {
        let rank = (self.packets * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        let place = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        });
        place.map_or(0, |bucket| upper_end(bucket).min(self.max.into()))
    }

    fn row(&self, class: FlowKind, data: bool) -> LatencyRow {
        let ps = |ticks: u64| Time(ticks << TICK_BITS).0;
        LatencyRow {
            class: class.word().into(),
            what: if data { "data" } else { "ack" }.into(),
            packets: self.packets,
            mean_ps: (u128::from(self.sum) << TICK_BITS).checked_div(self.packets.into()).unwrap_or(0) as u64,
            p50_ps: ps(self.quantile(500)),
            p95_ps: ps(self.quantile(950)),
            p99_ps: ps(self.quantile(990)),
            p999_ps: ps(self.quantile(999)),
            max_ps: ps(self.max.into()),
        }
    }
}

fn bucket(ticks: u32) -> usize {
    if (ticks as usize) < STEPS {
        return ticks as usize;
    }
    let doublings = ticks.ilog2() - STEP_BITS;
    (doublings as usize + 1) * STEPS + (ticks >> doublings) as usize - STEPS
}

/// The largest value of a bucket.
fn upper_end(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let (doublings, step) = (bucket / STEPS - 1, bucket % STEPS + STEPS);
    ((step as u64 + 1) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_lies_in_its_bucket_and_within_three_per_cent_of_its_end() {
        for ticks in (0..100_000).chain([1 << 20, (1 << 30) + 12_345, u32::MAX]) {
            let end = upper_end(bucket(ticks));
            assert!(end >= ticks.into() && end <= u64::from(ticks) + u64::from(ticks) / 32, "{ticks} ends at {end}");
            assert!(bucket(ticks) == 0 || upper_end(bucket(ticks) - 1) < ticks.into(), "{ticks}");
        }
    }

    #[test]
    fn percentiles_are_by_the_nearest_rank() {
        let mut histogram = Histogram::default();
        (1..=20).for_each(|ticks| histogram.add(ticks));
        assert_eq!([500, 950, 990].map(|p| histogram.quantile(p)), [10, 19, 20]);
        let row = histogram.row(FlowKind::Fetch, true);
        assert_eq!((row.mean_ps, row.packets), (21 * (1 << 14) / 2, 20));
    }

    #[test]
    fn a_stamp_that_wraps_still_tells_the_time_between() {
        let mut latencies = Latencies::default();
        let sent = (1u64 << (32 + TICK_BITS)) - (5 << TICK_BITS);
        latencies.record(sent + (9 << TICK_BITS), stamp(sent), 0, true);
        assert_eq!(latencies.rows()[0].max_ps, 9 << TICK_BITS);
    }
}
