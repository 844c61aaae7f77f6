//! A line of the terminal that shows the latest seconds.

use std::collections::VecDeque;

/// Columns, each of which is a step of the watch.
const COLUMNS: usize = 60;
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Largest bins of the latest steps.
#[derive(Debug, Default)]
pub struct Live(VecDeque<u64>);

impl Live {
    /// Erases the line.
    pub const ERASE: &'static str = "\r\x1b[K";

    /// Adds a step's largest bin, and returns the line. `full`: bytes that the link carries in a bin.
    pub fn step(&mut self, largest: u64, full: u64, link_mbit: u64) -> String {
        self.0.push_back(largest);
        if self.0.len() > COLUMNS {
            self.0.pop_front();
        }
        let bars = self.0.iter().map(|bytes| {
            let eighths = (bytes * 8).div_ceil(full.max(1)).min(8);
            usize::try_from(eighths).ok().and_then(|eighths| BARS.get(eighths)).copied().unwrap_or(' ')
        });
        let bars: String = bars.collect();
        let mbit = largest as f64 / full.max(1) as f64 * link_mbit as f64;
        format!("{}{bars:>COLUMNS$}| largest bin {mbit:.0} of {link_mbit} Mbit/s", Live::ERASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_eighths_of_the_link() {
        let mut live = Live::default();
        let lines: Vec<String> = [0, 1, 500, 1_000, 9_000].map(|bytes| live.step(bytes, 1_000, 10_000)).into();
        assert!(lines[4].contains("  ▁▄██| largest bin 90000 of 10000 Mbit/s"), "{}", lines[4]);
        (1..COLUMNS).for_each(|_| drop(live.step(0, 1_000, 10_000)));
        let last = live.step(0, 1_000, 10_000);
        assert!(last.contains(&format!("{}| largest bin 0 ", " ".repeat(COLUMNS))), "{last}");
    }
}
