//! DCQCN: a sender multiplies its rate down by the share of time with congestion notifications, and recovers towards its last rate.
//! Sources: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), section 5, figure 7 and equations 1 to 4;
//!          intervals, increases and least rate of network cards: parameters of NVIDIA's firmware (mlxconfig, ROCE_CC; docs/rdma.md has
//!          each value's source); Li et al., HPCC (SIGCOMM 2019), section 5.1.
//! Law:     each alpha_interval: alpha <- (1 - g) alpha + g [a notification came]; alpha is 1 at the first one. Each cut_interval with a
//!          notification: target <- rate, if anything was raised since the last cut; rate <- rate (1 - alpha / 2). Each
//!          increase_interval after a cut, and each byte_counter bytes: target rises, by 0 in the first fast_recovery steps, by
//!          additive in the next, by hyper after it; rate <- (rate + target) / 2.
//! Units:   rates in bit/s, rounded down; alpha in 1/2^32, g in 1/65536.
//! Owns:    rate, target, alpha and the three timers. The receiver decides how often it sends notifications.
//! Departs: the paper cuts when a notification comes, and its receiver sends one each 50 us; cards cut at most once in 4 us, by a grid
//!          that starts with the first notification. The paper's target always follows the rate; cards leave it if nothing was
//!          raised (clamp_target). With a byte counter, the phase is the later one of timer and counter until both are through fast
//!          recovery, and the earlier one then (the paper's figure 7).
//! Checked: vectors/dcqcn.json; tests/trajectories/dcqcn.txt.

use alloc::format;

use fanin_units::{Bytes, Rate, SendRate, Share, Time};

use super::control::{Ack, Control, Place};
use crate::row::Shown;
use crate::settings::{Refusal, params, words};

words! {
    /// A set of DCQCN's settings.
    Profile, "\"connectx\" or \"ns-3\"" {
        /// NVIDIA's network cards with their defaults.
        ConnectX = "connectx",
        /// The simulator of HPCC's authors.
        Ns3 = "ns-3",
    }
}

params! {
    /// DCQCN; the defaults are those of NVIDIA's network cards.
    dcqcn {
        /// The default settings of NVIDIA's network cards ("connectx"), or of the simulator of HPCC's authors ("ns-3"). Sets the keys that `fanin explain dcqcn` lists; explicit keys override it.
        profile: Profile = Profile::ConnectX,
        /// Weight of a new sample in alpha.
        #[range(Share::of(1, 1 << 16).., "it would never move alpha; the usual value is \"1/256\"")]
        g: Share = Share::of(5, 1_024),
        /// Interval of alpha's updates.
        #[range(Time(100_000)..=Time::from_millis(10))]
        alpha_interval: Time = Time::from_micros(1),
        /// Least time between two cuts of the rate.
        #[range(Time(100_000)..=Time::from_millis(10))]
        cut_interval: Time = Time::from_micros(4),
        /// Interval of increases since the last cut.
        #[range(Time(100_000)..=Time::from_millis(100))]
        increase_interval: Time = Time::from_micros(300),
        /// Bytes sent between two increases, besides those by time; 0 B for none.
        byte_counter: Bytes = Bytes(32_767_000),
        /// Steps that only recover the rate of the last cut, before the target rises.
        #[range(1..=100)]
        fast_recovery: u32 = 1,
        /// Increase of the target in the step after fast recovery.
        additive: SendRate = SendRate::Of(Rate(5_000_000)),
        /// Increase of the target in later steps.
        hyper: SendRate = SendRate::Of(Rate(50_000_000)),
        /// Least rate of a sender, at least a millionth of the link's. If all senders together exceed the link at this rate, only pauses slow them.
        min_rate: SendRate = SendRate::Of(Rate(1_000_000)),
        /// The target follows the rate at every cut, even if nothing was raised since the last one.
        clamp_target: bool = false,
        /// Least time between two congestion notifications of a connection; zero: each marked packet's ACK is one.
        cnp_interval: Time = Time::from_micros(4),
    }
    refuses |dcqcn| {
        let SendRate::Share(least) = dcqcn.min_rate else { return None };
        let what = format!("a least rate of {least} of the link's: use at least a millionth, since a rate of zero never ends");
        (least.in_q(32) < Share::of(1, 1_000_000).in_q(32)).then_some(Refusal { paths: &["dcqcn.min_rate"], what })
    };
}

/// One sender's state.
#[derive(Clone, Copy, Debug)]
pub struct Dcqcn {
    settings: Params,
    line: u64,
    rate: u64,
    target: u64,
    alpha_q32: u64,
    /// When alpha was last updated; `NEVER` before the first notification.
    alpha_at: Time,
    /// A notification has come since then.
    noticed: bool,
    /// The next time of the grid of cuts after a notification.
    cut_at: Time,
    /// A time of that grid.
    grid: Time,
    increase_at: Time,
    /// Steps since the last cut, by time and by bytes.
    steps: u32,
    byte_steps: u32,
    /// Bytes since the last step by bytes.
    bytes: u64,
}

impl Dcqcn {
    /// The state of a new connection, which begins at its link's rate.
    pub fn start(params: &Params, place: &Place) -> Dcqcn {
        Dcqcn {
            settings: *params,
            line: place.line.0,
            rate: place.line.0,
            target: place.line.0,
            alpha_q32: 1 << 32,
            alpha_at: Time::NEVER,
            noticed: false,
            cut_at: Time::NEVER,
            grid: Time::NEVER,
            increase_at: Time::NEVER,
            steps: 0,
            byte_steps: 0,
            bytes: 0,
        }
    }

    /// A notification has come.
    #[inline]
    fn notice(&mut self, now: Time) {
        let Params { cut_interval, .. } = self.settings;
        if self.alpha_at == Time::NEVER {
            (self.alpha_at, self.grid, self.target) = (now, now, self.rate);
        } else {
            self.update_alpha(now);
            self.noticed = true;
        }
        if self.cut_at == Time::NEVER {
            let ago = now.since(self.grid).0;
            self.grid = Time(self.grid.0 + ago / cut_interval.0 * cut_interval.0);
            self.cut_at = self.grid.saturating_add(cut_interval);
        }
    }

    /// Update alpha for all intervals that have ended.
    fn update_alpha(&mut self, now: Time) {
        let (interval, g_q16) = (self.settings.alpha_interval.0, u64::from(self.settings.g.in_q(16)));
        let ended = now.since(self.alpha_at).0 / interval;
        self.alpha_at = Time(self.alpha_at.0 + ended * interval);
        for _ in 0..ended {
            let kept = self.alpha_q32 - ((u128::from(self.alpha_q32) * u128::from(g_q16)) >> 16) as u64;
            let next = kept + if core::mem::take(&mut self.noticed) { g_q16 << 16 } else { 0 };
            if next == self.alpha_q32 {
                // It falls no further.
                break;
            }
            self.alpha_q32 = next;
        }
    }

    #[inline]
    fn cut(&mut self, now: Time) {
        self.update_alpha(now);
        if self.settings.clamp_target || self.steps > 0 || self.byte_steps > 0 {
            self.target = self.rate;
        }
        let off = ((u128::from(self.rate) * u128::from(self.alpha_q32)) >> 33) as u64;
        self.rate = (self.rate - off).max(self.settings.min_rate.on(Rate(self.line)).0);
        (self.steps, self.byte_steps, self.bytes) = (0, 0, 0);
        (self.cut_at, self.increase_at) = (Time::NEVER, now.saturating_add(self.settings.increase_interval));
    }

    /// One step of recovery or increase (the paper's figure 7).
    fn increase(&mut self) {
        let Params { fast_recovery, additive, hyper, .. } = self.settings;
        let (early, late) = (self.steps.min(self.byte_steps), self.steps.max(self.byte_steps));
        let step =
            if self.settings.byte_counter.0 == 0 || late <= fast_recovery { late } else { early.max(fast_recovery) };
        let by = match step {
            step if step < fast_recovery => 0,
            step if step == fast_recovery => additive.on(Rate(self.line)).0,
            _ => hyper.on(Rate(self.line)).0,
        };
        self.target = (self.target + by).min(self.line);
        self.rate = self.rate / 2 + self.target / 2;
    }
}

impl Control for Dcqcn {
    #[inline]
    fn acknowledge(&mut self, ack: &Ack<'_>) {
        if ack.marked {
            self.notice(ack.now);
        }
    }

    #[inline]
    fn sent(&mut self, _now: Time, bytes: u32) {
        let each = self.settings.byte_counter.0;
        if each == 0 || self.increase_at == Time::NEVER {
            return;
        }
        self.bytes += u64::from(bytes);
        if self.bytes >= each {
            self.bytes -= each;
            self.increase();
            self.byte_steps += 1;
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.cut_at.min(self.increase_at)
    }

    fn rises_at(&self) -> Time {
        // A cut puts the next increase off.
        match self.cut_at <= self.increase_at {
            true => self.cut_at.saturating_add(self.settings.increase_interval),
            false => self.increase_at,
        }
    }

    #[inline]
    fn expire(&mut self, now: Time) {
        if self.cut_at <= now {
            self.cut(now);
        }
        // An idle sender catches up.
        while self.increase_at <= now {
            self.increase_at = self.increase_at.saturating_add(self.settings.increase_interval);
            self.increase();
            self.steps += 1;
        }
    }

    fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "alpha", value: self.alpha_q32 >> 16, bits: 16 })
    }
}
