//! What tests of this crate share.

use fanin_placement::Object;

/// Objects of these numbers.
pub fn objects(numbers: &[u32]) -> Vec<Object> {
    numbers.iter().map(|number| Object(*number)).collect()
}

/// Random numbers (splitmix64).
pub struct Draws(pub u64);

impl Draws {
    /// A number below another.
    pub fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(end)) >> 64) as u32
    }
}
