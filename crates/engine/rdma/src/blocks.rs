//! Runs of bytes with holes between them, for selective repeat: in order, and none touches the next.

use fanin_transport::Block;

/// Adds a run; returns the one that now has it, or `None` if all of it was there.
pub fn add(blocks: &mut Vec<Block>, Block { start, end }: Block) -> Option<Block> {
    let from = blocks.partition_point(|block| block.end < start);
    let to = blocks.partition_point(|block| block.start <= end);
    let touched = &blocks[from..to];
    if touched.iter().any(|block| block.start <= start && end <= block.end) {
        return None;
    }
    let start = touched.first().map_or(start, |first| first.start.min(start));
    let end = touched.last().map_or(end, |last| last.end.max(end));
    let whole = Block { start, end };
    blocks.splice(from..to, [whole]);
    Some(whole)
}

/// Everything before `from` is there: removes it, and returns the end of the run that begins there.
pub fn end_after(blocks: &mut Vec<Block>, from: u64) -> u64 {
    let over = blocks.partition_point(|block| block.start <= from);
    let end = blocks.drain(..over).map(|block| block.end).max();
    end.unwrap_or(from).max(from)
}

/// The first hole from `from` on that ends before a run, or at `until`.
pub fn hole(blocks: &[Block], from: u64, until: u64) -> Option<Block> {
    let mut from = from;
    for block in blocks {
        if from < block.start {
            return Some(Block { start: from, end: block.start });
        }
        from = from.max(block.end);
    }
    (from < until).then_some(Block { start: from, end: until })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, end: u64) -> Block {
        Block { start, end }
    }

    #[test]
    fn runs_that_touch_become_one() {
        let mut blocks = Vec::new();
        assert_eq!(add(&mut blocks, block(10, 20)), Some(block(10, 20)));
        assert_eq!(add(&mut blocks, block(30, 40)), Some(block(30, 40)));
        assert_eq!(add(&mut blocks, block(12, 18)), None);
        assert_eq!(add(&mut blocks, block(20, 30)), Some(block(10, 40)));
        assert_eq!(blocks, [block(10, 40)]);
    }

    #[test]
    fn holes_end_before_the_next_run() {
        let mut blocks = vec![block(10, 20), block(30, 40)];
        assert_eq!(hole(&blocks, 0, 0), Some(block(0, 10)));
        assert_eq!(hole(&blocks, 15, 0), Some(block(20, 30)));
        assert_eq!(hole(&blocks, 30, 0), None);
        assert_eq!(hole(&blocks, 30, 50), Some(block(40, 50)));
        assert_eq!(end_after(&mut blocks, 10), 20);
        assert_eq!(end_after(&mut blocks, 25), 25);
        assert_eq!(blocks, [block(30, 40)]);
    }
}
