//! Losses that strike any packet alike, as a bad cable's do: one by one, and however much or little came in a row before them. A queue
//! that overflows loses when much has come at once, and then several together.

use std::collections::BTreeMap;

/// Packets in which losses are counted.
const BLOCK: u32 = 64;
/// Fewer losses tell nothing.
const LEAST: u64 = 8;
/// Losses that strike one by one have a variance over blocks of once their mean; those of a queue that overflows, of many times as much.
const SPREAD: f64 = 3.0;
/// By chance, the distribution of n samples differs from the whole's by more than 1.63 over sqrt(n) once in a hundred (Kolmogorov and
/// Smirnov); a hole shows a little later than it was made, so this is somewhat more.
const DIFFER: f64 = 2.2;

/// What came to a host, and where in it something was missing.
#[derive(Debug, Default)]
pub(crate) struct Chance {
    /// Packets, and holes, by how many bytes had come in a row: by eighths of an octave.
    places: BTreeMap<u32, (u64, u64)>,
    holes: u64,
    /// The present block: its packets and what was missing.
    block: (u32, u64),
    blocks: u64,
    missing: u64,
    squares: u64,
}

impl Chance {
    /// A packet came when so many bytes had come in a row, `missing` packets of its connection after the one before it.
    pub fn came(&mut self, row: u64, missing: u64) {
        let bin = (libm::log2(row.max(1) as f64) * 8.0) as u32;
        let (packets, holes) = self.places.entry(bin).or_default();
        *packets += 1;
        *holes += u64::from(missing > 0);
        self.holes += u64::from(missing > 0);
        self.block = (self.block.0 + 1, self.block.1.saturating_add(missing));
        if self.block.0 == BLOCK {
            let missing = self.block.1.min(u64::from(BLOCK));
            self.blocks += 1;
            self.missing += missing;
            self.squares += missing * missing;
            self.block = (0, 0);
        }
    }

    /// Packets that were looked at, and what was missing between them.
    pub fn packets(&self) -> u64 {
        self.blocks * u64::from(BLOCK) + u64::from(self.block.0)
    }

    /// Whether what was lost, so many packets, was so whatever the queue held.
    pub fn alone(&self, lost: u64) -> bool {
        // Holes that nothing was lost in are of packets out of order.
        if self.holes < LEAST || lost * 2 < self.holes || self.missing == 0 {
            return false;
        }
        let mean = self.missing as f64 / self.blocks as f64;
        let spread = (self.squares as f64 / self.blocks as f64 - mean * mean) / mean;
        spread < SPREAD && self.differs() * libm::sqrt(self.holes as f64) < DIFFER
    }

    /// How far the shares of holes and of packets are apart, up to whatever place, at the most.
    fn differs(&self) -> f64 {
        let all: u64 = self.places.values().map(|(packets, _)| packets).sum();
        let (mut packets, mut holes, mut most) = (0u64, 0u64, 0.0f64);
        for (came, missing) in self.places.values() {
            (packets, holes) = (packets + came, holes + missing);
            most = most.max((packets as f64 / all as f64 - holes as f64 / self.holes as f64).abs());
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a thousand packets of 1,500 B each, and those that are missing.
    fn of_rows(rows: u64, missing: impl Fn(u64, u64) -> u64) -> (Chance, u64) {
        let (mut chance, mut lost) = (Chance::default(), 0);
        for row in 0..rows {
            for place in 0..1000 {
                let missing = missing(row, place);
                chance.came(1500 * (place + 1), missing);
                lost += missing;
            }
        }
        (chance, lost)
    }

    #[test]
    fn one_packet_in_some_hundreds_wherever_it_is_was_lost_by_chance() {
        // A prime number of packets apart, so that all places of a row are met.
        let (chance, lost) = of_rows(40, |row, place| u64::from((row * 1000 + place) % 367 == 0));
        assert!(chance.alone(lost));
        assert!(!chance.alone(10), "most holes were packets out of order");
    }

    #[test]
    fn losses_in_bursts_are_a_queues() {
        let (late, lost) = of_rows(40, |_, place| u64::from(place == 900));
        assert!(!late.alone(lost));
        let (together, lost) = of_rows(40, |row, place| u64::from(place / 20 == row));
        assert!(!together.alone(lost));
    }

    #[test]
    fn a_few_losses_tell_nothing() {
        let (chance, lost) = of_rows(7, |_, place| u64::from(place == 500));
        assert!(!chance.alone(lost));
    }
}
