//! CUBIC: grow along a cubic function of the time since the last loss.
//! Sources: RFC 9438, sections 4.1 to 4.8; with `variant = "linux"` Linux 6.1, net/ipv4/tcp_cubic.c (cubic/linux.rs).
//! Law:     W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch) / C); cwnd moves to W(t + RTT) within a round trip,
//!          and is never under the window that Reno would have; on loss ssthresh <- beta flight.
//! Units:   cwnd in bytes; t and K in 1/1024 s; windows of the cubic function in 1/1024 segment; C and beta in 1/1024.
//! Owns:    the epoch, W_max, K, W_est. The endpoint owns loss recovery.
//! Departs: time is counted in 1/1024 s (as Linux does), and (t - K) is held within 128 s.
//! Checked: vectors/cubic.json; tests/trajectories/cubic.txt.

mod linux;
mod rfc9438;

use fanin_units::Share;

use super::control::{Ack, Cause, Congestion, Control, Window};
use crate::fixed::cbrt;
use crate::settings::{params, words};

/// Picoseconds in 1/1024 s.
const TICK_PS: u64 = 1_000_000_000_000 / 1024;
/// 128 s: past it the cube would not fit.
const SPAN_MAX: u64 = 128 << 10;

words! {
    /// Whose CUBIC.
    Variant, "\"rfc9438\" or \"linux\"" {
        /// The RFC's: the window moves with every ACK.
        Rfc9438 = "rfc9438",
        /// That of Linux 6.1 (net/ipv4/tcp_cubic.c): windows are whole segments, and how fast one grows that stands is worked
        /// out anew after 31 ms alone, which is many round trips of a data centre.
        Linux = "linux",
    }
}

params! {
    /// CUBIC (RFC 9438).
    cubic {
        /// Whose CUBIC: the RFC's, or Linux's, which counts whole segments and works out its growth every 31 ms.
        variant: Variant = Variant::Rfc9438,
        /// What is left of the window after a loss.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.7")]
        beta: Share = Share::of(7, 10),
        /// The constant C of the cubic function, in segments a cubed second.
        #[range(Share::of(1, 1 << 11).., "the usual value is 0.4")]
        c: Share = Share::of(4, 10),
        /// Give up bandwidth to newer flows sooner (RFC 9438, section 4.7).
        fast_convergence: bool = true,
    }
}

/// One connection's state.
#[derive(Clone, Copy, Debug)]
pub enum Cubic {
    /// As the RFC has it.
    Rfc9438(rfc9438::Cubic),
    /// As Linux does.
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
}

impl Control for Cubic {
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

/// K = cbrt(below / C) in ticks, of segments in 1/1024 that the window is under its plateau; C in 1/1024.
fn k(below_q10: u64, c_q10: u16) -> u32 {
    // A cubed second is 2^30 cubed ticks. A window is under 2^32 bytes of at least 64 a segment, so the product is under 2^66
    // only in 128 bits; its root is under 2^22.
    let cubed = (u128::from(below_q10) << 30) / u128::from(c_q10);
    cbrt(u64::try_from(cubed).unwrap_or(u64::MAX)) as u32
}

/// C |t - K|^3, in segments in 1/1024.
fn away(t: u64, k: u32, c_q10: u16) -> u64 {
    let span = t.abs_diff(u64::from(k)).min(SPAN_MAX);
    // 2^51 (cubed ticks) times 2^10 (C up to one) fits.
    (span * span * span).saturating_mul(u64::from(c_q10)) >> 30
}
