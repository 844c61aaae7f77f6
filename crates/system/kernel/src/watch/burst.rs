//! Bursts, as Millisampler defines them: consecutive bins that are above half of the link's rate. A pause that is no longer than the part
//! before or after it interrupts no burst: programs that wait for a processor respond late, and are part of the same fan-in.

use serde::{Deserialize, Serialize};

use crate::watch::shares::{CGROUPS, Share, Shares};

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
    /// Those of the burst's latest part, which a long pause precedes.
    pub fresh: u64,
    /// Bytes by the cgroups that receive them.
    pub shares: Shares,
}

impl Bin {
    /// Words of a bin without its shares.
    const WORDS: usize = 8;
    /// Bytes of a bin in the ring buffer.
    pub const BYTES: usize = 8 * (Bin::WORDS + 2 * CGROUPS);

    /// A bin of the ring buffer.
    pub fn read(bytes: &[u8]) -> Option<Bin> {
        let bytes = bytes.first_chunk::<{ Bin::BYTES }>()?;
        let (words, _) = bytes.as_chunks::<8>();
        let word = |place: usize| words.get(place).map_or(0, |word| u64::from_ne_bytes(*word));
        let [id, bytes, packets, marks, resent, connections, joined, fresh] = std::array::from_fn(word);
        let share = |place: usize| {
            let at = Bin::WORDS + 2 * place;
            Share { cgroup: word(at), bytes: word(at + 1) }
        };
        let shares = Shares(std::array::from_fn(share));
        Some(Bin { id, bytes, packets, marks, resent, connections, joined, fresh, shares })
    }
}

/// A burst. It begins and ends within bins, so that its counters include the bin before and the bin after those above the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Bytes by the cgroups that receive them.
    #[serde(skip)]
    pub shares: Shares,
}

impl Burst {
    /// A burst that begins with a bin; `before` is the latest earlier one.
    fn new(bin: &Bin, before: Option<&Bin>) -> Burst {
        let Bin { id, bytes, packets, marks, resent, fresh, shares, .. } = *bin;
        let mut burst =
            Burst { first: id, last: id, fan_in: fresh, bytes, packets, marks, resent, peak: bytes, shares };
        if let Some(before) = before.filter(|before| before.id + 1 == id) {
            burst.add(&Bin { joined: before.connections, ..*before });
        }
        burst
    }

    fn add(&mut self, bin: &Bin) {
        self.fan_in += bin.joined;
        self.bytes += bin.bytes;
        self.packets += bin.packets;
        self.marks += bin.marks;
        self.resent += bin.resent;
        self.peak = self.peak.max(bin.bytes);
        self.shares.add(&bin.shares);
    }
}

/// Bins above the limit, and those between them, from the first to the last.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: u64,
    last: u64,
}

impl Part {
    fn bins(self) -> u64 {
        self.last + 1 - self.first
    }
}

/// Finds bursts in bins, which come in order; empty bins do not come.
#[derive(Clone, Debug)]
pub struct Finder {
    limit: u64,
    longest_pause: u64,
    burst: Option<Burst>,
    /// A part after a pause that is longer than the burst. It belongs to the burst once it is as long as the pause.
    part: Option<Part>,
    /// Bins since the burst's last one; without a burst, the latest bin.
    since: Vec<Bin>,
}

impl Finder {
    /// `limit`: bytes above which a bin belongs to a burst. `longest_pause`: bins of the longest pause within a burst.
    pub fn new(limit: u64, longest_pause: u64) -> Finder {
        Finder { limit, longest_pause, burst: None, part: None, since: Vec::new() }
    }

    /// Ends the bursts that no bin from this one on can continue.
    pub fn pass(&mut self, bin: u64) -> Vec<Burst> {
        let mut ended = Vec::new();
        if self.part.is_some_and(|part| bin > self.over_after(part)) {
            ended.extend(self.split());
        }
        if self.part.is_none() && self.burst.is_some_and(|burst| bin > burst.last + 1 + self.pause(u64::MAX)) {
            ended.extend(self.end());
        }
        ended
    }

    /// Takes a bin, and returns the bursts that ended before it.
    pub fn push(&mut self, bin: &Bin) -> Vec<Burst> {
        let ended = self.pass(bin.id);
        if bin.bytes > self.limit {
            self.extend(bin);
        } else if self.burst.is_some() {
            self.since.push(*bin);
        } else {
            self.since = vec![*bin];
        }
        ended
    }

    /// Ends the current bursts, if any.
    pub fn finish(&mut self) -> Vec<Burst> {
        let first = if self.part.is_some() { self.split() } else { None };
        first.into_iter().chain(self.end()).collect()
    }

    /// Pause that does not interrupt a burst of N bins.
    fn pause(&self, bins: u64) -> u64 {
        bins.min(self.longest_pause).max(SHORT_PAUSE)
    }

    fn over_after(&self, part: Part) -> u64 {
        part.last + 1 + self.pause(part.bins())
    }

    /// Takes a bin above the limit.
    fn extend(&mut self, bin: &Bin) {
        let Some(burst) = self.burst else {
            self.burst = Some(Burst::new(bin, self.since.last()));
            self.since.clear();
            return;
        };
        let whole = Part { first: burst.first, last: burst.last };
        let part = match self.part {
            None if bin.id <= self.over_after(whole) => None,
            None => Some(Part { first: bin.id, last: bin.id }),
            Some(part) => Some(Part { last: bin.id, ..part }),
        };
        self.part = part.filter(|part| part.bins() < part.first - burst.last - 1);
        self.since.push(*bin);
        if self.part.is_none() {
            let mut burst = burst;
            self.since.drain(..).for_each(|bin| burst.add(&bin));
            self.burst = Some(Burst { last: bin.id, ..burst });
        }
    }

    /// Ends the burst before the part, which is then the burst.
    fn split(&mut self) -> Option<Burst> {
        let part = self.part.take()?;
        let since = self.since.clone();
        let ended = self.end();
        // Counted from the part's begin.
        let bins: Vec<Bin> = since.into_iter().map(|bin| Bin { joined: bin.fresh, ..bin }).collect();
        let (before, rest) = bins.split_at(bins.iter().position(|bin| bin.id == part.first)?);
        let (own, since) = rest.split_at(rest.iter().position(|bin| bin.id > part.last).unwrap_or(rest.len()));
        let (first, others) = own.split_first()?;
        let mut burst = Burst::new(first, before.last());
        others.iter().for_each(|bin| burst.add(bin));
        self.burst = Some(Burst { last: part.last, ..burst });
        self.since = since.to_vec();
        ended
    }

    /// Ends the burst, of which the bin after it is a part, too.
    fn end(&mut self) -> Option<Burst> {
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
        Bin { id, bytes, packets: 1, connections: joined, joined, fresh: joined, ..Bin::default() }
    }

    fn found(bins: &[Bin], longest_pause: u64) -> Vec<Burst> {
        let mut finder = Finder::new(50, longest_pause);
        let mut found: Vec<Burst> = bins.iter().flat_map(|bin| finder.push(bin)).collect();
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

    fn ends(bins: &[Bin], longest_pause: u64) -> Vec<(u64, u64, u64)> {
        found(bins, longest_pause).iter().map(|one| (one.first, one.last, one.fan_in)).collect()
    }

    #[test]
    fn pause_as_long_as_the_part_before_it_does_not_interrupt_a_burst() {
        let bins = [bin(1, 60, 2), bin(2, 10, 1), bin(4, 70, 4), bin(6, 10, 8), bin(9, 99, 1), bin(19, 99, 3)];
        assert_eq!(ends(&bins, 9), [(1, 19, 19)]);
        assert_eq!(ends(&bins, 8), [(1, 9, 16), (19, 19, 3)]);
        assert_eq!(ends(&bins, 3), [(1, 4, 7), (9, 9, 1), (19, 19, 3)]);
    }

    #[test]
    fn pause_as_long_as_the_part_after_it_does_not_interrupt_a_burst() {
        let fresh = |id, bytes, joined, fresh| Bin { fresh, ..bin(id, bytes, joined) };
        let part = |bins: u64| (5..5 + bins).map(move |id| fresh(id, 60, 1, 2));
        let bins = |rest| [bin(1, 60, 1), fresh(3, 10, 7, 9)].into_iter().chain(part(rest)).collect::<Vec<_>>();
        assert_eq!(ends(&bins(3), 9), [(1, 7, 11)]);
        assert_eq!(ends(&bins(2), 9), [(1, 1, 1), (5, 6, 4)]);
        let far = [bins(2), vec![fresh(8, 10, 50, 3), fresh(9, 10, 60, 4), fresh(30, 60, 5, 5)]].concat();
        assert_eq!(ends(&far, 9), [(1, 1, 1), (5, 6, 4), (30, 30, 5)]);
    }

    #[test]
    fn bin_is_read_from_its_words() {
        let bytes: Vec<u8> = (1_u64..=16).flat_map(u64::to_ne_bytes).collect();
        let shares = Shares([9, 11, 13, 15].map(|cgroup| Share { cgroup, bytes: cgroup + 1 }));
        let wanted =
            Bin { id: 1, bytes: 2, packets: 3, marks: 4, resent: 5, connections: 6, joined: 7, fresh: 8, shares };
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
