//! NSCC: a sender's window that follows the delay of queues and the marks of ports.
//! Sources: Ultra Ethernet Specification 1.0 (network-signal-based congestion control); rules and constants as in the consortium's simulator,
//!          uet-htsim, commit 40ccb05.
//! Law:     with A = BDP / (100 Gbit/s x 12 us), t = target and d = rtt - base:
//!          not marked, d >= t: inc += 5 mss A acked. Not marked, d < t: inc += 4 mss A acked (t - d) / 12 us, unless d < 1 us for a whole
//!          window: cwnd += A acked / 4 then. Marked, d >= t: once a round trip, if the average D > t,
//!          cwnd <- cwnd max(1 - 0.8 (D - t) / D, 1/2). Marked, d < t: nothing.
//!          Every 8 packets or round trip: cwnd += inc / cwnd; every round trip 0.15 mss A besides.
//!          D <- D + (x - D) / 80, where x = base / 4 if not marked and d > t, else d.
//!          A trimmed packet: D is updated with the network's round trip; cwnd -= its bytes.
//!          Quick adapt: each base + t, after a trim or a d > 4 t, if less than an eighth of the largest window has arrived: cwnd <- the
//!          bytes that arrived; marked acknowledgements of those in flight then are ignored.
//! Units:   bytes on the wire, picoseconds; A in 1/65536; inc in bytes squared.
//! Owns:    window, base round trip, average delay, counters of bytes. The endpoint keeps the bytes in flight.
//! Departs: nothing. A base round trip that becomes smaller, also by a trimmed packet's, makes the largest window smaller, as in the
//!          simulator.
//! Checked: vectors/nscc.json; tests/trajectories/nscc.txt.

use fanin_units::{Rate, Share, Time};

use super::place::Place;
use crate::settings::params;

params! {
    /// NSCC, Ultra Ethernet's sender-based congestion control.
    nscc {
        /// Target of the queueing delay, as a share of the network's round trip; 1 is meant for ports that do not trim.
        #[range(Share::of(1, 100)..)]
        target: Share = Share::of(3, 4),
        /// Largest window and first window, in percent of the bandwidth-delay product.
        #[range(10..=10_000)]
        window_percent: u32 = 150,
        /// Share of the excess delay by which the window is reduced.
        decrease: Share = Share::of(4, 5),
        /// Largest reduction of the window at once.
        max_decrease: Share = Share::of(1, 2),
        /// Quick adapt: less than the largest window divided by two to the power of this must have arrived.
        #[range(0..=16)]
        quick_adapt: u32 = 3,
    }
}

const ONE_Q16: u64 = 1 << 16;
/// Network by which the constants scale: 100 Gbit/s and 12 us.
const REFERENCE_RTT: Time = Time::from_micros(12);
const REFERENCE_BDP: u64 = 150_000;
/// A delay below this counts as none.
const NO_DELAY: Time = Time::from_micros(1);

/// Contents of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The time.
    pub now: Time,
    /// Bytes that have newly arrived.
    pub arrived: u64,
    /// Time since the acknowledged packet was sent, if it is known which transmission arrived.
    pub rtt: Option<Time>,
    /// The packet was marked.
    pub marked: bool,
    /// Bytes in flight afterwards.
    pub in_flight: u64,
}

/// One sender's state.
#[derive(Clone, Copy, Debug)]
pub struct Nscc {
    settings: Params,
    line: Rate,
    network_rtt: Time,
    packet: u64,
    mss: u64,
    scale_q16: u64,
    target: Time,
    base: Time,
    cwnd: u64,
    largest: u64,
    /// Average queueing delay.
    delay: Time,
    /// Increases to come, bytes squared.
    increases: u128,
    /// Bytes that arrived since the increases were last carried out.
    arrived: u64,
    increased_at: Time,
    reduced_at: Time,
    /// Bytes that arrived without delay, and whether that was a window.
    undelayed: u64,
    speeds_up: bool,
    /// Quick adapt: bytes that arrived in its period, its end, whether a packet was trimmed.
    achieved: u64,
    period_ends: Time,
    trimmed: bool,
    /// Bytes that arrived since quick adapt, and those that are ignored.
    ignored: u64,
    to_ignore: u64,
}

impl Nscc {
    /// The state of a new connection.
    pub fn start(params: &Params, place: &Place) -> Nscc {
        let mut nscc = Nscc {
            settings: *params,
            line: place.line,
            network_rtt: place.rtt,
            packet: place.packet.into(),
            mss: u64::from(place.packet - place.header),
            scale_q16: place.bdp() * ONE_Q16 / REFERENCE_BDP,
            target: Time(params.target.part_of(place.rtt.0)),
            base: place.rtt,
            cwnd: 0,
            largest: 0,
            delay: Time::ZERO,
            increases: 0,
            arrived: 0,
            increased_at: Time::ZERO,
            reduced_at: Time::ZERO,
            undelayed: 0,
            speeds_up: false,
            achieved: 0,
            period_ends: Time::ZERO,
            trimmed: false,
            ignored: 0,
            to_ignore: 0,
        };
        nscc.set_largest();
        nscc.cwnd = nscc.largest;
        nscc
    }

    fn set_largest(&mut self) {
        let percent = u64::from(self.settings.window_percent);
        self.largest = (self.line.bytes_in(self.base) * percent / 100).max(self.packet);
    }

    /// Bytes that may be in flight.
    pub fn window(&self) -> u64 {
        self.cwnd
    }

    /// Takes an acknowledgement.
    #[inline]
    pub fn acknowledge(&mut self, ack: &Ack) {
        self.achieved += ack.arrived;
        self.arrived += ack.arrived;
        self.ignored += ack.arrived;
        let delay = self.sample(ack.rtt, ack.marked);
        if self.quick_adapt(ack.now, ack.marked, delay, ack.in_flight) {
            return;
        }
        match (ack.marked, delay >= self.target) {
            (false, true) => self.increases += u128::from(self.scaled(5 * self.mss)) * u128::from(ack.arrived),
            (false, false) => self.increase(ack.arrived, delay),
            (true, true) => self.reduce(ack.now),
            (true, false) => {}
        }
        self.bound();
        if self.arrived > 8 * self.packet || ack.now.since(self.increased_at) > self.network_rtt {
            self.fulfil(ack.now);
        }
        self.bound();
    }

    /// A packet of this size was trimmed after a round trip; `in_flight` still includes it.
    pub fn trimmed(&mut self, now: Time, bytes: u64, rtt: Time, in_flight: u64) {
        self.note_base(rtt);
        self.ignored += bytes;
        self.average(self.network_rtt, true);
        self.trimmed = true;
        if !self.quick_adapt(now, true, Time::ZERO, in_flight) {
            self.take_off(bytes);
            self.bound();
        }
    }

    /// A packet of this size timed out.
    pub fn timed_out(&mut self, bytes: u64) {
        self.take_off(bytes);
    }

    fn take_off(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.saturating_sub(bytes).max(self.packet);
    }

    #[inline]
    fn bound(&mut self) {
        self.cwnd = self.cwnd.min(self.largest).max(self.packet);
    }

    fn scaled(&self, bytes: u64) -> u64 {
        bytes * self.scale_q16 / ONE_Q16
    }

    fn note_base(&mut self, rtt: Time) {
        if rtt < self.base {
            self.base = rtt;
            self.set_largest();
        }
    }

    /// The queueing delay by an acknowledgement: its own, or else the average.
    #[inline]
    fn sample(&mut self, rtt: Option<Time>, marked: bool) -> Time {
        let Some(rtt) = rtt else { return self.delay };
        self.note_base(rtt);
        let delay = rtt.since(self.base);
        self.average(delay, marked);
        delay
    }

    fn average(&mut self, delay: Time, marked: bool) {
        let sample = if !marked && delay > self.target { self.base.0 / 4 } else { delay.0 };
        self.delay = Time((self.delay.0 * 79 + sample) / 80);
    }

    /// Increase below the target.
    fn increase(&mut self, arrived: u64, delay: Time) {
        self.undelayed = if delay < NO_DELAY { self.undelayed + arrived } else { 0 };
        self.speeds_up = delay < NO_DELAY && (self.speeds_up || self.undelayed > self.cwnd);
        if self.speeds_up {
            self.cwnd += self.scaled(arrived) / 4;
            return;
        }
        let each = u128::from(self.scaled(4 * self.mss)) * u128::from(self.target.0 - delay.0);
        self.increases += each * u128::from(arrived) / u128::from(REFERENCE_RTT.0);
    }

    /// Reduction above the target, once a round trip.
    #[inline]
    fn reduce(&mut self, now: Time) {
        (self.speeds_up, self.undelayed) = (false, 0);
        if self.delay <= self.target || now.since(self.reduced_at) <= self.base {
            return;
        }
        let excess = self.delay.0 - self.target.0;
        let part = |share: Share| u128::from(share.part_of(self.cwnd));
        let by = (part(self.settings.decrease) * u128::from(excess) / u128::from(self.delay.0)) as u64;
        self.cwnd -= by.min(part(self.settings.max_decrease) as u64);
        self.reduced_at = now;
    }

    /// Carries out the increases.
    fn fulfil(&mut self, now: Time) {
        self.cwnd += (self.increases / u128::from(self.cwnd)) as u64;
        if now.since(self.increased_at) >= self.network_rtt {
            self.cwnd += self.scaled(self.mss) * 3 / 20;
            self.increased_at = now;
        }
        (self.increases, self.arrived) = (0, 0);
    }

    /// Whether the window was set to the bytes that arrived, or the acknowledgement is of earlier packets.
    #[inline]
    fn quick_adapt(&mut self, now: Time, marked: bool, delay: Time, in_flight: u64) -> bool {
        let mut ignores = marked && self.ignored < self.to_ignore;
        if !ignores && now > self.period_ends {
            let congested = self.trimmed || delay.0 > 4 * self.target.0;
            let little = self.achieved < self.largest >> self.settings.quick_adapt;
            if self.period_ends > Time::ZERO && congested && little {
                self.cwnd = self.achieved.max(self.packet);
                (self.to_ignore, self.ignored, self.trimmed, ignores) = (in_flight, 0, false, true);
            }
            (self.achieved, self.period_ends) = (0, now.saturating_add(Time(self.base.0 + self.target.0)));
        }
        if ignores {
            (self.increases, self.arrived) = (0, 0);
        }
        ignores
    }
}
