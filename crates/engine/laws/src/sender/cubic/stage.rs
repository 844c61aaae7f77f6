//! State that a stage of congestion avoidance shares with HyStart (`super::linux`, `super::hystart`).

/// State of a stage of congestion avoidance; before it begins, these words are HyStart's (`HyStart::of`), as an endpoint takes eight
/// cache lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    /// Its K and its plateau.
    pub k: u32,
    pub origin: u32,
    /// Reno's window, and acknowledged segments that it has not grown by yet.
    pub w_est: u32,
    pub acked: u32,
}
