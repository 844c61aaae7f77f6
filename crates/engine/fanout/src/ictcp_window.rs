//! ICTCP over servers: a concurrency limit, sized by the used bandwidth and the expected gain of a larger limit.
//! Sources: Wu, Feng, Guo and Zhang, "ICTCP: Incast Congestion Control for TCP in Data-Center Networks" (CoNEXT 2010; ToN 2013),
//!          from public notes on it, which give 0.9, 0.1, 0.5, three in a row and the two halves of a slot; the minimum window of
//!          two was not found there. Wang, Shen and Liu, "Swarm-based Incast Congestion Control" (SPAA 2017), sections 2 and 4,
//!          who describe it as a window over servers.
//! Law:     a slot has two halves, each as long as a mean response. The bytes of the first give the quota, max(0, A C - BW). At the end
//!          of the second, d = (expected - actual) / expected, where expected is W responses in the least response time (the least
//!          mean of 32 consecutive ones: any excess is a queue, which a larger window would lengthen):
//!          d <= gamma1, or d <= 1/W: W grows within the quota, at most to twice as much, and by one once the quota was too
//!          small to double it, and never beyond `most`; d > gamma2 for `decrease_after` slots in a row: W <- max(2, W - 1).
//! Units:   servers; bytes; times in picoseconds; d in 1/65536, rounded up; a quota in servers, each with a mean response per mean
//!          response time, rounded down.
//! Owns:    W, the slot's bytes, responses and their times, the least mean time.
//! Departs: ICTCP has a receive window per connection, which has no effect on responses of one packet; this is one window over
//!          servers, with a server in place of a segment. So there is no fairness among connections, and the response time replaces
//!          the round trip. The actual throughput is that of the slot, not smoothed, and at most the expected one. Loss is ignored,
//!          since a receiver does not see it: a server that does not respond keeps its place in the window.
//! Checked: vectors/ictcp_window.json; tests/trajectories/ictcp_window.txt.

use alloc::format;

use fanin_laws::settings::{Refusal, params};
use fanin_units::{Rate, Share, Time};

/// Minimum window (two segments in ICTCP).
const FLOOR: u32 = 2;

params! {
    /// Concurrency limit over servers by the used bandwidth (ICTCP as SICC and PICC describe it).
    ictcp_window {
        /// Initial number of outstanding servers: ICTCP starts with its minimum window.
        #[range(2..=1_000_000)]
        initial: u32 = 2,
        /// Maximum number of outstanding servers, which limits `initial` too.
        #[range(2..=1_000_000)]
        most: u32 = 1_000_000,
        /// Share of the link that responses may use before the quota is zero (ICTCP: 0.9).
        #[range(Share::of(1, 1 << 10)..)]
        usable: Share = Share::of(9, 10),
        /// The window grows while at most this share of the expected throughput is missing (ICTCP: 0.1).
        gamma1: Share = Share::of(1, 10),
        /// The window shrinks when more than this share of the expected throughput is missing (ICTCP: 0.5).
        gamma2: Share = Share::of(1, 2),
        /// Number of consecutive slots in which it must be missing (ICTCP: three RTTs).
        #[range(1..=1_000)]
        decrease_after: u32 = 3,
    }
    refuses |law| {
        let what = || {
            format!(
                "ICTCP's gamma1 {} is above gamma2 {}, so the window would grow and shrink; use a gamma1 of at most gamma2",
                law.gamma1, law.gamma2
            )
        };
        let wrong = law.gamma1.in_q(32) > law.gamma2.in_q(32);
        wrong.then(|| Refusal { paths: &["ictcp_window.gamma1", "ictcp_window.gamma2"], what: what() })
    };
}

/// State of a client.
#[derive(Clone, Copy, Debug)]
pub struct IctcpWindow {
    usable: Rate,
    gamma1_q16: u32,
    gamma2_q16: u32,
    decrease_after: u32,
    most: u32,
    window: u32,
    /// Whether the window doubles while the quota allows it.
    doubling: bool,
    /// Number of consecutive slots with too low throughput.
    missed: u32,
    slot: Option<Slot>,
    /// Least mean time of [`RUN`] consecutive responses; `NEVER` before.
    least: Time,
    /// Responses since the last mean, and the sum of their times.
    run: (u64, Time),
}

/// Number of responses per mean; the least mean is the response time without a queue. Means of fewer are affected by jitter.
const RUN: u64 = 32;

/// A slot with at least one response.
#[derive(Clone, Copy, Debug)]
struct Slot {
    began: Time,
    half: Time,
    /// Bytes in each half.
    bytes: [u64; 2],
    answers: u64,
    /// Sum of response times.
    took: Time,
}

impl IctcpWindow {
    /// A client without requests.
    pub fn start(params: &Params, capacity: Rate) -> IctcpWindow {
        let usable_q16 = u128::from(params.usable.in_q(16));
        IctcpWindow {
            usable: Rate(((u128::from(capacity.0) * usable_q16) >> 16) as u64),
            gamma1_q16: params.gamma1.in_q(16),
            gamma2_q16: params.gamma2.in_q(16),
            decrease_after: params.decrease_after,
            most: params.most.max(FLOOR),
            window: params.initial.min(params.most).max(FLOOR),
            doubling: true,
            missed: 0,
            slot: None,
            least: Time::NEVER,
            run: (0, Time::ZERO),
        }
    }

    /// Maximum number of outstanding servers.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Records a server's response of this size and response time.
    pub fn answered(&mut self, now: Time, bytes: u64, took: Time) {
        let took = took.max(Time(1));
        self.run = (self.run.0 + 1, self.run.1.saturating_add(took));
        if self.run.0 == RUN {
            self.least = self.least.min(Time(self.run.1.0 / RUN));
            self.run = (0, Time::ZERO);
        }
        // The first slot begins with the request of the first response.
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

    /// Ends a slot.
    fn turn(&mut self, slot: &Slot) {
        let window = u128::from(self.window);
        // Expected number of responses in its two halves.
        let room = window * u128::from(slot.half.0) * 2;
        let each = self.least.min(Time(slot.took.0 / slot.answers));
        let actual_q16 = (((u128::from(slot.answers) * u128::from(each.0)) << 16) / room).min(1 << 16) as u32;
        let missing_q16 = (1 << 16) - actual_q16;
        if missing_q16 <= self.gamma1_q16 || u128::from(missing_q16) * window <= 1 << 16 {
            self.missed = 0;
            self.grow(self.quota(slot));
        } else if missing_q16 > self.gamma2_q16 {
            self.missed += 1;
            if self.missed >= self.decrease_after {
                (self.window, self.missed, self.doubling) = ((self.window - 1).max(FLOOR), 0, false);
            }
        } else {
            self.missed = 0;
        }
    }

    /// Number of additional servers that fit the link.
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
        self.window = self.window.saturating_add(quota.min(most)).min(self.most);
    }
}
