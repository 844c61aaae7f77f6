//! Jitter of hosts' packets, without reordering.

use fanin_driver::{Purpose, SmallStream};
use fanin_fabric::{Fabric, HostId, LinkId};
use fanin_units::Time;

use crate::event::ArrivalOrder;

/// The packets of one link.
#[derive(Clone)]
struct Late {
    stream: SmallStream,
    /// Maximum delay; zero if the link is not a host's.
    most: Time,
    /// Arrival of the latest packet so far: no packet arrives before it.
    latest: u64,
}

/// Delays at the far end of hosts' links. The links are unaffected: they send at their usual times, and only the arrival event
/// is delayed.
#[derive(Clone)]
pub(crate) struct Jitter {
    /// By link; empty without jitter.
    links: Vec<Late>,
}

impl Jitter {
    /// Hosts with delays of up to `most`.
    pub fn new(most: Time, fabric: &Fabric, seed: u64) -> Jitter {
        let of = |id: LinkId| {
            let from = fabric.link(id).from;
            let is_of_host = fabric.is_host(from);
            let number = match is_of_host && fabric.uplink(HostId(from.0)) != id {
                // Another link of a host: after the numbers of all first ones.
                true => fabric.hosts() + id.0,
                false => from.0,
            };
            let most = if is_of_host { most } else { Time::ZERO };
            Late { stream: SmallStream::new(seed, Purpose::Packet, number), most, latest: 0 }
        };
        let links = if most == Time::ZERO { Vec::new() } else { fabric.link_ids().map(of).collect() };
        Jitter { links }
    }

    /// Copy the state of a link.
    pub fn take_over(&mut self, link: LinkId, from: &mut Jitter) {
        if let (Some(own), Some(other)) = (self.links.get_mut(link.index()), from.links.get_mut(link.index())) {
            std::mem::swap(own, other);
        }
    }

    /// Arrival time of a link's head that is due at `due`.
    #[inline(always)]
    pub fn late(&mut self, link: LinkId, due: ArrivalOrder) -> ArrivalOrder {
        let Some(late) = self.links.get_mut(link.index()) else { return due };
        late.latest = late.latest.max(due.at + late.stream.up_to(late.most).0);
        ArrivalOrder { at: late.latest, ..due }
    }
}

#[cfg(test)]
mod tests {
    use fanin_fabric::{Star, star};
    use fanin_units::Rate;

    use super::*;

    const MOST: Time = Time::from_micros(2);

    /// Arrival times over a link of packets that are due every microsecond.
    fn arrivals(most: Time, link: impl Fn(&Fabric) -> LinkId) -> Vec<u64> {
        let rate = Rate(10_000_000_000);
        let star = star(&Star { servers: 2, rate, client_rate: rate, delay: Time::from_micros(5) });
        let mut jitter = Jitter::new(most, &star, 1);
        (0..1_000).map(|us| jitter.late(link(&star), ArrivalOrder::new(1_000_000 * us, 0)).at).collect()
    }

    fn on_time() -> Vec<u64> {
        (0..1_000).map(|us| 1_000_000 * us).collect()
    }

    #[test]
    fn jitter_keeps_order_and_bound() {
        let late = arrivals(MOST, |star| star.uplink(HostId(1)));
        let by: Vec<u64> = on_time().iter().zip(&late).map(|(on_time, late)| late - on_time).collect();
        assert!(late.is_sorted() && by.iter().all(|&by| by < MOST.0));
        assert!(by.iter().any(|&by| by < MOST.0 / 10) && by.iter().any(|&by| by > MOST.0 / 10 * 9));
    }

    #[test]
    fn only_hosts_have_jitter_draws() {
        assert_ne!(arrivals(MOST, |star| star.uplink(HostId(1))), arrivals(MOST, |star| star.uplink(HostId(2))));
        assert_eq!(arrivals(MOST, |star| star.downlink(HostId(1))), on_time());
    }

    #[test]
    fn no_packet_is_late_without_jitter() {
        assert_eq!(arrivals(Time::ZERO, |star| star.uplink(HostId(1))), on_time());
    }
}
