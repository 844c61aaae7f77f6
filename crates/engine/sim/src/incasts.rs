//! Count of incasts: drops at the port of responses within a round trip of each other are one incast.

use fanin_fabric::LinkId;
use fanin_units::Time;

/// The port at which responses converge.
#[derive(Clone, Copy)]
pub(crate) struct Incasts {
    link: LinkId,
    /// A longer pause between two drops separates two incasts.
    round_trip: u64,
    /// When the last drop was.
    last: Option<u64>,
    pub count: u64,
}

impl Incasts {
    /// No port with responses.
    pub const NONE: Incasts = Incasts { link: LinkId(u32::MAX), round_trip: 0, last: None, count: 0 };

    /// The port of this link, with the longest idle round trip of the servers behind it.
    pub fn new(link: LinkId, round_trip: Time) -> Incasts {
        Incasts { link, round_trip: round_trip.0, ..Incasts::NONE }
    }

    /// The link behind that port, if there is one.
    pub fn link(&self) -> Option<LinkId> {
        (self.link != Incasts::NONE.link).then_some(self.link)
    }

    /// A packet is dropped.
    pub fn dropped(&mut self, now: u64, link: LinkId) {
        if link == self.link {
            self.count += u64::from(self.last.is_none_or(|last| now - last >= self.round_trip));
            self.last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_within_a_round_trip_are_one_incast() {
        let us = Time::from_micros;
        let mut incasts = Incasts::new(LinkId(3), us(20));
        for at in [100, 119, 138, 158, 159, 300] {
            incasts.dropped(us(at).0, LinkId(3));
            incasts.dropped(us(at + 1_000).0, LinkId(4));
        }
        // From 138 to 158 us it is a round trip, and from 159 to 300.
        assert_eq!(incasts.count, 3);
    }
}
