//! Interface of a congestion control.

use fanin_units::{Rate, Time};

use crate::row::Shown;

/// The congestion window and the slow-start threshold, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Bytes that may be in flight.
    pub cwnd: u32,
    /// Slow start applies below this window.
    pub ssthresh: u32,
}

/// Contents of one ACK of new data. Offsets count the stream's bytes from zero.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Newly acknowledged bytes.
    pub acked: u32,
    /// The first byte not yet acknowledged, after this ACK.
    pub una: u64,
    /// The next byte to send.
    pub nxt: u64,
    /// Whether it echoes congestion.
    pub ece: bool,
    /// The round-trip time that it measured, if any.
    pub rtt: Option<Time>,
    /// The smoothed round-trip time.
    pub srtt: Time,
}

/// A sender's state when it meets congestion.
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

/// Reason for a window reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Loss, detected by duplicate ACKs or by the scoreboard.
    Loss,
    /// Loss, detected by the retransmission timer.
    Timeout,
    /// A congestion mark, once a window.
    Ecn,
}

/// A congestion control: evolution of a connection's window, without separate slow starts or caps.
///
/// Outside a reduction it only adds to cwnd and leaves ssthresh alone, unless its row has `is_delay_based`: then it may lower both,
/// down to two segments; one that [has a rate](Control::rate) may lower cwnd to one. Lowering ssthresh to the window ends slow start and keeps a reduced window out of it. Data in flight
/// beyond a smaller window is not sent again: the endpoint waits until it has drained. HyStart ([`super::Law::search`]) ends slow start, too.
pub trait Control {
    /// The longest path between hosts passes this many switches; called once, before the first connection, if its row has
    /// `times_packets`.
    fn passes(&mut self, _switches: u32) {}

    /// Take a round-trip sample from the handshake; ACKs bring the others.
    fn sample(&mut self, _rtt: Time) {}

    /// The application hands over the bytes from `start` to `end` of the stream, due by `deadline`.
    fn begin(&mut self, _start: u64, _end: u64, _deadline: Time) {}

    /// Process an ACK, in recovery too.
    fn observe(&mut self, _ack: &Ack) {}

    /// Moves the window below ssthresh.
    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window);

    /// Moves the window from ssthresh on.
    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window);

    /// Whether congestion avoidance takes an ACK of several segments at once; else each segment by itself where bytes are counted.
    fn takes_several(&self) -> bool {
        false
    }

    /// Whether it ever [has a rate](Control::rate); called once, at the start.
    fn paces(&self) -> bool {
        false
    }

    /// Rate of payload at which segments leave one by one, outside recovery; `None` sends as the window allows. `srtt` is the smoothed
    /// round-trip time.
    fn rate(&self, _window: &Window, _srtt: Time) -> Option<Rate> {
        None
    }

    /// The new ssthresh after congestion, at least two segments.
    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32;

    /// State to display.
    fn shown(&self) -> Option<Shown> {
        None
    }
}
