//! Queueing delays of packets: by the timestamps that their sender writes, or by the time until they are acknowledged.

use std::collections::BTreeMap;

/// A timestamp counts milliseconds (RFC 7323 leaves that open; Linux and the BSDs do).
const TICK: i64 = 1_000_000;
/// Time after which the tick is known to be another one.
const ENOUGH: u64 = 100_000_000;
/// Clocks drift apart by at most this much, in parts per million.
const DRIFT: i64 = 100;
/// Segments whose times are known, the latest ones.
const TIMED: usize = 32;

/// Width of a piece of time, in nanoseconds: timestamps are no more precise.
const PIECE: u64 = 1_000_000;
/// Maximum number of pieces with packets.
const MOST: usize = 1 << 14;

/// The levels of a host's queue over time: the longest delay of the packets that entered it in each millisecond.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    pieces: BTreeMap<u64, (u64, u32)>,
    /// Whether delays are exact, not of timestamps.
    pub exact: bool,
}

impl Levels {
    /// Records a packet that entered the queue at a time, and its delay.
    pub fn add(&mut self, entered: u64, level: u64) {
        if self.pieces.len() < MOST || self.pieces.contains_key(&(entered / PIECE)) {
            let (most, packets) = self.pieces.entry(entered / PIECE).or_default();
            (*most, *packets) = ((*most).max(level), packets.saturating_add(1));
        }
    }

    /// The level at a time, if packets entered then or soon after.
    pub fn around(&self, entered: u64) -> Option<u64> {
        let piece = entered / PIECE;
        self.pieces.range(piece..piece + 2).map(|(_, (most, _))| *most).max()
    }

    /// The level that a share of the packets do not exceed.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let mut met: Vec<(u64, u32)> = self.all().collect();
        met.sort_unstable();
        let all: u64 = met.iter().map(|(_, packets)| u64::from(*packets)).sum();
        let mut left = (all as f64 * share) as u64;
        let found = met.iter().find(|(_, packets)| {
            let here = left < u64::from(*packets);
            left = left.saturating_sub(u64::from(*packets));
            here
        });
        found.map(|(level, _)| *level)
    }

    /// Pieces of time in which packets entered, each by its begin, with numbers of packets.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, u32)> {
        self.pieces.iter().map(|(piece, (_, packets))| (piece * PIECE, *packets))
    }

    /// The levels that all packets met, with numbers of packets.
    pub fn all(&self) -> impl Iterator<Item = (u64, u32)> {
        self.pieces.iter().filter_map(|(piece, (_, packets))| Some((self.around(piece * PIECE)?, *packets)))
    }
}

/// A sender's clock, as one connection's timestamps show it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The first timestamp and its arrival, the least delay since, and the arrival that showed it.
    begun: Option<(u32, u64)>,
    least: (i64, u64),
    unknown: bool,
}

impl Clock {
    /// Records a packet's arrival. Returns by how much its delay exceeds the least one, accurate to a tick.
    pub fn came(&mut self, stamp: u32, now: u64) -> Option<u64> {
        let (first, at) = *self.begun.get_or_insert((stamp, now));
        let sent = i64::from(stamp.wrapping_sub(first) as i32) * TICK;
        let passed = now.saturating_sub(at);
        let delay = i64::try_from(passed).unwrap_or(i64::MAX) - sent;
        if passed > ENOUGH && delay.unsigned_abs() > passed / 2 {
            self.unknown = true;
        }
        let (least, when) = self.least;
        let since = i64::try_from(now.saturating_sub(when)).unwrap_or(i64::MAX);
        let least = least.saturating_add(since / 1_000_000 * DRIFT);
        self.least = if delay <= least { (delay, now) } else { self.least };
        (!self.unknown).then_some((delay - least).max(0).unsigned_abs())
    }
}

/// Times of the latest segments that an endpoint sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    /// The offset of each segment's end, and when it passed here.
    sent: [(u64, u64); TIMED],
    place: usize,
    /// ACKs up to this offset were counted, or it is unknown which of two copies they are for (Karn's rule).
    counted: u64,
    /// Where the first of the segments begins.
    first: u64,
}

impl Default for Timed {
    fn default() -> Timed {
        Timed { sent: [(0, 0); TIMED], place: 0, counted: 0, first: 0 }
    }
}

impl Timed {
    /// Records a new segment.
    pub fn sent(&mut self, to: u64, now: u64) {
        self.first = self.sent[self.place].0;
        self.sent[self.place] = (to, now);
        self.place = (self.place + 1) % TIMED;
    }

    /// Records that a segment was sent again: ACKs of those sent up to now are not timed. Returns when the segment that begins at this offset
    /// was sent first.
    pub fn sent_again(&mut self, from: u64) -> Option<u64> {
        self.counted = self.sent.iter().fold(self.counted, |most, (end, _)| most.max(*end));
        let later = self.sent.iter().filter(|(end, _)| *end > from);
        later.min().filter(|_| from >= self.first).map(|(_, at)| *at)
    }

    /// When the latest segment that an ACK covers passed here.
    pub fn acknowledged(&mut self, to: u64) -> Option<u64> {
        let covered = self.sent.iter().filter(|(end, _)| *end > self.counted && *end <= to);
        let latest = covered.map(|(_, at)| *at).max();
        self.counted = self.counted.max(to);
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_show_delays_above_the_least() {
        let mut clock = Clock::default();
        assert_eq!(clock.came(u32::MAX, 5_000_000), Some(0));
        let near = |seen: Option<u64>, expected: u64| seen.is_some_and(|seen| seen.abs_diff(expected) < 1_000);
        assert!(near(clock.came(0, 10_000_000), 4_000_000));
        assert_eq!(clock.came(1, 6_500_000), Some(0), "a new least delay");
        assert!(near(clock.came(3, 11_500_000), 3_000_000));
    }

    #[test]
    fn levels_are_the_longest_delays_of_their_time() {
        let mut levels = Levels::default();
        for (at, level) in [(5_100_000, 7), (5_900_000, 9), (6_500_000, 3), (8_000_000, 1)] {
            levels.add(at, level);
        }
        assert_eq!(
            [4_000_000, 5_000_000, 6_000_000, 9_000_000].map(|at| levels.around(at)),
            [Some(9), Some(9), Some(3), None]
        );
        assert_eq!(levels.all().collect::<Vec<_>>(), [(9, 2), (3, 1), (1, 1)]);
    }

    #[test]
    fn other_ticks_than_milliseconds_show_nothing() {
        let mut clock = Clock::default();
        clock.came(0, 1);
        assert_eq!(clock.came(20, 200_000_001), None);
    }

    #[test]
    fn round_trips_are_those_of_the_latest_covered_segment() {
        let mut timed = Timed::default();
        (1..=3).for_each(|n| timed.sent(100 * n, 10 * n));
        assert_eq!(timed.acknowledged(250), Some(20));
        assert_eq!((timed.acknowledged(250), timed.acknowledged(300)), (None, Some(30)));
        timed.sent(400, 40);
        assert_eq!((timed.sent_again(100), timed.acknowledged(400)), (Some(20), None));
    }
}
