//! CUBIC: grow along a cubic function of the time since the last loss.
//! Sources: RFC 9438, sections 4.1 to 4.8; with `variant = "linux"` Linux 6.1, net/ipv4/tcp_cubic.c (cubic/linux.rs, and cubic/hystart.rs).
//! Law:     W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch) / C); cwnd moves to W(t + RTT) within a round trip,
//!          and is never below Reno's window; on loss ssthresh <- beta flight.
//! Units:   cwnd in bytes; t and K in 1/1024 s; windows of the cubic function in 1/1024 segment; C and beta in 1/1024.
//! Owns:    the epoch, W_max, K, W_est. The endpoint owns loss recovery.
//! Departs: time is counted in 1/1024 s (as in Linux), and (t - K) is limited to 128 s.
//! Checked: vectors/cubic.json; tests/trajectories/cubic.txt.

mod curve;
mod hystart;
mod linux;
mod params;
mod rfc9438;
mod stage;

pub use params::{Params, Variant};

use fanin_units::Time;

use super::control::{Ack, Cause, Congestion, Control, Window};

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub enum Cubic {
    /// The RFC's.
    Rfc9438(rfc9438::Cubic),
    /// Linux's.
    Linux(linux::Cubic),
}

impl Cubic {
    /// The state of a new connection.
    pub fn start(params: &Params) -> Cubic {
        match params.variant {
            Variant::Rfc9438 => Cubic::Rfc9438(rfc9438::Cubic::start(params)),
            Variant::Linux => Cubic::Linux(linux::Cubic::start(params)),
        }
    }

    /// The connection sends again after it was idle.
    pub fn resume(&mut self, now: Time, last_sent: Time) {
        if let Cubic::Linux(cubic) = self {
            cubic.resume(now, last_sent);
        }
    }

    /// HyStart: note an ACK's round trip before the window grows; may end slow start.
    pub fn search(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        if let Cubic::Linux(cubic) = self {
            cubic.search(ack, mss, window);
        }
    }
}

impl Control for Cubic {
    fn observe(&mut self, ack: &Ack) {
        if let Cubic::Linux(cubic) = self {
            cubic.observe(ack);
        }
    }

    fn takes_several(&self) -> bool {
        matches!(self, Cubic::Linux(_))
    }

    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        super::newreno::slow_start(ack, mss, window);
    }

    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        match self {
            Cubic::Rfc9438(cubic) => cubic.congestion_avoidance(ack, mss, window),
            Cubic::Linux(cubic) => cubic.congestion_avoidance(ack, mss, window),
        }
    }

    fn cut(&mut self, cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        match self {
            Cubic::Rfc9438(cubic) => cubic.cut(cause, at, mss, window),
            Cubic::Linux(cubic) => cubic.cut(cause, at, mss, window),
        }
    }
}
