//! ICTCP: receive windows of one host, raised from its link's free capacity, lowered if unused.
//! Sources: Wu, Feng, Guo and Zhang, "ICTCP: Incast Congestion Control for TCP in Data-Center Networks" (CoNEXT
//!          2010; IEEE/ACM ToN, 2013), as described in public notes: alpha, gamma1, gamma2, bm, be, d, slots of 2 T and T,
//!          three RTT. Slow start, the least window of two MSS, and 0.2 C for fairness are not in these notes.
//! Law:     BWA = max(0, alpha C - BWT) of a slot's first half is the quota by which windows may grow in its second. A connection
//!          is adjusted every two RTT: bm <- max(b, beta bm + (1 - beta) b), be = max(bm, rwnd / RTT), d = (be - bm) / be. If
//!          d <= gamma1 or d <= MSS / rwnd: one MSS more, twice as much in slow start; d > gamma2 for three RTT: one less.
//!          If BWA < 0.2 C, windows above the average lose one MSS. A new connection has two, and slow start until its
//!          window is lowered or kept.
//! Units:   windows and MSS in bytes; rates in bytes a second; shares in 1/65536; times in picoseconds.
//! Owns:    the host's slot, BWA and its unused part; each connection's window, bm, and bytes received since its last adjustment.
//! Departs: where the paper leaves things open. A slot is 2 T, T being the RTT weighted by traffic. Raising a window by d bytes takes
//!          d / RTT of BWA; unused BWA does not carry over to the next slot. A raise that is due in a first half is deferred
//!          to the second. An adjustment covers its two RTT, so the second in a row above gamma2 lowers. If BWA does not suffice
//!          for a doubling, slow start ends, and one MSS is tried. A connection without data for ten adjustment periods
//!          counts as new. The first T is the first connection's RTT. The paper has no beta.
//! Checked: vectors/ictcp.json; tests/trajectories/ictcp.txt.

use fanin_units::{Rate, Share, Time};

use crate::fixed::ONE_Q16;
use crate::settings::params;

params! {
    /// ICTCP.
    ictcp {
        /// Share of the host's link that ICTCP assigns.
        alpha: Share = Share::of(9, 10),
        /// Weight of the past in a connection's throughput; the paper gives no value.
        beta: Share = Share::of(1, 2),
        /// Raise the window if the measured throughput is below the expected by at most this share.
        gamma1: Share = Share::of(1, 10),
        /// Lower the window if the measured throughput is below the expected by more than this share.
        gamma2: Share = Share::of(1, 2),
        /// Lower windows above the average if less than this share of the link is free.
        fair_below: Share = Share::of(1, 5),
    }
}

/// The least window, and that of a new connection, in segments.
const FLOOR: u32 = 2;
/// RTTs in a row above gamma2 that lower a window.
const LOW_ROUNDS: u8 = 3;
/// RTTs between adjustments.
const LOOK: u64 = 2;
/// Adjustment periods without data after which a connection counts as new.
const IDLE: u64 = 10;

const SECOND: u128 = 1_000_000_000_000;

/// Rate of `bytes` per `span`, which is above zero.
fn rate(bytes: u64, span: Time) -> u64 {
    u64::try_from(u128::from(bytes) * SECOND / u128::from(span.0)).unwrap_or(u64::MAX)
}

fn part(whole: u64, share_q16: u32) -> u64 {
    (u128::from(whole) * u128::from(share_q16) / u128::from(ONE_Q16)) as u64
}

/// State that a host's connections share.
#[derive(Clone, Debug)]
pub struct Host {
    params: Params,
    mss: u32,
    /// C.
    capacity: u64,
    /// Start and half-length of the slot; zero before the first packet.
    began: Time,
    half: Time,
    in_second: bool,
    /// Bytes received in the first half, over all connections.
    received: u64,
    /// The last BWA, and its unused part.
    available: u64,
    quota: u64,
    /// Bytes received in this slot, and their RTT weighted by bytes.
    weight: u64,
    weighted_rtt: u128,
    /// Sum of the windows of all connections, and number of connections.
    windows: u64,
    connections: u32,
}

impl Host {
    /// A host on a link of this rate.
    pub fn new(params: &Params, rate: Rate, mss: u32) -> Host {
        Host {
            params: *params,
            mss,
            capacity: rate.0 / 8,
            began: Time::ZERO,
            half: Time::ZERO,
            in_second: false,
            received: 0,
            available: rate.0 / 8,
            quota: 0,
            weight: 0,
            weighted_rtt: 0,
            windows: 0,
            connections: 0,
        }
    }

    /// BWA of the last first half, in bytes a second.
    pub fn available(&self) -> u64 {
        self.available
    }

    /// The unused part of BWA, for raising windows.
    pub fn quota(&self) -> u64 {
        self.quota
    }

    /// Count bytes received for a connection of this RTT.
    fn count(&mut self, now: Time, bytes: u32, rtt: Time) {
        if self.half == Time::ZERO {
            (self.began, self.half) = (now, rtt);
        }
        self.advance_slot(now);
        if !self.in_second {
            self.received += u64::from(bytes);
        }
        self.weight += u64::from(bytes);
        self.weighted_rtt += u128::from(bytes) * u128::from(rtt.0);
    }

    /// Enter the slot's second half, or a new slot, when it is time.
    fn advance_slot(&mut self, now: Time) {
        loop {
            let (elapsed, slot) = (now.since(self.began), self.half.saturating_mul(2));
            if elapsed >= self.half && !self.in_second {
                let used = rate(self.received, self.half);
                self.available = part(self.capacity, self.params.alpha.in_q(16)).saturating_sub(used);
                (self.in_second, self.quota) = (true, self.available);
            }
            if elapsed < slot {
                return;
            }
            // Slots are contiguous, unless nothing arrived for a whole one.
            self.began = if elapsed < slot.saturating_mul(2) { self.began.saturating_add(slot) } else { now };
            if self.weight > 0 {
                self.half = Time((self.weighted_rtt / u128::from(self.weight)) as u64).max(Time(1));
            }
            (self.in_second, self.received, self.quota) = (false, 0, 0);
            (self.weight, self.weighted_rtt) = (0, 0);
        }
    }

    fn is_scarce(&self) -> bool {
        self.available < part(self.capacity, self.params.fair_below.in_q(16))
    }
}

/// The window of one connection.
#[derive(Clone, Debug)]
pub struct Connection {
    window: u32,
    /// The endpoint's own receive window, without ICTCP.
    most: u32,
    slow_start: bool,
    /// bm.
    measured: u64,
    /// Bytes since the last adjustment, and its time; `NEVER` before the first byte.
    received: u64,
    looked: Time,
    heard: Time,
    /// RTT above gamma2 in a row.
    low: u8,
}

impl Connection {
    /// A new connection of a host, with a window of at most `most`.
    pub fn new(host: &mut Host, most: u32) -> Connection {
        let window = (FLOOR * host.mss).min(most);
        host.windows += u64::from(window);
        host.connections += 1;
        let (measured, received, looked, heard) = (0, 0, Time::NEVER, Time::NEVER);
        Connection { window, most, slow_start: true, measured, received, looked, heard, low: 0 }
    }

    /// Close the connection.
    pub fn close(self, host: &mut Host) {
        host.windows -= u64::from(self.window);
        host.connections -= 1;
    }

    /// The window to advertise.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// bm, in bytes a second.
    pub fn measured(&self) -> u64 {
        self.measured
    }

    /// Take a packet of `bytes` on the link with `payload` in it; the RTT is the host's estimate, zero if it has none yet.
    pub fn receive(&mut self, host: &mut Host, now: Time, bytes: u32, payload: u32, rtt: Time) {
        if rtt == Time::ZERO {
            return;
        }
        host.count(now, bytes, rtt);
        if payload == 0 {
            return;
        }
        let interval = rtt.saturating_mul(LOOK);
        if self.looked == Time::NEVER {
            self.looked = now;
        } else if now.since(self.heard) > interval.saturating_mul(IDLE) {
            self.begin_anew(host, now);
        }
        self.heard = now;
        self.received += u64::from(payload);
        let elapsed = now.since(self.looked);
        if elapsed >= interval {
            self.look(host, now, rate(self.received, elapsed), rtt);
        }
    }

    fn begin_anew(&mut self, host: &mut Host, now: Time) {
        self.set(host, FLOOR * host.mss);
        (self.slow_start, self.measured, self.received, self.looked, self.low) = (true, 0, 0, now, 0);
    }

    /// Adjust the window to its use.
    fn look(&mut self, host: &mut Host, now: Time, sample: u64, rtt: Time) {
        let beta_q16 = host.params.beta.in_q(16);
        let smoothed = part(self.measured, beta_q16) + part(sample, ONE_Q16 as u32 - beta_q16);
        let measured = sample.max(smoothed);
        let expected = measured.max(rate(self.window.into(), rtt)).max(1);
        let d_q16 = (u128::from(expected - measured) * u128::from(ONE_Q16) / u128::from(expected)) as u32;
        let one_segment_q16 = (u64::from(host.mss) * ONE_Q16 / u64::from(self.window)) as u32;
        let is_used = d_q16 <= host.params.gamma1.in_q(16).max(one_segment_q16);
        if is_used && !host.in_second {
            return;
        }
        (self.measured, self.received, self.looked) = (measured, 0, now);
        let before = self.window;
        if is_used {
            self.low = 0;
            self.raise(host, rtt);
        } else if d_q16 > host.params.gamma2.in_q(16) {
            self.low += LOOK as u8;
            if self.low >= LOW_ROUNDS {
                self.low = 0;
                self.set(host, self.window.saturating_sub(host.mss));
            }
        } else {
            self.low = 0;
        }
        // Fairness.
        let is_large = u64::from(self.window) * u64::from(host.connections) > host.windows;
        if self.window == before && host.is_scarce() && is_large {
            self.set(host, self.window.saturating_sub(host.mss));
        }
        self.slow_start &= self.window > before;
    }

    fn raise(&mut self, host: &mut Host, rtt: Time) {
        if self.slow_start && self.grows_by(host, self.window, rtt) {
            return;
        }
        self.slow_start = false;
        self.grows_by(host, host.mss, rtt);
    }

    /// Take the cost out of the quota, if it suffices.
    fn grows_by(&mut self, host: &mut Host, step: u32, rtt: Time) -> bool {
        let cost = rate(step.into(), rtt);
        let can = cost <= host.quota;
        if can {
            host.quota -= cost;
            self.set(host, self.window.saturating_add(step));
        }
        can
    }

    fn set(&mut self, host: &mut Host, window: u32) {
        let window = window.max(FLOOR * host.mss).min(self.most);
        host.windows = host.windows - u64::from(self.window) + u64::from(window);
        self.window = window;
    }
}
