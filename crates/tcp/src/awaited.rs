//! Timers of a waiting sender.

/// A timer of the sending half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Retransmit a SYN or SYN-ACK.
    Handshake,
    /// The retransmission timer.
    Timeout,
    /// Probe a tail for loss.
    Probe,
    /// Declare data lost after the reordering window.
    Reordering,
}
