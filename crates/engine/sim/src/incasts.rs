//! Count of incasts: drops at the ports of responses within a round trip of each other are one incast.

use fanin_fabric::LinkId;
use fanin_units::Time;

/// The ports at which responses converge: those of a host's links.
#[derive(Clone, Copy)]
pub(crate) struct Incasts {
    /// The first of the links, and the last one; their numbers are consecutive.
    links: [LinkId; 2],
    /// A longer pause between two drops separates two incasts.
    round_trip: u64,
    /// When the last drop was.
    last: Option<u64>,
    pub count: u64,
}

impl Incasts {
    /// No port with responses.
    pub const NONE: Incasts = Incasts { links: [LinkId(u32::MAX); 2], round_trip: 0, last: None, count: 0 };

    /// The ports of the links to a host, with the longest idle round trip of the servers behind them.
    pub fn new(links: impl Iterator<Item = LinkId> + Clone, round_trip: Time) -> Incasts {
        let Some((first, last)) = links.clone().next().zip(links.last()) else { return Incasts::NONE };
        Incasts { links: [first, last], round_trip: round_trip.0, ..Incasts::NONE }
    }

    /// The first of the links behind those ports, if there are any.
    pub fn link(&self) -> Option<LinkId> {
        (self.links != Incasts::NONE.links).then_some(self.links[0])
    }

    /// A packet is dropped.
    pub fn dropped(&mut self, now: u64, link: LinkId) {
        if self.links[0] <= link && link <= self.links[1] {
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
        let mut incasts = Incasts::new([LinkId(3)].into_iter(), us(20));
        for at in [100, 119, 138, 158, 159, 300] {
            incasts.dropped(us(at).0, LinkId(3));
            incasts.dropped(us(at + 1_000).0, LinkId(4));
        }
        // From 138 to 158 us it is a round trip, and from 159 to 300.
        assert_eq!(incasts.count, 3);
    }

    #[test]
    fn drops_at_several_links_of_a_host_are_one_incast() {
        let us = Time::from_micros;
        let mut incasts = Incasts::new((3..5).map(LinkId), us(20));
        for (at, link) in [(100, 3), (110, 4), (125, 3), (200, 2), (220, 5), (300, 4)] {
            incasts.dropped(us(at).0, LinkId(link));
        }
        assert_eq!(incasts.count, 2);
    }
}
