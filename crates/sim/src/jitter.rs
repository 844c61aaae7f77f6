//! Hosts whose packets come late: how late, each in its turn.

use fanin_apps::{Purpose, SmallStream};
use fanin_fabric::{Fabric, LinkId};
use fanin_units::Time;

use crate::event::Due;

/// The packets of one host.
struct Late {
    stream: SmallStream,
    /// When the last one so far arrives: none comes before it.
    latest: u64,
}

/// How late packets come at the other end of hosts' links. The links themselves know nothing of it: they send when they would,
/// and only the event of an arrival is put off.
pub(crate) struct Jitter {
    /// Up to this.
    most: Time,
    /// By the link: of a host, or none; empty where no packet is late.
    hosts: Vec<Option<Late>>,
}

impl Jitter {
    /// Hosts that are late by up to `most`.
    pub fn new(most: Time, fabric: &Fabric, seed: u64) -> Jitter {
        let late = |host: u32| Late { stream: SmallStream::new(seed, Purpose::Packet, host), latest: 0 };
        let of = |link: &fanin_fabric::Link| fabric.is_host(link.from).then(|| late(link.from.0));
        let hosts = if most == Time::ZERO { Vec::new() } else { fabric.links().iter().map(of).collect() };
        Jitter { most, hosts }
    }

    /// When the head of a link comes that is due then.
    #[inline(always)]
    pub fn late(&mut self, link: LinkId, due: Due) -> Due {
        if self.hosts.is_empty() { due } else { Due { at: self.put_off(link, due.at), ..due } }
    }

    /// Apart, so that packets without jitter keep their registers.
    #[inline(never)]
    fn put_off(&mut self, link: LinkId, at: u64) -> u64 {
        let Some(late) = &mut self.hosts[link.index()] else { return at };
        late.latest = late.latest.max(at + late.stream.up_to(self.most).0);
        late.latest
    }
}

#[cfg(test)]
mod tests {
    use fanin_fabric::{HostId, Star, star};
    use fanin_units::Rate;

    use super::*;

    const MOST: Time = Time::from_micros(2);

    /// When packets come over a link that are due every microsecond.
    fn arrivals(most: Time, link: impl Fn(&Fabric) -> LinkId) -> Vec<u64> {
        let rate = Rate(10_000_000_000);
        let star = star(&Star { servers: 2, rate, client_rate: rate, delay: Time::from_micros(5) });
        let mut jitter = Jitter::new(most, &star, 1);
        (0..1_000).map(|us| jitter.late(link(&star), Due::new(1_000_000 * us, 0)).at).collect()
    }

    fn on_time() -> Vec<u64> {
        (0..1_000).map(|us| 1_000_000 * us).collect()
    }

    #[test]
    fn a_hosts_packets_keep_their_order_and_none_is_late_by_more_than_the_jitter() {
        let late = arrivals(MOST, |star| star.uplink(HostId(1)));
        let by: Vec<u64> = on_time().iter().zip(&late).map(|(on_time, late)| late - on_time).collect();
        assert!(late.is_sorted() && by.iter().all(|&by| by < MOST.0));
        assert!(by.iter().any(|&by| by < MOST.0 / 10) && by.iter().any(|&by| by > MOST.0 / 10 * 9));
    }

    #[test]
    fn each_host_has_draws_of_its_own_and_a_switch_has_none() {
        assert_ne!(arrivals(MOST, |star| star.uplink(HostId(1))), arrivals(MOST, |star| star.uplink(HostId(2))));
        assert_eq!(arrivals(MOST, |star| star.downlink(HostId(1))), on_time());
    }

    #[test]
    fn no_packet_is_late_without_jitter() {
        assert_eq!(arrivals(Time::ZERO, |star| star.uplink(HostId(1))), on_time());
    }
}
