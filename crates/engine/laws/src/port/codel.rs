//! Controlled delay: once packets have waited too long for an interval, drop or mark them, more often while the delay lasts.
//! Sources: RFC 8289, sections 4 and 5 (pseudocode); Nichols and Jacobson, "Controlling Queue Delay" (ACM Queue, 2012).
//! Law:     a packet is late if it leaves after target or longer with more than one full packet behind it. Once all were late
//!          for an interval, drop one; then drop every interval / sqrt(count), count the drops since the start, until one
//!          is not late. If dropping restarts within 16 intervals, count resumes from its previous gain.
//! Units:   times in ps; the square root of count has 16 bits of fraction, rounded down.
//! Owns:    the time since which packets are late, the next drop, count.
//! Departs: [`Resume::Ns2`] replaces the last clause by that of ns-2. RFC 8289 only drops. With ECN, an ECN-capable packet is
//!          marked and leaves, as in Linux: one mark per departure.
//! Checked: vectors/codel.json; tests/trajectories/codel.txt.

use alloc::format;

use fanin_units::Time;
use rand_core::Rng;

use super::manage::{Congested, Leaving, Manage, Place};
use crate::row::Shown;
use crate::settings::{Refusal, params, words};

words! {
    /// Values of count and delay if dropping restarts soon after it ended.
    Resume, "\"rfc8289\" or \"ns-2\"" {
        /// Within 16 intervals count is its gain of the last time (RFC 8289).
        Rfc8289 = "rfc8289",
        /// As ns-2 (queue/codel.cc): within 8 intervals count is two less, a 64th less above 126, and packets have to be late only for
        /// interval / sqrt(count). A drop counts once the next packet is late, too.
        Ns2 = "ns-2",
    }
}

params! {
    /// Controlled delay (RFC 8289).
    codel {
        /// Acceptable standing queue delay.
        #[range(Time(1)..)]
        target: Time = Time::from_millis(5),
        /// Time that the delay may exceed the target before packets are dropped or marked, about a long round trip.
        #[range(..=Time::from_secs(100))]
        interval: Time = Time::from_millis(100),
        /// Drop rate if dropping restarts soon after it ended.
        resume: Resume = Resume::Rfc8289,
    }
    refuses |params| {
        let what = || {
            format!(
                "CoDel's target {} and interval {}: use an interval from the target up to 100 s",
                params.target, params.interval
            )
        };
        (params.target > params.interval).then(|| Refusal { paths: &["codel.target", "codel.interval"], what: what() })
    };
}

/// One port's state.
#[derive(Clone, Copy, Debug)]
pub struct CoDel {
    params: Params,
    /// A full packet on the wire, bytes: fewer bytes behind a packet are not a queue.
    max_packet: u64,
    /// Mark ECN-capable packets instead of dropping them.
    ecn: bool,
    /// When packets will have been late for an interval; `None` while they are not late.
    late_at: Option<Time>,
    dropping: bool,
    /// The next drop is scheduled only once the packet after the dropped one is late too.
    rearm: bool,
    drop_next: Time,
    count: u32,
    /// The count at the last start of dropping.
    last_count: u32,
}

impl Manage for CoDel {
    const LOOKS_AT_DEPARTURES: bool = true;

    fn dequeue(&mut self, now: Time, leaving: &Leaving, _rng: &mut impl Rng) -> Congested {
        if !self.is_late(now, leaving.sojourn, leaving.behind) {
            (self.dropping, self.rearm) = (false, false);
            return Congested::No;
        }
        if self.dropping {
            if self.rearm {
                self.rearm = false;
                self.count = self.count.saturating_add(u32::from(self.params.resume == Resume::Ns2));
                self.drop_next = self.after(self.drop_next);
            }
            if now < self.drop_next {
                return Congested::No;
            }
            let marks = self.ecn && leaving.ect;
            if marks || self.params.resume == Resume::Rfc8289 {
                self.count = self.count.saturating_add(1);
            }
            match marks {
                true => self.drop_next = self.after(self.drop_next),
                false => self.rearm = true,
            }
        } else {
            self.dropping = true;
            self.count = self.resumed(now);
            self.drop_next = self.after(now);
            self.last_count = self.count;
        }
        if self.ecn { Congested::Mark } else { Congested::Drop }
    }

    /// Drops or marks since dropping began, including the resumed count.
    fn shown(&self) -> Option<Shown> {
        Some(Shown { name: "count", value: self.count.into(), bits: 0 })
    }
}

impl CoDel {
    /// The state of an empty port.
    pub fn start(params: &Params, place: &Place) -> Option<CoDel> {
        Some(CoDel {
            params: *params,
            max_packet: place.full_packet,
            ecn: place.ecn,
            late_at: None,
            dropping: false,
            rearm: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        })
    }

    /// The initial count.
    fn resumed(&self, now: Time) -> u32 {
        match self.params.resume {
            Resume::Rfc8289 => {
                let gained = self.count.saturating_sub(self.last_count);
                if gained > 1 && self.is_soon(now, 16) { gained } else { 1 }
            }
            Resume::Ns2 if self.count > 2 && self.is_soon(now, 8) => match self.count {
                129.. => self.count - self.count.div_ceil(64),
                _ => self.count - 2,
            },
            Resume::Ns2 => 1,
        }
    }

    fn is_soon(&self, now: Time, intervals: u64) -> bool {
        now < self.drop_next.saturating_add(self.params.interval.saturating_mul(intervals))
    }

    /// Whether all packets, including this one, have been late for an interval (RFC 8289, section 5.5: `dodequeue`).
    fn is_late(&mut self, now: Time, sojourn: Time, behind: u64) -> bool {
        if sojourn < self.params.target || behind <= self.max_packet {
            self.late_at = None;
            return false;
        }
        // The first late packet only starts the clock.
        let late_at = self.late_at.unwrap_or_else(|| self.late_after(now));
        self.late_at = Some(late_at);
        now >= late_at
    }

    /// When packets that are late from now on will have been late for long enough.
    fn late_after(&self, now: Time) -> Time {
        match self.params.resume {
            Resume::Ns2 if self.count > 1 && self.is_soon(now, 8) => self.after(now),
            _ => now.saturating_add(self.params.interval),
        }
    }

    /// The control law (RFC 8289, section 5.4): interval / sqrt(count) later.
    fn after(&self, time: Time) -> Time {
        let root_q16 = u128::from((u64::from(self.count) << 32).isqrt());
        time.saturating_add(Time(((u128::from(self.params.interval.0) << 16) / root_q16) as u64))
    }
}

#[cfg(test)]
mod tests {
    use fanin_units::{QueueSize, Rate};

    use super::*;

    #[test]
    fn ns_2_resumes_from_a_reduced_count() {
        let place = Place { rate: Rate(1_000_000_000), buffer: QueueSize::Packets(100), full_packet: 1500, ecn: false };
        let params = Params { resume: Resume::Ns2, ..Params::default() };
        let start = CoDel::start(&params, &place).expect("it acts everywhere");
        // ns-2: count - 2; above 126, 0.9844 of count, rounded down.
        for (count, resumed) in [(1, 1), (2, 1), (3, 1), (4, 2), (128, 126), (129, 126), (200, 196)] {
            let codel = CoDel { count, ..start };
            assert_eq!(codel.resumed(Time::ZERO), resumed, "{count}");
        }
    }
}
