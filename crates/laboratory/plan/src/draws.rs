//! Random draws for artificial logs.

/// Whole numbers below a bound, one after another, the same from the same beginning.
pub struct Draws(pub u64);

impl Draws {
    /// The next number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 33) * u64::from(bound)) >> 31) as u32
    }
}

/// Draws ranks from zero on, in proportion to 1/(rank + 1).
pub struct Harmonic(Vec<f64>);

impl Harmonic {
    /// This many ranks.
    pub fn new(ranks: u32) -> Harmonic {
        let sums = (1..=ranks).scan(0.0, |sum, rank| {
            *sum += 1.0 / f64::from(rank);
            Some(*sum)
        });
        Harmonic(sums.collect())
    }

    /// Draws a rank.
    pub fn draw(&self, draws: &mut Draws) -> usize {
        let last = self.0.len() - 1;
        let at = f64::from(draws.below(1 << 30)) / f64::from(1 << 30) * self.0[last];
        self.0.partition_point(|sum| *sum < at).min(last)
    }
}
