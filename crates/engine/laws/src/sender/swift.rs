//! Swift: keep the round trip near a target delay, with a window that may be smaller than one packet.
//! Sources: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter" (SIGCOMM 2020), algorithm 1
//!          and section 3.
//! Law:     target = base_target + switches hop_target + clamp(a / sqrt(cwnd) + b, 0, flow_target), where
//!          a = flow_target / (1 / sqrt(flow_min) - 1 / sqrt(flow_max)) and b = -a / sqrt(flow_max). Below the target an ACK adds
//!          ai acked / cwnd, and ai acked if cwnd is below one packet; else, once a round trip,
//!          cwnd <- cwnd max(1 - beta (delay - target) / delay, 1 - max_decrease). On a loss or a timeout, once a round trip,
//!          cwnd <- cwnd (1 - max_decrease). Below one packet, one packet leaves every RTT / cwnd.
//! Units:   cwnd in packets of one MSS, in 1/2^24, rounded down; times in picoseconds.
//! Owns:    its window, which the endpoint's follows on ACKs of new data; the last delay. The endpoint owns loss recovery.
//! Departs: one window by the whole round trip, since hosts here do not queue packets; Swift has a second one by the receiving host's
//!          delay. The number of switches is that of the longest path, for all connections. Repeated timeouts of one packet do not reset
//!          the window to its minimum: it is halved by the first, and TCP backs off. During recovery the endpoint's ssthresh, of two
//!          packets at least, is the limit. A mark, which Swift does not use, counts as a loss.
//! Checked: vectors/swift.json; tests/trajectories/swift.txt.

use alloc::sync::Arc;

use fanin_units::{Rate, Share, Time};

use super::control::{Ack, Cause, Congestion, Control, Window};
use crate::row::Shown;
use crate::settings::params;

params! {
    /// Swift.
    swift {
        /// Target delay without switches and without flow scaling.
        #[range(Time(1_000)..)]
        base_target: Time = Time::from_micros(20),
        /// Added to the target per switch of the longest path.
        hop_target: Time = Time(3_053_000),
        /// Largest addition to the target, for small windows: the more flows share a queue, the longer it is.
        flow_target: Time = Time::from_micros(100),
        /// The addition to the target is largest at this window, a share of a packet, and below.
        #[range(Share::of(1, 1_000)..)]
        flow_min_window: Share = Share::of(1, 10),
        /// Nothing is added to the target at this window, in packets, and above.
        #[range(2..=100_000)]
        flow_max_window: u32 = 100,
        /// Packets added to the window per round trip below the target.
        #[range(Share::of(1, 10_000)..)]
        additive: Share = Share::of(1, 1),
        /// Share of the excess delay by which the window shrinks.
        beta: Share = Share::of(4, 5),
        /// Largest share of the window that one reduction takes.
        max_decrease: Share = Share::of(1, 2),
        /// Smallest window, a share of a packet; 1 allows no window below one packet.
        #[range(Share::of(1, 1_000_000)..)]
        min_window: Share = Share::of(1, 1_000),
        /// Largest window, in packets.
        #[range(1..=100_000)]
        max_window: u32 = 1_000,
    }
}

/// A window of one packet.
const ONE_Q24: u64 = 1 << 24;

/// Constants of all senders of a run.
#[derive(Clone, Debug)]
struct Terms {
    settings: Params,
    /// Target delay of a large window.
    target: Time,
    /// 1 / sqrt(flow_min) and 1 / sqrt(flow_max).
    roots_q32: [u64; 2],
    min_q24: u64,
    max_q24: u64,
}

/// One connection's state.
#[derive(Clone, Debug)]
pub struct Swift {
    terms: Arc<Terms>,
    /// Swift's window; zero before it takes over the endpoint's.
    cwnd_q24: u64,
    /// The last round trip measured.
    delay: Time,
    /// When the window last shrank; `NEVER` before.
    reduced: Time,
    mss: u32,
}

/// 1 / sqrt(window).
fn inverse_root_q32(window_q24: u64) -> u64 {
    ((1u128 << 88) / u128::from(window_q24.max(1))).isqrt() as u64
}

impl Terms {
    /// The target delay of this window (section 3.5).
    fn target(&self, cwnd_q24: u64) -> Time {
        let [most, least] = self.roots_q32;
        let above = inverse_root_q32(cwnd_q24).clamp(least, most) - least;
        let flows = u128::from(self.settings.flow_target.0) * u128::from(above) / u128::from(most - least);
        self.target.saturating_add(Time(flows as u64))
    }
}

impl Swift {
    /// The state of a new connection without switches.
    pub fn start(params: &Params) -> Swift {
        let whole = |packets: u32| u64::from(packets) << 24;
        let terms = Terms {
            settings: *params,
            target: params.base_target,
            roots_q32: [
                inverse_root_q32(params.flow_min_window.part_of(ONE_Q24)),
                inverse_root_q32(whole(params.flow_max_window)),
            ],
            min_q24: params.min_window.part_of(ONE_Q24).max(1),
            max_q24: whole(params.max_window),
        };
        Swift { terms: Arc::new(terms), cwnd_q24: 0, delay: Time::ZERO, reduced: Time::NEVER, mss: 1 }
    }

    /// Its window; at first the endpoint's.
    fn begin(&mut self, mss: u32, window: &Window) -> u64 {
        self.mss = mss;
        if self.cwnd_q24 == 0 {
            self.cwnd_q24 =
                ((u64::from(window.cwnd) << 24) / u64::from(mss)).clamp(self.terms.min_q24, self.terms.max_q24);
        }
        self.cwnd_q24
    }

    /// Algorithm 1, on an ACK.
    fn react(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        let before = self.begin(mss, window);
        let target = self.terms.target(before);
        if self.delay < target {
            let acked_q24 = self.terms.settings.additive.part_of((u64::from(ack.acked) << 24) / u64::from(mss));
            let growth = (u128::from(acked_q24) << 24) / u128::from(before.max(ONE_Q24));
            self.cwnd_q24 = before.saturating_add(growth as u64).min(self.terms.max_q24);
        } else {
            let excess = self.delay.since(target);
            let beta_q16 = u128::from(self.terms.settings.beta.in_q(16));
            self.reduce(ack.now, self.delay, (beta_q16 * u128::from(excess.0) / u128::from(self.delay.0)) as u64);
        }
        window.cwnd = self.bytes().max(mss);
    }

    /// Take this share off the window, at most `max_decrease`, unless it has shrunk within the last round trip.
    fn reduce(&mut self, now: Time, rtt: Time, share_q16: u64) {
        if self.reduced != Time::NEVER && now.since(self.reduced) < rtt {
            return;
        }
        let most_q16 = u64::from(self.terms.settings.max_decrease.in_q(16));
        let off = (u128::from(self.cwnd_q24) * u128::from(share_q16.min(most_q16))) >> 16;
        self.cwnd_q24 = (self.cwnd_q24 - off as u64).max(self.terms.min_q24);
        if off > 0 {
            self.reduced = now;
        }
    }

    fn bytes(&self) -> u32 {
        ((u128::from(self.cwnd_q24) * u128::from(self.mss)) >> 24).min(u32::MAX.into()) as u32
    }
}

impl Control for Swift {
    /// Each switch adds to the target (section 3.5).
    fn passes(&mut self, switches: u32) {
        let terms = Arc::make_mut(&mut self.terms);
        let hops = Time(terms.settings.hop_target.0.saturating_mul(switches.into()));
        terms.target = terms.settings.base_target.saturating_add(hops);
    }

    fn sample(&mut self, rtt: Time) {
        self.delay = rtt;
    }

    fn observe(&mut self, ack: &Ack) {
        self.delay = ack.rtt.unwrap_or(self.delay);
    }

    fn slow_start(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        self.react(ack, mss, window);
    }

    fn congestion_avoidance(&mut self, ack: &Ack, mss: u32, window: &mut Window) {
        self.react(ack, mss, window);
    }

    fn paces(&self) -> bool {
        true
    }

    /// Below one packet: one packet every RTT / cwnd (section 3.4).
    fn rate(&self, _window: &Window, srtt: Time) -> Option<Rate> {
        if self.cwnd_q24 == 0 || self.cwnd_q24 >= ONE_Q24 {
            return None;
        }
        let bits_q24 = 8 * u128::from(self.mss) * u128::from(self.cwnd_q24);
        let per_second = (bits_q24 * u128::from(Time::from_secs(1).0) / u128::from(srtt.0.max(1))) >> 24;
        Some(Rate((per_second as u64).max(1)))
    }

    fn cut(&mut self, _cause: Cause, at: &Congestion, mss: u32, window: &Window) -> u32 {
        self.begin(mss, window);
        self.reduce(at.now, at.srtt, 1 << 16);
        self.bytes().min(at.flight).max(2 * mss)
    }

    /// Its window, in packets.
    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "window", value: self.cwnd_q24, bits: 24 })
    }
}
