//! What tests of this crate share.

use fanin_placement::Object;

/// Objects of these numbers.
pub fn objects(numbers: &[u32]) -> Vec<Object> {
    numbers.iter().map(|number| Object(*number)).collect()
}
