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
    /// RFC 8257.
    Dctcp(Dctcp),
    /// DCTCP with deadlines.
    D2tcp(D2tcp),
    /// DCTCP weighted by attained service.
    L2dct(L2dct),
}

impl Base {
    /// The share of marked bytes, where the base keeps one.
    pub fn dctcp(&self) -> Option<&Dctcp> {
        match self {
            Base::NewReno | Base::Cubic(_) => None,
            Base::Dctcp(dctcp) => Some(dctcp),
            Base::D2tcp(d2tcp) => Some(&d2tcp.dctcp),
            Base::L2dct(l2dct) => Some(&l2dct.dctcp),
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
        match &mut self.base {
            Base::NewReno | Base::Cubic(_) | Base::Dctcp(_) => {}
            Base::D2tcp(d2tcp) => d2tcp.begin(end, deadline),
            Base::L2dct(l2dct) => l2dct.begin(start),
        }
    }

    /// Learns from an ACK, in recovery too.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        match &mut self.base {
            Base::NewReno | Base::Cubic(_) => {}
            Base::Dctcp(dctcp) => dctcp.observe(ack),
            Base::D2tcp(d2tcp) => d2tcp.dctcp.observe(ack),
            Base::L2dct(l2dct) => l2dct.dctcp.observe(ack),
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
                Base::Dctcp(dctcp) => dctcp.congestion_avoidance(ack, self.mss, window),
                Base::D2tcp(d2tcp) => d2tcp.dctcp.congestion_avoidance(ack, self.mss, window),
                Base::L2dct(l2dct) => l2dct.congestion_avoidance(ack, self.mss, window),
                Base::Cubic(cubic) => cubic.congestion_avoidance(ack, self.mss, window),
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
            (Base::Dctcp(dctcp), Cause::Ecn) => dctcp.cut(self.mss, window),
            (Base::D2tcp(d2tcp), Cause::Ecn) => d2tcp.cut(at, self.mss, window),
            (Base::L2dct(l2dct), Cause::Ecn) => l2dct.cut(at, self.mss, window),
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
