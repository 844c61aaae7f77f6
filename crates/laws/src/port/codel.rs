//! Controlled delay: once packets have waited too long for an interval, drop or mark, ever sooner while they still do.
//! Sources: RFC 8289, sections 4 and 5 (pseudocode); Nichols and Jacobson, "Controlling Queue Delay" (ACM Queue, 2012).
//! Law:     a packet that leaves after target or longer with more than one full packet behind it is late; once all were
//!          late for an interval, drop, and then every interval / sqrt(count) since the last time, count the drops
//!          since, until one is not late. If that begins again within 16 intervals, count goes on from what it gained.
//! Units:   times in ps; the square root of count has 16 bits of fraction, rounded down.
//! Owns:    since when packets are late, the next drop, count.
//! Departs: RFC 8289 only drops. Where ECN is used, an ECN-capable packet is marked instead and leaves, as Linux has it:
//!          one mark a departure.
//! Checked: vectors/codel.json; tests/trajectories/codel.txt.

use fanin_units::Time;

use super::Congested;

/// Settings.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// The delay that a standing queue may have.
    pub target: Time,
    /// For how long it may be exceeded; about a round trip of a long way.
    pub interval: Time,
    /// A full packet on the wire, bytes: no more than that behind a packet is no queue.
    pub max_packet: u64,
    /// Mark ECN-capable packets in place of dropping them.
    pub ecn: bool,
}

/// One port's state.
#[derive(Clone, Copy, Debug)]
pub struct CoDel {
    params: Params,
    /// When packets will have been late for an interval; `None` while they are not late.
    late_at: Option<Time>,
    dropping: bool,
    /// The next drop is still to be set, once the packet behind the dropped one is seen to be late too.
    rearm: bool,
    drop_next: Time,
    count: u32,
    /// The count with which dropping last began.
    last_count: u32,
}

impl CoDel {
    /// The state of an empty port.
    pub fn new(params: Params) -> CoDel {
        let (late_at, drop_next) = (None, Time::ZERO);
        CoDel { params, late_at, dropping: false, rearm: false, drop_next, count: 0, last_count: 0 }
    }

    /// Drops or marks since dropping began, the head start included.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// What becomes of a packet that would leave after `sojourn`, with `behind` bytes in the queue behind it. After a
    /// drop, the next packet is asked about at the same instant.
    pub fn dequeue(&mut self, now: Time, sojourn: Time, behind: u64, ect: bool) -> Congested {
        if !self.is_late(now, sojourn, behind) {
            (self.dropping, self.rearm) = (false, false);
            return Congested::No;
        }
        if self.dropping {
            if self.rearm {
                self.rearm = false;
                self.drop_next = self.after(self.drop_next);
            }
            if now < self.drop_next {
                return Congested::No;
            }
            self.count = self.count.saturating_add(1);
            match self.params.ecn && ect {
                true => self.drop_next = self.after(self.drop_next),
                false => self.rearm = true,
            }
        } else {
            self.dropping = true;
            let gained = self.count.saturating_sub(self.last_count);
            let soon = now < self.drop_next.saturating_add(self.params.interval.saturating_mul(16));
            self.count = if gained > 1 && soon { gained } else { 1 };
            self.drop_next = self.after(now);
            self.last_count = self.count;
        }
        if self.params.ecn { Congested::Mark } else { Congested::Drop }
    }

    /// Whether packets, this one too, have been late for an interval (RFC 8289, section 5.5: `dodequeue`).
    fn is_late(&mut self, now: Time, sojourn: Time, behind: u64) -> bool {
        if sojourn < self.params.target || behind <= self.params.max_packet {
            self.late_at = None;
            return false;
        }
        let late_at = *self.late_at.get_or_insert(now.saturating_add(self.params.interval));
        // The first late packet only starts the clock.
        now >= late_at
    }

    /// The control law (RFC 8289, section 5.4): interval / sqrt(count) later.
    fn after(&self, time: Time) -> Time {
        let root_q16 = u128::from((u64::from(self.count) << 32).isqrt());
        time.saturating_add(Time(((u128::from(self.params.interval.0) << 16) / root_q16) as u64))
    }
}
