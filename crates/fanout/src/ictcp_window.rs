//! ICTCP over servers: a window over servers, sized by the bandwidth that is in use and by what a larger one would give.
//! Sources: Wu, Feng, Guo and Zhang, "ICTCP: Incast Congestion Control for TCP in Data-Center Networks" (CoNEXT 2010; ToN 2013),
//!          by public notes on it, which have 0.9, 0.1, 0.5, three in a row and the two halves of a slot; the least window of
//!          two was not found there. Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), sections 2 and 4,
//!          who describe it as a window over servers.
//! Law:     a slot has two halves, each of a mean answer's time. What came in the first gives the quota, max(0, A C - BW). At the
//!          end of the second, with d = (expected - actual) / expected, where expected is W answers in the least time that answers
//!          take (the least mean of 32 in turn: what they took over and above is a queue, which a larger window would lengthen):
//!          d <= gamma1, or d <= 1/W: W grows within the quota, to twice as much at most, and by one once the quota was too
//!          small to double it; d > gamma2 for `patience` slots in turn: W <- max(2, W - 1).
//! Units:   servers; bytes; times in picoseconds; d in 1/65536, rounded up; a quota in servers, each of which brings a mean answer
//!          in an answer's mean time, rounded down.
//! Owns:    W, the slot's bytes, answers and their times, the least mean time.
//! Departs: ICTCP has a receive window a connection, which does nothing to answers of one packet; this is one window over
//!          servers, a server in the place of a segment. So there is no fairness among connections, and an answer's time stands for
//!          the round trip. The actual throughput is that of the slot and not smoothed, and is not above the expected one. Loss
//!          is not looked at, as a receiver does not see it: a server that does not answer keeps its place in the window.
//! Checked: vectors/ictcp_window.json; tests/trajectories/ictcp_window.txt.

use alloc::format;

use fanin_laws::settings::{Refusal, params};
use fanin_units::{Rate, Share, Time};

/// The least window (of ICTCP two segments).
const FLOOR: u32 = 2;

params! {
    /// A window over servers by the bandwidth in use (ICTCP as SICC and PICC describe it).
    ictcp_window {
        /// Servers asked at once at first: ICTCP begins with its least window.
        #[range(2..=1_000_000)]
        initial: u32 = 2,
        /// The share of the link that answers may fill, before the quota is none (ICTCP: 0.9).
        #[range(Share::of(1, 1 << 10)..)]
        usable: Share = Share::of(9, 10),
        /// Up to this share of the expected throughput missing, the window grows (ICTCP: 0.1).
        gamma1: Share = Share::of(1, 10),
        /// Above this share of the expected throughput missing, the window shrinks (ICTCP: 0.5).
        gamma2: Share = Share::of(1, 2),
        /// For so many slots in turn it must be missing (ICTCP: three RTT).
        #[range(1..=1_000)]
        patience: u32 = 3,
    }
    refuses |law| {
        let what = || {
            format!(
                "ICTCP's gamma1 {} and gamma2 {}: a window that is to grow and to shrink; use a gamma1 of at most gamma2",
                law.gamma1, law.gamma2
            )
        };
        let wrong = law.gamma1.in_q(32) > law.gamma2.in_q(32);
        wrong.then(|| Refusal { paths: &["ictcp_window.gamma1", "ictcp_window.gamma2"], what: what() })
    };
}

/// One client's state.
#[derive(Clone, Copy, Debug)]
pub struct IctcpWindow {
    usable: Rate,
    gamma1_q16: u32,
    gamma2_q16: u32,
    patience: u32,
    window: u32,
    /// The window doubles while the quota allows it.
    doubling: bool,
    /// Slots in turn that missed too much.
    missed: u32,
    slot: Option<Slot>,
    /// The least mean time of [`RUN`] answers in turn; `NEVER` before.
    least: Time,
    /// Answers since the last such mean, and their times.
    run: (u64, Time),
}

/// So many answers have a mean of which the least says how long they take without a queue: that of fewer is their jitter's.
const RUN: u64 = 32;

/// A slot under way, with one answer at least.
#[derive(Clone, Copy, Debug)]
struct Slot {
    began: Time,
    half: Time,
    /// Bytes of the halves.
    bytes: [u64; 2],
    answers: u64,
    /// The sum of the answers' times.
    took: Time,
}

impl IctcpWindow {
    /// A client that has asked nobody.
    pub fn start(params: &Params, capacity: Rate) -> IctcpWindow {
        let usable_q16 = u128::from(params.usable.in_q(16));
        IctcpWindow {
            usable: Rate(((u128::from(capacity.0) * usable_q16) >> 16) as u64),
            gamma1_q16: params.gamma1.in_q(16),
            gamma2_q16: params.gamma2.in_q(16),
            patience: params.patience,
            window: params.initial.max(FLOOR),
            doubling: true,
            missed: 0,
            slot: None,
            least: Time::NEVER,
            run: (0, Time::ZERO),
        }
    }

    /// How many servers may be asked and not have answered.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// A server has answered with so many bytes, so long after it was asked.
    pub fn answered(&mut self, now: Time, bytes: u64, took: Time) {
        let took = took.max(Time(1));
        self.run = (self.run.0 + 1, self.run.1.saturating_add(took));
        if self.run.0 == RUN {
            self.least = self.least.min(Time(self.run.1.0 / RUN));
            self.run = (0, Time::ZERO);
        }
        // The first slot begins as the first that answered was asked.
        let first = Slot { began: now.since(took), half: took, bytes: [0, 0], answers: 0, took: Time::ZERO };
        let mut slot = match self.slot {
            None => first,
            Some(slot) if now.since(slot.began) < slot.half.saturating_mul(2) => slot,
            Some(over) => {
                self.turn(&over);
                Slot { began: now, half: Time(over.took.0 / over.answers), ..first }
            }
        };
        let half = usize::from(now.since(slot.began) >= slot.half);
        slot.bytes[half] = slot.bytes[half].saturating_add(bytes);
        slot.answers += 1;
        slot.took = slot.took.saturating_add(took);
        self.slot = Some(slot);
    }

    /// A slot is over.
    fn turn(&mut self, slot: &Slot) {
        let window = u128::from(self.window);
        // So many answers were expected in its two halves.
        let room = window * u128::from(slot.half.0) * 2;
        let each = self.least.min(Time(slot.took.0 / slot.answers));
        let actual_q16 = (((u128::from(slot.answers) * u128::from(each.0)) << 16) / room).min(1 << 16) as u32;
        let missing_q16 = (1 << 16) - actual_q16;
        if missing_q16 <= self.gamma1_q16 || u128::from(missing_q16) * window <= 1 << 16 {
            self.missed = 0;
            self.grow(self.quota(slot));
        } else if missing_q16 > self.gamma2_q16 {
            self.missed += 1;
            if self.missed >= self.patience {
                (self.window, self.missed, self.doubling) = ((self.window - 1).max(FLOOR), 0, false);
            }
        } else {
            self.missed = 0;
        }
    }

    /// How many servers more the link has room for.
    fn quota(&self, slot: &Slot) -> u32 {
        const PS_BITS: u128 = 8_000_000_000_000;
        let [first, second] = slot.bytes.map(u128::from);
        let in_use = first * PS_BITS / u128::from(slot.half.0);
        let free = u128::from(self.usable.0).saturating_sub(in_use);
        let servers = (free * u128::from(slot.took.0)).checked_div((first + second) * PS_BITS);
        servers.and_then(|servers| u32::try_from(servers).ok()).unwrap_or(u32::MAX)
    }

    fn grow(&mut self, quota: u32) {
        let most = if self.doubling { self.window } else { 1 };
        self.doubling &= quota >= self.window;
        self.window = self.window.saturating_add(quota.min(most));
    }
}
