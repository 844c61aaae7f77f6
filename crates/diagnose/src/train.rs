//! What comes to one host over its link: at which rate packets follow one another at the most, and how long they have done so without
//! a pause.

/// Packets in a row that are timed.
const WINDOW: usize = 32;
/// Rates are told apart by so much: a bin for each two hundredth.
const STEP: f64 = 1.005;
/// The lowest rate that is told, bytes a second.
const LOWEST: f64 = 100.0;
const BINS: usize = 4_000;
/// Until a rate is known, packets follow one another that lie no further apart: full ones at 10 Mbit/s.
const SLOWEST: f64 = 1_300_000.0;

/// Packets that followed one another without a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub bytes: u64,
    pub packets: u32,
    /// Which of the host's rows.
    pub number: u32,
}

/// Arrivals at a host.
pub(crate) struct Train {
    last: Option<u64>,
    /// What came since the link was last idle.
    pub row: Row,
    /// The present window: when it began, its bytes, packets, and the longest pause in it.
    window: (u64, u64, usize, u64),
    /// Bytes that came at each rate.
    bins: Vec<u64>,
    /// How many windows were timed, and what a byte takes at the rate that they show, in nanoseconds.
    windows: u64,
    byte_ns: f64,
    pub total: u64,
}

impl Default for Train {
    fn default() -> Train {
        Train {
            last: None,
            row: Row::default(),
            window: (0, 0, 0, 0),
            bins: Vec::new(),
            windows: 0,
            byte_ns: f64::INFINITY,
            total: 0,
        }
    }
}

/// The rate of a link as arrivals show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Bytes of IP packets a second.
    pub bytes_per_s: f64,
    /// Which share of what was timed came at this rate: a link that is never full shows none.
    pub share: f64,
}

impl Train {
    /// A packet of so many bytes has come.
    pub fn came(&mut self, now: u64, bytes: u32) {
        let pause = self.last.map_or(u64::MAX, |last| now.saturating_sub(last));
        self.last = Some(now);
        self.total += u64::from(bytes);
        // A packet that waited comes a packet's time behind the one before; hosts that stamp are late at times.
        let allowed = if self.byte_ns.is_finite() { 6.0 * self.byte_ns * f64::from(bytes.max(600)) } else { SLOWEST };
        if pause as f64 > allowed + 2_000.0 {
            self.row = Row { number: self.row.number.wrapping_add(1), ..Row::default() };
            self.window = (now, 0, 0, 0);
        } else {
            self.time(now, bytes, pause);
        }
        self.row.bytes += u64::from(bytes);
        self.row.packets += 1;
    }

    fn time(&mut self, now: u64, bytes: u32, pause: u64) {
        let (began, mut sum, mut packets, mut longest) = self.window;
        sum += u64::from(bytes);
        packets += 1;
        longest = pause.max(longest);
        if packets < WINDOW {
            self.window = (began, sum, packets, longest);
            return;
        }
        let span = now.saturating_sub(began);
        // Small packets are timed badly, and a window with a pause in it is not of a full link.
        if span > 0 && sum as f64 / WINDOW as f64 >= 300.0 && longest <= span / 4 {
            let ns = span as f64 / sum as f64;
            if self.bins.is_empty() {
                self.bins = vec![0; BINS];
            }
            let bin = libm::log(1e9 / ns / LOWEST) / libm::log(STEP);
            self.bins[(bin.max(0.0) as usize).min(BINS - 1)] += sum;
            self.windows += 1;
            if self.windows.is_power_of_two() || self.windows.is_multiple_of(256) {
                self.byte_ns = self.rate().map_or(f64::INFINITY, |rate| 1e9 / rate.bytes_per_s);
            }
        }
        self.window = (now, 0, 0, 0);
    }

    /// The rate that most bytes came at, of those that enough came at to be no accident; the highest of such.
    pub fn rate(&self) -> Option<Rate> {
        let total: u64 = self.bins.iter().sum();
        if total == 0 {
            return None;
        }
        let around = |bin: usize| -> u64 { self.bins[bin.saturating_sub(2)..(bin + 3).min(BINS)].iter().sum() };
        let most = (0..BINS).map(around).max()?;
        let best = (0..BINS).rev().find(|&bin| around(bin) * 2 >= most)?;
        let best = (best.saturating_sub(4)..=best).max_by_key(|&bin| around(bin))?;
        let bins = best.saturating_sub(2)..(best + 3).min(BINS);
        let mean = bins.map(|bin| self.bins[bin] as f64 * (bin as f64 + 0.5)).sum::<f64>() / around(best) as f64;
        let bytes_per_s = LOWEST * libm::exp(mean * libm::log(STEP));
        Some(Rate { bytes_per_s, share: around(best) as f64 / total as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_link_is_that_at_which_packets_follow_one_another() {
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
    fn a_host_to_which_little_comes_shows_no_rate() {
        let mut train = Train::default();
        (0..100).for_each(|packet| train.came(packet * 10_000_000, 1500));
        assert_eq!(train.rate(), None);
    }
}
