//! SACKed data beyond a hole: sorted, disjoint runs of sequence numbers (RFC 6675, section 3).

use crate::Block;

/// The sender's scoreboard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    runs: Vec<Block>,
    bytes: u64,
}

impl Scoreboard {
    /// Bytes SACKed beyond the cumulative ACK.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing is SACKed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// One past the highest SACKed byte.
    pub fn end(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// Adds a block (Update()).
    pub fn insert(&mut self, block: Block) {
        if block.start >= block.end {
            return;
        }
        let first = self.runs.partition_point(|run| run.end < block.start);
        let last = first + self.runs[first..].partition_point(|run| run.start <= block.end);
        let mut merged = block;
        for run in &self.runs[first..last] {
            merged = Block { start: merged.start.min(run.start), end: merged.end.max(run.end) };
            self.bytes -= run.end - run.start;
        }
        self.bytes += merged.end - merged.start;
        self.runs.splice(first..last, [merged]);
    }

    /// Remove data that the cumulative ACK covers.
    pub fn advance(&mut self, una: u64) {
        let gone = self.runs.partition_point(|run| run.end <= una);
        for run in self.runs.drain(..gone) {
            self.bytes -= run.end - run.start;
        }
        if let Some(first) = self.runs.first_mut()
            && first.start < una
        {
            self.bytes -= una - first.start;
            first.start = una;
        }
    }

    /// The first hole at or above `from`, ending at the start of the next run; `None` above all runs.
    pub fn hole(&self, from: u64) -> Option<Block> {
        let mut start = from;
        for run in &self.runs[self.runs.partition_point(|run| run.end <= from)..] {
            if run.start > start {
                return Some(Block { start, end: run.start });
            }
            start = run.end;
        }
        None
    }

    /// Where sending resumes from `from`: past the run that contains it.
    pub fn skip(&self, from: u64) -> u64 {
        let next = self.runs.get(self.runs.partition_point(|run| run.end <= from));
        next.map_or(from, |run| if run.start <= from { run.end } else { from })
    }

    /// Below this, every byte that is not SACKed is lost (IsLost()): three runs are above it, or more than two segments' bytes.
    pub fn lost_below(&self, mss: u32) -> u64 {
        let mut above = 0;
        for (count, run) in self.runs.iter().rev().enumerate() {
            above += run.end - run.start;
            if count + 1 >= 3 || above > 2 * u64::from(mss) {
                return run.start;
            }
        }
        0
    }

    /// Bytes of `from..to` that are not SACKed.
    pub fn missing(&self, from: u64, to: u64) -> u64 {
        if to <= from {
            return 0;
        }
        let covered: u64 = self.runs.iter().map(|run| run.end.min(to).saturating_sub(run.start.max(from))).sum();
        to - from - covered
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Scoreboard;
    use crate::Block;

    /// Reference model with one entry per byte.
    #[derive(Debug, Default)]
    struct Model(BTreeSet<u64>);

    impl Model {
        fn runs(&self) -> Vec<Block> {
            let mut runs: Vec<Block> = Vec::new();
            for &byte in &self.0 {
                match runs.last_mut() {
                    Some(run) if run.end == byte => run.end += 1,
                    _ => runs.push(Block { start: byte, end: byte + 1 }),
                }
            }
            runs
        }

        /// IsLost(): three discontiguous runs above `byte`, or more than two segments' bytes.
        fn is_lost(&self, byte: u64, mss: u32) -> bool {
            let above = self.0.range(byte..).count() as u64;
            self.runs().iter().filter(|run| run.start > byte).count() >= 3 || above > 2 * u64::from(mss)
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u64, u64),
        Advance(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let insert = (0..120u64, 0..20u64).prop_map(|(start, len)| Step::Insert(start, len));
        let advance = (0..120u64).prop_map(Step::Advance);
        prop::collection::vec(prop_oneof![4 => insert, 1 => advance], 1..24)
    }

    proptest! {
        #![proptest_config(fanin_testing::cases(256))]

        #[test]
        fn scoreboard_matches_a_set_of_bytes(steps in steps(), mss in 1..8u32) {
            let (mut board, mut model, mut una) = (Scoreboard::default(), Model::default(), 0);
            for step in steps {
                match step {
                    Step::Insert(start, len) => {
                        let start = start.max(una);
                        board.insert(Block { start, end: start + len });
                        model.0.extend(start..start + len);
                    }
                    Step::Advance(to) => {
                        una = una.max(to);
                        board.advance(una);
                        model.0 = model.0.split_off(&una);
                    }
                }
                prop_assert_eq!(&board.runs, &model.runs());
                prop_assert_eq!(board.bytes(), model.0.len() as u64);
                prop_assert_eq!(board.is_empty(), model.0.is_empty());
                prop_assert_eq!(board.end(), model.0.last().map_or(0, |last| last + 1));
                for byte in una..150 {
                    let missing = (byte..model.0.last().map_or(0, |&last| last)).find(|at| !model.0.contains(at));
                    let hole = missing.map(|start| {
                        let end = (start..).find(|at| model.0.contains(at)).unwrap_or(start);
                        Block { start, end }
                    });
                    prop_assert_eq!(board.hole(byte), hole, "the hole from {}", byte);
                    let skip = (byte..).find(|at| !model.0.contains(at));
                    prop_assert_eq!(Some(board.skip(byte)), skip, "going on from {}", byte);
                    let missing = (una..byte).filter(|at| !model.0.contains(at)).count() as u64;
                    prop_assert_eq!(board.missing(una, byte), missing, "missing up to {}", byte);
                    if !model.0.contains(&byte) {
                        prop_assert_eq!(byte < board.lost_below(mss), model.is_lost(byte, mss), "lost at {}", byte);
                    }
                }
            }
        }
    }

    #[test]
    fn three_runs_above_mean_loss() {
        let mut board = Scoreboard::default();
        for start in [2, 4] {
            board.insert(Block { start, end: start + 1 });
        }
        assert_eq!(board.lost_below(1000), 0);
        board.insert(Block { start: 6, end: 7 });
        assert_eq!(board.lost_below(1000), 2);
    }

    #[test]
    fn more_than_two_segments_above_mean_loss() {
        let mut board = Scoreboard::default();
        board.insert(Block { start: 1000, end: 3000 });
        assert_eq!(board.lost_below(1000), 0);
        board.insert(Block { start: 3000, end: 3001 });
        assert_eq!(board.lost_below(1000), 1000);
    }
}
