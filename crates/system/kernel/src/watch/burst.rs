//! Bursts, as Millisampler defines them: consecutive bins that are above half of the link's rate. A pause that is no longer than the burst
//! before it interrupts no burst: programs that wait for a processor answer late, and are part of the same fan-in.

use serde::Serialize;

/// Bins of a pause that interrupts no burst, however short that is.
const SHORT_PAUSE: u64 = 2;

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
    /// Connections without data in earlier bins of the burst, and in the bin before it.
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

/// A burst. It begins and ends within bins, so that its counters include the bin before and the bin after those above the limit.
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

    /// Bins after which the burst is over.
    fn over_after(&self, longest_pause: u64) -> u64 {
        self.last + 1 + (self.last + 1 - self.first).min(longest_pause).max(SHORT_PAUSE)
    }

    fn add(&mut self, bin: &Bin) {
        self.fan_in += bin.joined;
        self.bytes += bin.bytes;
        self.packets += bin.packets;
        self.marks += bin.marks;
        self.resent += bin.resent;
        self.peak = self.peak.max(bin.bytes);
    }
}

/// Finds bursts in bins, which come in order; empty bins do not come.
#[derive(Clone, Debug)]
pub struct Finder {
    limit: u64,
    longest_pause: u64,
    burst: Option<Burst>,
    /// Bins since the burst's last one above the limit; without a burst, the latest bin.
    since: Vec<Bin>,
}

impl Finder {
    /// `limit`: bytes above which a bin belongs to a burst. `longest_pause`: bins of a pause that interrupts each burst, however long.
    pub fn new(limit: u64, longest_pause: u64) -> Finder {
        Finder { limit, longest_pause, burst: None, since: Vec::new() }
    }

    /// Takes a bin, and returns the burst that ended before it.
    pub fn push(&mut self, bin: &Bin) -> Option<Burst> {
        let is_over = self.burst.is_some_and(|burst| bin.id > burst.over_after(self.longest_pause));
        let ended = if is_over { self.finish() } else { None };
        match (&mut self.burst, bin.bytes > self.limit) {
            (Some(burst), true) => {
                self.since.drain(..).chain([*bin]).for_each(|bin| burst.add(&bin));
                burst.last = bin.id;
            }
            (None, true) => {
                let mut burst = Burst::new(bin);
                if let Some(before) = self.since.drain(..).find(|before| before.id + 1 == bin.id) {
                    burst.add(&Bin { joined: before.connections, ..before });
                }
                self.burst = Some(burst);
            }
            (Some(_), false) => self.since.push(*bin),
            (None, false) => self.since = vec![*bin],
        }
        ended
    }

    /// Ends the current burst, if any.
    pub fn finish(&mut self) -> Option<Burst> {
        let mut burst = self.burst.take()?;
        if let Some(after) = self.since.first().filter(|after| after.id == burst.last + 1) {
            burst.add(after);
        }
        // The latest bin may be the one before the next burst.
        self.since.drain(..self.since.len().saturating_sub(1));
        Some(burst)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bin(id: u64, bytes: u64, joined: u64) -> Bin {
        Bin { id, bytes, packets: 1, connections: joined, joined, ..Bin::default() }
    }

    fn found(bins: &[Bin], longest_pause: u64) -> Vec<Burst> {
        let mut finder = Finder::new(50, longest_pause);
        let mut found: Vec<Burst> = bins.iter().filter_map(|bin| finder.push(bin)).collect();
        found.extend(finder.finish());
        found
    }

    #[test]
    fn burst_includes_the_bins_around_it() {
        let bins = [bin(3, 50, 9), bin(4, 51, 2), bin(5, 90, 3), bin(6, 20, 5), bin(7, 20, 4), bin(12, 60, 1)];
        let bursts = found(&bins, 0);
        let figures: Vec<_> =
            bursts.iter().map(|one| (one.first, one.last, one.fan_in, one.bytes, one.peak, one.packets)).collect();
        assert_eq!(figures, [(4, 5, 19, 211, 90, 4), (12, 12, 1, 60, 60, 1)]);
    }

    #[test]
    fn pause_as_long_as_the_burst_does_not_interrupt_it() {
        let bins = [bin(1, 60, 2), bin(2, 10, 1), bin(4, 70, 4), bin(6, 10, 8), bin(9, 99, 1), bin(19, 99, 3)];
        let figures = |longest_pause| -> Vec<_> {
            let bursts = found(&bins, longest_pause);
            bursts.iter().map(|one| (one.first, one.last, one.fan_in, one.bytes)).collect()
        };
        assert_eq!(figures(9), [(1, 19, 19, 348)]);
        assert_eq!(figures(8), [(1, 9, 16, 249), (19, 19, 3, 99)]);
        assert_eq!(figures(3), [(1, 4, 7, 140), (9, 9, 1, 99), (19, 19, 3, 99)]);
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

        /// Each bin above the limit is in exactly one burst, bursts begin and end with such a bin, and more than a short pause is between
        /// two.
        #[test]
        fn bursts_cover_bins_above_the_limit(steps in prop::collection::vec((1_u64..6, 0_u64..100), 0..60), pause in 0_u64..9) {
            let mut id = 0;
            let bins: Vec<Bin> = steps.iter().map(|(step, bytes)| { id += step; bin(id, *bytes, 1) }).collect();
            let bursts = found(&bins, pause);
            for one in bins.iter().filter(|one| one.bytes > 50) {
                prop_assert_eq!(bursts.iter().filter(|burst| burst.first <= one.id && one.id <= burst.last).count(), 1);
            }
            for burst in &bursts {
                let within: Vec<&Bin> = bins.iter().filter(|one| burst.first <= one.id + 1 && one.id <= burst.last + 1).collect();
                prop_assert_eq!(within.iter().map(|one| one.bytes).sum::<u64>(), burst.bytes);
                prop_assert!([burst.first, burst.last].iter().all(|end| within.iter().any(|one| one.id == *end && one.bytes > 50)));
            }
            prop_assert!(bursts.is_sorted_by(|a, b| a.last + 1 + SHORT_PAUSE < b.first));
        }
    }
}
