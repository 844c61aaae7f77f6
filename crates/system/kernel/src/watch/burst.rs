//! Bursts, as Millisampler defines them: consecutive bins that are above half of the link's rate.

use serde::Serialize;

/// Arrivals of a bin, as bpf/watch.bpf.c has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Time of CLOCK_MONOTONIC in bins.
    pub id: u64,
    /// Bytes with their headers.
    pub bytes: u64,
    /// Packets on the link: segments that GRO joined count each.
    pub packets: u64,
    /// Packets with the mark of a full queue (CE).
    pub marks: u64,
    /// Segments whose data had arrived, or that were overtaken.
    pub resent: u64,
    /// Connections with data.
    pub connections: u64,
    /// Connections without data in earlier bins of the burst.
    pub joined: u64,
}

impl Bin {
    /// Bytes of a bin in the ring buffer.
    pub const BYTES: usize = 56;

    /// A bin of the ring buffer.
    pub fn read(bytes: &[u8]) -> Option<Bin> {
        let bytes = bytes.first_chunk::<{ Bin::BYTES }>()?;
        let (words, _) = bytes.as_chunks::<8>();
        let word = |place: usize| words.get(place).map_or(0, |word| u64::from_ne_bytes(*word));
        let [id, bytes, packets, marks, resent, connections, joined] = std::array::from_fn(word);
        Some(Bin { id, bytes, packets, marks, resent, connections, joined })
    }
}

/// A burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// Its first bin.
    #[serde(skip)]
    pub first: u64,
    /// Its last bin.
    #[serde(skip)]
    pub last: u64,
    /// Connections with data.
    pub fan_in: u64,
    /// Bytes with their headers.
    pub bytes: u64,
    /// Packets on the link.
    pub packets: u64,
    /// Packets with the mark of a full queue (CE).
    pub marks: u64,
    /// Segments whose data had arrived, or that were overtaken.
    pub resent: u64,
    /// Bytes of its largest bin.
    #[serde(skip)]
    pub peak: u64,
}

impl Burst {
    fn new(bin: &Bin) -> Burst {
        let Bin { id, bytes, packets, marks, resent, joined, .. } = *bin;
        Burst { first: id, last: id, fan_in: joined, bytes, packets, marks, resent, peak: bytes }
    }

    fn add(&mut self, next: &Burst) {
        self.last = next.last;
        self.fan_in += next.fan_in;
        self.bytes += next.bytes;
        self.packets += next.packets;
        self.marks += next.marks;
        self.resent += next.resent;
        self.peak = self.peak.max(next.peak);
    }
}

/// Finds bursts in bins, which come in order; empty bins do not come.
#[derive(Clone, Debug)]
pub struct Finder {
    limit: u64,
    gap: u64,
    burst: Option<Burst>,
    /// Bins since the burst's last one, which belong to it if another one above the limit follows.
    since: Option<Burst>,
}

impl Finder {
    /// `limit`: bytes above which a bin belongs to a burst. `gap`: consecutive bins below that which interrupt no burst, since a host that
    /// is busy for a moment sees packets late.
    pub fn new(limit: u64, gap: u64) -> Finder {
        Finder { limit, gap, burst: None, since: None }
    }

    /// Takes a bin, and returns the burst that ended before it.
    pub fn push(&mut self, bin: &Bin) -> Option<Burst> {
        let is_over = self.burst.is_some_and(|burst| bin.id > burst.last + 1 + self.gap);
        let ended = if is_over { self.finish() } else { None };
        let one = Burst::new(bin);
        match (&mut self.burst, bin.bytes > self.limit) {
            (Some(burst), true) => {
                if let Some(since) = self.since.take() {
                    burst.add(&since);
                }
                burst.add(&one);
            }
            (None, true) => self.burst = Some(one),
            (Some(_), false) => match &mut self.since {
                Some(since) => since.add(&one),
                None => self.since = Some(one),
            },
            (None, false) => {}
        }
        ended
    }

    /// Ends the current burst, if any.
    pub fn finish(&mut self) -> Option<Burst> {
        self.since = None;
        self.burst.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bin(id: u64, bytes: u64, joined: u64) -> Bin {
        Bin { id, bytes, packets: 1, connections: joined, joined, ..Bin::default() }
    }

    fn found(bins: &[Bin], gap: u64) -> Vec<Burst> {
        let mut finder = Finder::new(50, gap);
        let mut found: Vec<Burst> = bins.iter().filter_map(|bin| finder.push(bin)).collect();
        found.extend(finder.finish());
        found
    }

    #[test]
    fn bins_above_the_limit_are_a_burst() {
        let bins = [bin(3, 50, 9), bin(4, 51, 2), bin(5, 90, 3), bin(6, 20, 5), bin(9, 60, 1)];
        let bursts = found(&bins, 0);
        let figures: Vec<_> =
            bursts.iter().map(|one| (one.first, one.last, one.fan_in, one.bytes, one.peak, one.packets)).collect();
        assert_eq!(figures, [(4, 5, 5, 141, 90, 2), (9, 9, 1, 60, 60, 1)]);
    }

    #[test]
    fn short_gap_does_not_interrupt_a_burst() {
        let bins =
            [bin(1, 60, 2), bin(2, 10, 1), bin(4, 70, 4), bin(5, 10, 8), bin(6, 10, 8), bin(7, 10, 8), bin(8, 99, 1)];
        let figures: Vec<_> = found(&bins, 2).iter().map(|one| (one.first, one.last, one.fan_in, one.bytes)).collect();
        assert_eq!(figures, [(1, 4, 7, 140), (8, 8, 1, 99)]);
    }

    #[test]
    fn bin_is_read_from_its_words() {
        let bytes: Vec<u8> = (1_u64..=7).flat_map(u64::to_ne_bytes).collect();
        let wanted = Bin { id: 1, bytes: 2, packets: 3, marks: 4, resent: 5, connections: 6, joined: 7 };
        assert_eq!(Bin::read(&bytes), Some(wanted));
        assert_eq!(Bin::read(&bytes[1..]), None);
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        /// Each bin above the limit is in exactly one burst, bursts begin and end with such a bin, and more than the gap is between two.
        #[test]
        fn bursts_cover_bins_above_the_limit(steps in prop::collection::vec((1_u64..6, 0_u64..100), 0..60), gap in 0_u64..4) {
            let mut id = 0;
            let bins: Vec<Bin> = steps.iter().map(|(step, bytes)| { id += step; bin(id, *bytes, 1) }).collect();
            let bursts = found(&bins, gap);
            for one in bins.iter().filter(|one| one.bytes > 50) {
                prop_assert_eq!(bursts.iter().filter(|burst| burst.first <= one.id && one.id <= burst.last).count(), 1);
            }
            for burst in &bursts {
                let within: Vec<&Bin> = bins.iter().filter(|one| burst.first <= one.id && one.id <= burst.last).collect();
                prop_assert_eq!(within.iter().map(|one| one.bytes).sum::<u64>(), burst.bytes);
                prop_assert!([burst.first, burst.last].iter().all(|end| within.iter().any(|one| one.id == *end && one.bytes > 50)));
            }
            prop_assert!(bursts.is_sorted_by(|a, b| a.last + 1 + gap < b.first));
        }
    }
}
