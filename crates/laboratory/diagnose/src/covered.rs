//! Time that is covered by spans, which may overlap.

use std::collections::BTreeMap;

/// Covered time: separate spans, each with its end.
#[derive(Debug, Default)]
pub(crate) struct Covered {
    spans: BTreeMap<u64, u64>,
}

impl Covered {
    /// Adds a span. Returns how much of it was not covered before.
    pub fn add(&mut self, from: u64, to: u64) -> u64 {
        let (mut begin, mut end, mut free) = (from, to, to.saturating_sub(from));
        // The last span that begins before this one ends comes first.
        while let Some((&start, &until)) = self.spans.range(..=to).next_back().filter(|(_, until)| **until >= from) {
            free -= until.min(to).saturating_sub(start.max(from));
            (begin, end) = (begin.min(start), end.max(until));
            self.spans.remove(&start);
        }
        self.spans.insert(begin, end);
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_once() {
        let mut covered = Covered::default();
        assert_eq!((covered.add(10, 20), covered.add(30, 40), covered.add(15, 18)), (10, 10, 0));
        assert_eq!(covered.add(5, 35), 15, "5 to 10 and 20 to 30");
        assert_eq!((covered.add(0, 50), covered.spans.len()), (15, 1));
    }
}
