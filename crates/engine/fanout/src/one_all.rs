//! One-all: requests from every server at once.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 4, One-all.
//! Law:     the window is unlimited.
//! Units:   servers.
//! Owns:    nothing.
//! Departs: nowhere.
//! Checked: vectors/one_all.json; tests/trajectories/one_all.txt.

/// The baseline.
#[derive(Clone, Copy, Debug)]
pub struct OneAll;

impl OneAll {
    /// Maximum number of outstanding servers.
    pub fn window(&self) -> u32 {
        u32::MAX
    }
}
