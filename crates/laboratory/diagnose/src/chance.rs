//! Detection of random losses, such as those of a bad cable: they are isolated and independent of the bytes that arrived in a row before
//! them. A queue that overflows loses several packets together, after a long row.

use std::collections::BTreeMap;

/// Packets per block in which losses are counted.
const BLOCK: u32 = 64;
/// Fewer losses permit no conclusion.
const LEAST: u64 = 8;
/// Random losses have a variance over blocks that is about their mean. A queue that overflows has many times as much.
const SPREAD: f64 = 3.0;
/// By chance, the distribution of n samples differs from the whole's by more than 1.63 over sqrt(n) once in a hundred (Kolmogorov and
/// Smirnov). A hole appears slightly after its loss, hence the larger value.
const DIFFER: f64 = 2.2;

/// Arrivals at a host, and the holes among them.
#[derive(Debug, Default)]
pub(crate) struct Chance {
    /// Packets and holes by the bytes in a row before them, in bins of an eighth of an octave.
    places: BTreeMap<u32, (u64, u64)>,
    holes: u64,
    /// The current block: its packets and missing packets.
    block: (u32, u64),
    blocks: u64,
    missing: u64,
    squares: u64,
}

impl Chance {
    /// Records a packet: `row` bytes had arrived in a row, and `missing` packets of its connection are missing before it.
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

    /// The number of packets recorded.
    pub fn packets(&self) -> u64 {
        self.blocks * u64::from(BLOCK) + u64::from(self.block.0)
    }

    /// Whether `lost` packets were lost independently of the queue.
    pub fn alone(&self, lost: u64) -> bool {
        // Holes without a loss are packets out of order.
        if self.holes < LEAST || lost * 2 < self.holes || self.missing == 0 {
            return false;
        }
        let mean = self.missing as f64 / self.blocks as f64;
        let spread = (self.squares as f64 / self.blocks as f64 - mean * mean) / mean;
        spread < SPREAD && self.differs() * libm::sqrt(self.holes as f64) < DIFFER
    }

    /// The largest difference between the cumulative shares of holes and of packets.
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

    /// Rows of a thousand packets of 1,500 B each, with some missing.
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
    fn isolated_losses_at_any_position_are_random() {
        // A prime number of packets apart, so that losses reach all places of a row.
        let (chance, lost) = of_rows(40, |row, place| u64::from((row * 1000 + place) % 367 == 0));
        assert!(chance.alone(lost));
        assert!(!chance.alone(10), "most holes were packets out of order");
    }

    #[test]
    fn losses_in_bursts_are_due_to_a_queue() {
        let (late, lost) = of_rows(40, |_, place| u64::from(place == 900));
        assert!(!late.alone(lost));
        let (together, lost) = of_rows(40, |row, place| u64::from(place / 20 == row));
        assert!(!together.alone(lost));
    }

    #[test]
    fn few_losses_permit_no_conclusion() {
        let (chance, lost) = of_rows(7, |_, place| u64::from(place == 500));
        assert!(!chance.alone(lost));
    }
}
