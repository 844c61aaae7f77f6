//! State of one end that its driver sees.

use crate::progress::Progress;

/// Progress of written data from the sender's view; bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Written in all.
    pub total: u64,
    /// Sent at least once.
    pub sent: u64,
    /// Acknowledged in order.
    pub acked: u64,
}

/// Where a connection stands at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing has been sent or received yet.
    Listening,
    /// The handshake is under way.
    Opening,
    /// Data may flow.
    Open,
    /// Both sides have closed, and everything is acknowledged.
    Finished,
    /// One end has broken it off.
    Reset,
}

/// How an end waits for its turn at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// In line.
    Now,
    /// Until no other end waits in line.
    Idle,
}

/// A timer of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Repeat the packet that opens the connection.
    Handshake,
    /// The retransmission timer.
    Timeout,
    /// Probe a tail for loss.
    Probe,
    /// Declare data lost after the reordering window.
    Reordering,
    /// Acknowledge data that was received some time ago.
    DelayedAck,
    /// Send the next packet at the sender's rate.
    Pace,
    /// Ask for a receive window again, which is closed.
    Window,
}

/// Outcome of served timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The timer that fired; the most important one if there were several.
    pub timer: Timer,
    /// Whether the connection was given up.
    pub progress: Progress,
}

/// Counters of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Retransmission timeouts, including backoffs and those of the handshake.
    pub timeouts: u32,
    /// Entries into fast recovery.
    pub fast_retransmits: u32,
    /// Tails probed for loss.
    pub probes: u32,
    /// Data packets retransmitted.
    pub retransmits: u32,
    /// Packets sent, of any kind; wraps.
    pub segments_sent: u32,
    /// Packets received, of any kind; wraps.
    pub segments_received: u32,
    /// Received data packets with new bytes.
    pub data_segments: u64,
}
