//! One-way latency of packets by class: exact means, percentiles to 3 %.

use fanin_tables::{FlowKind, LatencyRow};
use fanin_units::Time;

use crate::histogram::Histogram;
use crate::slot::Slot;

/// Clock of packets' timestamps: 32 bits of 2^14 ps, 16 ns; wraps after 70 s.
const TICK_BITS: u32 = 14;

/// A packet's timestamp for this time.
#[inline(always)]
pub(crate) fn stamp(now: u64) -> u32 {
    (now >> TICK_BITS) as u32
}

/// Latencies by class, data and pure ACKs apart.
#[derive(Default)]
pub(crate) struct Latencies {
    /// By pair of slots.
    class: Vec<FlowKind>,
    classes: Vec<(FlowKind, bool, Histogram)>,
}

impl Latencies {
    /// Set the class of a connection's flows by a slot of one of its ends.
    pub fn classify(&mut self, end: Slot, kind: FlowKind) {
        let pair = end.of_pair() as usize;
        if self.class.len() <= pair {
            self.class.resize(pair + 1, FlowKind::Answer);
        }
        self.class[pair] = kind;
    }

    /// Discard latencies so far.
    pub fn forget(&mut self) {
        self.classes.clear();
    }

    /// Record the arrival of a packet to this slot.
    pub fn record(&mut self, now: u64, sent: u32, to: Slot, data: bool) {
        let kind = self.class.get(to.of_pair() as usize).copied().unwrap_or_default();
        let place = self.classes.iter().position(|(k, d, _)| (*k, *d) == (kind, data)).unwrap_or_else(|| {
            self.classes.push((kind, data, Histogram::default()));
            self.classes.len() - 1
        });
        self.classes[place].2.add(stamp(now).wrapping_sub(sent), 1);
    }

    /// One row per class, data before ACKs.
    pub fn rows(&self) -> Vec<LatencyRow> {
        let row = |(kind, data, histogram): &(FlowKind, bool, Histogram)| row(*kind, *data, histogram);
        let mut rows: Vec<LatencyRow> = self.classes.iter().map(row).collect();
        rows.sort_unstable_by(|a, b| (&b.what, &a.class).cmp(&(&a.what, &b.class)));
        rows
    }
}

fn row(class: FlowKind, data: bool, latencies: &Histogram) -> LatencyRow {
    let ps = |ticks: u32| Time(u64::from(ticks) << TICK_BITS).0;
    LatencyRow {
        class: class.word().into(),
        what: if data { "data" } else { "ack" }.into(),
        packets: latencies.weight(),
        mean_ps: latencies.mean(TICK_BITS),
        p50_ps: ps(latencies.quantile(500)),
        p95_ps: ps(latencies.quantile(950)),
        p99_ps: ps(latencies.quantile(990)),
        p999_ps: ps(latencies.quantile(999)),
        max_ps: ps(latencies.max()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_exact_means_in_picoseconds() {
        let mut latencies = Histogram::default();
        (1..=20).for_each(|ticks| latencies.add(ticks, 1));
        let row = row(FlowKind::Fetch, true, &latencies);
        assert_eq!((row.mean_ps, row.p50_ps, row.packets), (21 * (1 << 14) / 2, 10 << 14, 20));
    }

    #[test]
    fn wrapped_timestamps_give_intervals() {
        let mut latencies = Latencies::default();
        let sent = (1u64 << (32 + TICK_BITS)) - (5 << TICK_BITS);
        latencies.record(sent + (9 << TICK_BITS), stamp(sent), Slot(0), true);
        assert_eq!(latencies.rows()[0].max_ps, 9 << TICK_BITS);
    }
}
