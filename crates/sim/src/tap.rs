//! A tap on links: every packet that crosses them, with when.

use fanin_fabric::{Fabric, HostId, LinkId};
use fanin_tcp::{Block, Segment};
use fanin_units::Time;

use crate::ids::EndpointId;
use crate::packet::{Caught, Packet};
use crate::probe::Probe;

/// Where packets are caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapPoint {
    /// What a host sends and receives, by its name, such as `client` or `server3`.
    Host(String),
    /// What leaves a port, by its name, such as `switch>client`.
    Port(String),
}

/// Keeps what crosses its links.
pub(crate) struct Tap {
    /// The links, and whether time is taken at their far end.
    links: Vec<(LinkId, bool)>,
    delays: Vec<Time>,
    caught: Vec<(Time, LinkId, EndpointId, Segment, Vec<Block>)>,
}

impl Tap {
    /// A tap at a point of the fabric, or `None` where there is no such point.
    pub fn new(point: &TapPoint, fabric: &Fabric) -> Option<Tap> {
        let links: Vec<(LinkId, bool)> = match point {
            TapPoint::Port(name) => {
                fabric.link_ids().filter(|&link| fabric.link_name(link) == *name).map(|link| (link, false)).collect()
            }
            TapPoint::Host(name) => {
                let host = (0..fabric.hosts()).map(HostId).find(|host| fabric.name(host.node()) == *name)?;
                vec![(fabric.downlink(host), true), (fabric.uplink(host), false)]
            }
        };
        let delays = fabric.links().iter().map(|link| link.delay).collect();
        (!links.is_empty()).then_some(Tap { links, delays, caught: Vec::new() })
    }
}

impl Probe for Tap {
    const ON: bool = true;

    fn crossed(&mut self, now: Time, link: LinkId, to: EndpointId, packet: &Packet, sack: &[Block]) {
        let Some(&(_, far_end)) = self.links.iter().find(|(tapped, _)| *tapped == link) else { return };
        let time = if far_end { now } else { now.since(self.delays[link.index()]) };
        self.caught.push((time, link, to, packet.segment, sack.to_vec()));
    }

    fn caught(&mut self, fabric: &Fabric, host_of: &[HostId]) -> Vec<Caught> {
        let mut caught = std::mem::take(&mut self.caught);
        caught.sort_by_key(|(time, link, ..)| (*time, *link));
        let name = |(time, link, to, segment, sack): (Time, LinkId, EndpointId, Segment, Vec<Block>)| Caught {
            time,
            port: fabric.link_name(link),
            from: host_of[to.peer().index()],
            to: host_of[to.index()],
            connection: to.connection(),
            from_opener: to.peer().is_opener(),
            segment,
            sack,
        };
        caught.into_iter().map(name).collect()
    }
}
