//! Mean size of responses, for limits in bytes.

/// Largest size that counts: 256 TiB.
pub const SIZE_MAX: u64 = 1 << 48;
/// Assumed size of a response while none is known.
pub const ASSUMED: u64 = 64 << 10;
/// Weight of a response in the mean size: 1/2^5, as many as `ictcp-window` takes a mean of.
const SHIFT: u32 = 5;
/// Fractional bits of the mean size.
const BITS: u32 = 8;

/// Mean size of about the last 32 responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeanSize {
    /// In units of 1/2^8 bytes; none before the first size.
    q8: Option<u64>,
}

impl MeanSize {
    /// Records a size in bytes; the first one is the mean.
    pub fn learn(&mut self, bytes: u64) {
        let size = bytes.min(SIZE_MAX) << BITS;
        self.q8 = Some(match self.q8 {
            None => size,
            Some(mean) => mean - (mean >> SHIFT) + (size >> SHIFT),
        });
    }

    /// The mean in bytes, if any size is known.
    pub fn get(&self) -> Option<u64> {
        self.q8.map(|mean| mean >> BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_moves_by_a_32nd() {
        let mut mean = MeanSize::default();
        assert_eq!(mean.get(), None);
        mean.learn(3_200);
        assert_eq!(mean.get(), Some(3_200));
        mean.learn(6_400);
        assert_eq!(mean.get(), Some(3_300));
        (0..1_000).for_each(|_| mean.learn(u64::MAX));
        assert!(mean.get().is_some_and(|mean| mean > SIZE_MAX - 64));
    }
}
