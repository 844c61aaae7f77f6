//! The sender's window: a base law, an optional gentler slow start, an optional cap.
//!
//! The endpoint owns the scoreboard, loss recovery, the retransmission timer, the once-a-window gate on ECE, and the
//! [`Window`] itself. It tells the law what the application sends ([`Law::begin`]) and of every ACK ([`Law::observe`]),
//! asks it to [`grow`](Law::grow) the window outside recovery, asks for a new ssthresh on congestion ([`Law::cut`]), and
//! asks how much of the window is [`usable`](Law::usable).

pub mod cubic;
pub mod d2tcp;
pub mod dctcp;
pub mod gentle_slow_start;
pub mod l2dct;
pub mod max_cwnd;
pub mod newreno;

use fanin_units::Time;

use cubic::Cubic;
use d2tcp::D2tcp;
use dctcp::Dctcp;
use gentle_slow_start::GentleSlowStart;
use l2dct::L2dct;
use max_cwnd::MaxCwnd;

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

/// The law under everything else.
#[derive(Clone, Copy, Debug)]
pub enum Base {
    /// RFC 5681; it has no state of its own.
    NewReno,
    /// RFC 9438.
    Cubic(Cubic),
    /// RFC 8257, or a variant of it.
    Dctcp(Dctcp, Variant),
}

/// How far a law that keeps DCTCP's alpha is not DCTCP.
#[derive(Clone, Copy, Debug)]
pub enum Variant {
    /// It is.
    Plain,
    /// With deadlines.
    D2tcp(D2tcp),
    /// Weighted by attained service.
    L2dct(L2dct),
}

impl Variant {
    fn begin(&mut self, start: u64, end: u64, deadline: Time) {
        match self {
            Variant::Plain => {}
            Variant::D2tcp(d2tcp) => d2tcp.begin(end, deadline),
            Variant::L2dct(l2dct) => l2dct.begin(start),
        }
    }

    /// What is added for a window acknowledged.
    fn step(&self, mss: u32, ack: &Ack) -> u32 {
        match self {
            Variant::Plain | Variant::D2tcp(_) => mss,
            Variant::L2dct(l2dct) => l2dct.step(mss, ack.una),
        }
    }

    /// To what power a cut takes alpha.
    fn power_q16(&self, at: &Congestion, window: &Window) -> Option<u64> {
        match self {
            Variant::Plain => None,
            Variant::D2tcp(d2tcp) => Some(d2tcp.d_q16(at, window)),
            Variant::L2dct(l2dct) => Some(l2dct.weight_q16(at.una)),
        }
    }
}

/// One sender's law.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The maximum segment size, bytes.
    pub mss: u32,
    /// What everything else stands on.
    pub base: Base,
    /// Growth below ssthresh, where it is not the base's.
    pub slow_start: Option<GentleSlowStart>,
    /// A cap from outside.
    pub cap: Option<MaxCwnd>,
}

impl Law {
    /// Takes a round-trip sample from the handshake; ACKs bring the others.
    pub fn sample(&mut self, rtt: Time) {
        if let Some(gss) = &mut self.slow_start {
            gss.sample(rtt);
        }
    }

    /// Learns that the application hands over the bytes from `start` to `end` of the stream, to be there by `deadline`.
    pub fn begin(&mut self, start: u64, end: u64, deadline: Time) {
        if let Base::Dctcp(_, variant) = &mut self.base {
            variant.begin(start, end, deadline);
        }
    }

    /// Learns from an ACK, in recovery too.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        if let Base::Dctcp(dctcp, _) = &mut self.base {
            dctcp.observe(ack);
        }
        if let Some(gss) = &mut self.slow_start {
            gss.observe(ack);
        }
    }

    /// Grows the window on an ACK of new data outside recovery.
    #[inline]
    pub fn grow(&mut self, ack: &Ack, window: &mut Window) {
        if window.cwnd < window.ssthresh {
            match &mut self.slow_start {
                Some(gss) => gss.grow(ack, self.mss, window),
                None => newreno::slow_start(ack, self.mss, window),
            }
        } else {
            match &mut self.base {
                Base::NewReno => newreno::congestion_avoidance(self.mss, window),
                Base::Cubic(cubic) => cubic.congestion_avoidance(ack, self.mss, window),
                Base::Dctcp(dctcp, variant) => {
                    dctcp.congestion_avoidance(variant.step(self.mss, ack), ack, self.mss, window);
                }
            }
        }
        if let Some(cap) = &self.cap {
            cap.hold(self.mss, window);
        }
    }

    /// The new ssthresh after congestion; the endpoint sets the window by its recovery.
    pub fn cut(&mut self, cause: Cause, at: &Congestion, window: &Window) -> u32 {
        match (&mut self.base, cause) {
            (Base::Cubic(cubic), _) => cubic.cut(cause, at.flight, self.mss, window),
            (Base::Dctcp(dctcp, variant), Cause::Ecn) => dctcp.cut(variant.power_q16(at, window), self.mss, window),
            _ => newreno::ssthresh(at.flight, self.mss),
        }
    }

    /// Takes what the network hands out, where the law has a cap.
    #[inline]
    pub fn allot(&mut self, offer: u32) {
        if let Some(cap) = &mut self.cap {
            cap.allot(offer);
        }
    }

    /// How much of the window may be in flight; it may be under one MSS.
    #[inline]
    pub fn usable(&self, window: &Window) -> u32 {
        match &self.cap {
            Some(cap) => window.cwnd.min(cap.limit(self.mss)),
            None => window.cwnd,
        }
    }
}
