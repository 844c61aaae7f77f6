//! One-all: every server is asked at once.
//! Sources: Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), section 4, One-all.
//! Law:     the window is without end.
//! Units:   servers.
//! Owns:    nothing.
//! Departs: nowhere.
//! Checked: vectors/one_all.json; tests/trajectories/one_all.txt.

/// The baseline.
#[derive(Clone, Copy, Debug)]
pub struct OneAll;

impl OneAll {
    /// How many servers may be asked and not have answered.
    pub fn window(&self) -> u32 {
        u32::MAX
    }
}
