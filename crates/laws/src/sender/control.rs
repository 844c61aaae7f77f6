//! What a base law is told and asked.

use fanin_units::Time;

use crate::row::Shown;

/// The congestion window and the slow-start threshold, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How much may be in flight.
    pub cwnd: u32,
    /// Below it the window grows by slow start.
    pub ssthresh: u32,
}

/// What one ACK of new data says. Offsets count the stream's bytes from zero.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes that it newly acknowledges.
    pub acked: u32,
    /// The first byte not yet acknowledged, after this ACK.
    pub una: u64,
    /// The next byte to send.
    pub nxt: u64,
    /// Whether it echoes congestion.
    pub ece: bool,
    /// The round-trip time that it measured, if it did.
    pub rtt: Option<Time>,
    /// The smoothed round-trip time.
    pub srtt: Time,
}

/// How a sender stands when it meets congestion.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Time,
    /// Bytes outstanding.
    pub flight: u32,
    /// The first byte not yet acknowledged.
    pub una: u64,
    /// The smoothed round-trip time.
    pub srtt: Time,
}

/// Why the window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Loss, found by duplicate ACKs or by the scoreboard.
    Loss,
    /// Loss, found by the retransmission timer.
    Timeout,
    /// A congestion mark, once a window.
    Ecn,
}

/// A base law: what a connection's window does, but for a slow start or a cap of other laws.
///
/// Outside a cut a law only adds to cwnd and leaves ssthresh alone, unless its row says that it gives way: then it may take
/// from both, down to two segments. Lowering ssthresh to the window ends slow start, and keeps a window that was taken from
/// out of it. What is in flight beyond a smaller window is not sent again: the endpoint waits until it has left.
pub trait Control {
    /// Takes a round-trip sample from the handshake; ACKs bring the others.
    fn sample(&mut self, _rtt: Time) {}

    /// Learns that the application hands over the bytes from `start` to `end` of the stream, to be there by `deadline`.
    fn begin(&mut self, _start: u64, _end: u64, _deadline: Time) {}

    /// Learns from an ACK, in recovery too.
    fn observe(&mut self, _ack: &Ack) {}

    /// Moves the window below ssthresh.
    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window);

    /// Moves the window from ssthresh on.
    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window);

    /// The new ssthresh after congestion, at least two segments.
    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32;

    /// What of its state is worth a look.
    fn shown(&self) -> Option<Shown> {
        None
    }
}
