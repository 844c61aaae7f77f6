//! Arrivals at one host over its link: the rate of packets that arrive back to back, and the length of such rows.

use std::collections::BTreeMap;

use crate::samples::Samples;

/// Packets in a row that are timed together. Short rows also count, for traffic without long ones, but a host's timestamps make them less
/// precise.
const LONG: usize = 32;
const SHORT: usize = 8;
/// Windows of a size that suffice for a rate.
const ENOUGH: u64 = 4;
/// Width of a bin of rates: half a per cent.
const STEP: f64 = 1.005;
/// The lowest rate, in bytes per second.
const LOWEST: f64 = 100.0;
const BINS: u16 = 4_000;
/// Maximum gap within a row until the rate is known, in nanoseconds: that of full packets at 10 Mbit/s.
const SLOWEST: f64 = 1_300_000.0;
/// Width of a piece of time, in nanoseconds.
const PIECE: u64 = 10_000_000;
/// A gap this many times the average before it is a pause.
const PAUSE: u64 = 8;

/// A row: packets back to back, without a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub bytes: u64,
    pub packets: u32,
    /// The row's number at this host.
    pub number: u32,
}

/// Arrivals at a host.
pub(crate) struct Train {
    last: Option<u64>,
    /// The current row.
    pub row: Row,
    long: Windows,
    short: Windows,
    /// Nanoseconds per byte at the measured rate.
    byte_ns: f64,
    /// Bytes of the longest row.
    pub longest: u64,
    pub total: u64,
    /// The current piece of time and its bytes, and the bytes of each past piece with arrivals.
    piece: (u64, u64),
    pieces: Samples,
}

impl Default for Train {
    fn default() -> Train {
        let (long, short) = (Windows::default(), Windows::default());
        Train {
            last: None,
            row: Row::default(),
            long,
            short,
            byte_ns: f64::INFINITY,
            longest: 0,
            total: 0,
            piece: (0, 0),
            pieces: Samples::default(),
        }
    }
}

/// A link's rate, from arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Bytes of IP packets per second.
    pub bytes_per_s: f64,
    /// Share of the timed bytes that arrived at this rate: a link that is never full shows none.
    pub share: f64,
}

impl Train {
    /// Records the arrival of a packet.
    pub fn came(&mut self, now: u64, bytes: u32) {
        let pause = self.last.map_or(u64::MAX, |last| now.saturating_sub(last));
        self.last = Some(now);
        self.total += u64::from(bytes);
        if self.piece.0 != now / PIECE {
            self.pieces.add(self.piece.1);
            self.piece = (now / PIECE, 0);
        }
        self.piece.1 += u64::from(bytes);
        // A queued packet arrives one serialisation time after its predecessor; hosts' timestamps are sometimes late.
        let allowed = if self.byte_ns.is_finite() { 6.0 * self.byte_ns * f64::from(bytes.max(600)) } else { SLOWEST };
        if pause as f64 > allowed + 2_000.0 {
            self.row = Row { number: self.row.number.wrapping_add(1), ..Row::default() };
        }
        self.row.bytes += u64::from(bytes);
        self.row.packets += 1;
        self.longest = self.longest.max(self.row.bytes);
        let new = self.long.came(now, bytes, pause, LONG) | self.short.came(now, bytes, pause, SHORT);
        if new && (self.long.count + self.short.count).is_multiple_of(64) || self.short.count == ENOUGH {
            self.byte_ns = self.rate().map_or(f64::INFINITY, |rate| 1e9 / rate.bytes_per_s);
        }
    }

    /// Bytes per second in the busiest pieces of time: a link that is full for longer has this rate.
    pub fn busiest(&self) -> Option<f64> {
        const SHARE: f64 = 0.95;
        self.pieces.quantile(SHARE).map(|bytes| bytes as f64 * 1e9 / PIECE as f64)
    }

    /// The rate of the link.
    pub fn rate(&self) -> Option<Rate> {
        if self.long.count >= ENOUGH { self.long.rate() } else { self.short.rate() }
    }
}

/// Windows of packets without a pause.
#[derive(Default)]
struct Windows {
    /// The current window: its begin, bytes, packets, and longest gap.
    began: u64,
    bytes: u64,
    packets: usize,
    longest: u64,
    /// Bytes by rate.
    bins: BTreeMap<u16, u64>,
    count: u64,
}

impl Windows {
    /// Records an arrival. Returns whether it completed a timed window.
    fn came(&mut self, now: u64, bytes: u32, pause: u64, size: usize) -> bool {
        let before = now.saturating_sub(self.began).saturating_sub(pause) / (self.packets as u64).max(1);
        if pause as f64 > SLOWEST || (self.packets > 3 && pause > PAUSE * before.max(250)) {
            (self.began, self.bytes, self.packets, self.longest) = (now, 0, 0, 0);
            return false;
        }
        self.bytes += u64::from(bytes);
        self.packets += 1;
        self.longest = self.longest.max(pause);
        if self.packets < size {
            return false;
        }
        let (span, sum, longest) = (now.saturating_sub(self.began), self.bytes, self.longest);
        (self.began, self.bytes, self.packets, self.longest) = (now, 0, 0, 0);
        // Small packets are timed imprecisely, and a link was not full if the window has a pause.
        let timed = span > 0 && sum as f64 / size as f64 >= 300.0 && longest <= span / 4;
        if timed {
            let bin = libm::log(sum as f64 * 1e9 / span as f64 / LOWEST) / libm::log(STEP);
            *self.bins.entry((bin.max(0.0) as u16).min(BINS - 1)).or_default() += sum;
            self.count += 1;
        }
        timed
    }

    /// The rate of most bytes. Of all rates with at least half as many bytes, which are no accident, the highest.
    fn rate(&self) -> Option<Rate> {
        let total: u64 = self.bins.values().sum();
        let near = |bin: u16| self.bins.range(bin.saturating_sub(2)..bin + 3);
        let around = |bin: u16| -> u64 { near(bin).map(|(_, bytes)| bytes).sum() };
        let most = self.bins.keys().map(|&bin| around(bin)).max()?;
        let best = *self.bins.keys().rev().find(|&&bin| around(bin) * 2 >= most)?;
        let best = (best.saturating_sub(4)..=best).max_by_key(|&bin| around(bin))?;
        let mean = near(best).map(|(&bin, &bytes)| bytes as f64 * (f64::from(bin) + 0.5)).sum::<f64>();
        let bytes_per_s = LOWEST * libm::exp(mean / around(best) as f64 * libm::log(STEP));
        Some(Rate { bytes_per_s, share: around(best) as f64 / total as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_rate_is_that_of_back_to_back_packets() {
        let mut train = Train::default();
        let mut now = 0;
        for packet in 0..4000 {
            // A full packet takes 12 us; every hundredth waits.
            now += if packet % 100 == 99 { 900_000 } else { 12_000 };
            train.came(now, 1500);
        }
        let rate = train.rate().unwrap();
        assert!((rate.bytes_per_s / 125e6 - 1.0).abs() < 0.005, "{rate:?}");
        assert!(rate.share > 0.9);
        assert!(train.row.packets <= 100);
    }

    #[test]
    fn short_trains_show_a_rate_without_their_pauses() {
        let mut train = Train::default();
        let mut now = 0;
        for packet in 0..3000 {
            now += if packet % 15 == 0 { 150_000 } else { 12_000 };
            train.came(now, 1500);
        }
        let rate = train.rate().unwrap();
        assert!((rate.bytes_per_s / 125e6 - 1.0).abs() < 0.005, "{rate:?}");
    }

    #[test]
    fn initial_burst_does_not_hide_the_link_rate() {
        let mut train = Train::default();
        let mut now = 0;
        for packet in 0..4000 {
            now += if packet < 100 { 1_000 } else { 105_000 };
            train.came(now, 1500);
        }
        assert!((train.rate().unwrap().bytes_per_s / (1500.0 / 105e-6) - 1.0).abs() < 0.005, "{:?}", train.rate());
        assert!(train.row.packets > 1_000);
    }

    #[test]
    fn host_with_little_traffic_has_no_rate() {
        let mut train = Train::default();
        (0..100).for_each(|packet| train.came(packet * 10_000_000, 1500));
        assert_eq!(train.rate(), None);
    }
}
