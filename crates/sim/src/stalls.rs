//! Times in which nothing comes to the client although something is wanted: whatever ends them, a timeout, a probe for a
//! lost tail or a delayed ACK.

use fanin_fabric::LinkId;
use fanin_units::Time;

/// A link is still for a stall if nothing comes over it for so many round trips.
const ROUND_TRIPS: u64 = 10;

/// No link.
const NOWHERE: LinkId = LinkId(u32::MAX);

/// The port where answers meet.
#[derive(Clone, Copy)]
pub(crate) struct Stalls {
    link: LinkId,
    /// Longer is a stall.
    most: u64,
    /// Since when nothing has come.
    since: u64,
    /// How many there were, and how long they took together.
    pub count: u64,
    pub lost: Time,
}

impl Stalls {
    /// A port that nobody waits at.
    pub const NONE: Stalls = Stalls { link: NOWHERE, most: u64::MAX, since: 0, count: 0, lost: Time::ZERO };

    /// The port in front of a link, from now on: `work` is what a server may need before it answers.
    pub fn new(now: Time, link: LinkId, round_trip: Time, work: Time) -> Stalls {
        let most = round_trip.saturating_mul(ROUND_TRIPS).saturating_add(work).0;
        Stalls { link, most, since: now.0, ..Stalls::NONE }
    }

    /// Nothing is wanted for so long.
    pub fn rest(&mut self, now: Time, span: Time) {
        self.since = now.saturating_add(span).0;
    }

    /// What was so far does not count.
    pub fn forget(&mut self, now: Time) {
        *self = Stalls { since: self.since.max(now.0), count: 0, lost: Time::ZERO, ..*self };
    }

    /// Whether packets over this link are what is waited for.
    #[inline(always)]
    pub fn at(&self, link: LinkId) -> bool {
        self.link == link
    }

    /// Something has come, or the run ends.
    #[inline(always)]
    pub fn heard(&mut self, now: Time) {
        let still = now.0.saturating_sub(self.since);
        if still > self.most {
            self.count += 1;
            self.lost = Time(self.lost.0 + still);
        }
        self.since = self.since.max(now.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_nothing_is_wanted_there_is_no_stall() {
        let us = Time::from_micros;
        let mut stalls = Stalls::new(us(0), LinkId(0), us(20), us(0));
        stalls.heard(us(100));
        stalls.rest(us(100), us(1_000));
        // A last ACK comes; what is wanted from 1,100 us on comes after 200 and 201 us.
        for at in [150, 1_300, 1_501] {
            stalls.heard(us(at));
        }
        assert_eq!((stalls.count, stalls.lost), (1, us(201)));
    }

    #[test]
    fn a_pause_of_over_ten_round_trips_and_the_servers_work_is_a_stall() {
        let us = Time::from_micros;
        let mut stalls = Stalls::new(us(100), LinkId(0), us(20), us(50));
        for at in [300, 550, 800, 1_051, 1_100] {
            stalls.heard(us(at));
        }
        // Of 200, 250, 250, 251 and 49 us only the fourth is over 10 * 20 + 50.
        assert_eq!((stalls.count, stalls.lost), (1, us(251)));
        assert!(stalls.at(LinkId(0)) && !Stalls::NONE.at(LinkId(0)));
    }
}
