//! What a sender that is still waits for.

/// A timer of the sending half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A SYN or its answer is sent again.
    Handshake,
    /// The retransmission timer.
    Timeout,
    /// A tail is probed for loss.
    Probe,
    /// What may be out of order is taken for lost.
    Reordering,
}
