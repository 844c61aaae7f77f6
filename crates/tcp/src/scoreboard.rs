//! What the peer has beyond a hole: sorted, disjoint runs of sequence numbers (RFC 6675, section 3).

use crate::Block;

/// The sender's scoreboard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    runs: Vec<Block>,
    bytes: u64,
}

impl Scoreboard {
    /// Bytes known to be at the peer beyond the cumulative ACK.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing is known.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// One past the highest byte known to be at the peer.
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

    /// Drops what the cumulative ACK covers.
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

    /// The first hole at or above `from`: its start and its end, the start of the next run; `None` above all runs.
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

    /// Where sending goes on from `from`: past the run that it lies in.
    pub fn skip(&self, from: u64) -> u64 {
        let next = self.runs.get(self.runs.partition_point(|run| run.end <= from));
        next.map_or(from, |run| if run.start <= from { run.end } else { from })
    }

    /// Below this, every byte that is not at the peer is lost (IsLost()): three runs lie above it, or more than two
    /// segments' bytes.
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

    /// Bytes of `from..to` that are not at the peer.
    pub fn missing(&self, from: u64, to: u64) -> u64 {
        if to <= from {
            return 0;
        }
        let covered: u64 = self.runs.iter().map(|run| run.end.min(to).saturating_sub(run.start.max(from))).sum();
        to - from - covered
    }
}
