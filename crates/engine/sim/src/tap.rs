//! Packet capture on links.

use std::collections::BTreeMap;

use fanin_driver::EndpointId;
use fanin_fabric::{Fabric, HostId, LinkId};
use fanin_transport::{Block, HeaderOptions, Metadata, Packet};
use fanin_units::Time;

use crate::packet::{CapturedPacket, InFlight};

/// Location of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TapPoint {
    /// All packets that a host sends and receives, by its name, such as `client` or `server3`.
    Host(String),
    /// All packets that leave a port, by its name, such as `switch>client`.
    Port(String),
}

/// Captures packets of its links.
pub(crate) struct Tap {
    /// The links, and whether timestamps are taken at the far end; otherwise they include a host's jitter.
    links: Vec<(LinkId, bool)>,
    delays: Vec<Time>,
    crossings: Vec<Crossing>,
}

/// A packet that crossed a link.
struct Crossing {
    time: Time,
    link: LinkId,
    to: EndpointId,
    packet: Packet,
    sack: Vec<Block>,
    notes: Option<HeaderOptions>,
}

impl Tap {
    /// A tap at a point of the fabric; `None` if there is no such point.
    pub fn new(point: &TapPoint, fabric: &Fabric) -> Option<Tap> {
        let links: Vec<(LinkId, bool)> = match point {
            TapPoint::Port(name) => {
                fabric.link_ids().filter(|&link| fabric.link_name(link) == *name).map(|link| (link, false)).collect()
            }
            TapPoint::Host(name) => {
                let host = (0..fabric.hosts()).map(HostId).find(|host| fabric.name(host.node()) == *name)?;
                let received = fabric.downlinks(host).map(|link| (link, true));
                received.chain(fabric.uplinks(host).map(|link| (link, false))).collect()
            }
        };
        let delays = fabric.links().iter().map(|link| link.delay).collect();
        (!links.is_empty()).then_some(Tap { links, delays, crossings: Vec::new() })
    }

    /// A packet for an endpoint has crossed a link.
    pub fn crossed(&mut self, now: Time, link: LinkId, to: EndpointId, packet: &InFlight, beside: Metadata<'_>) {
        let Some(&(_, far_end)) = self.links.iter().find(|(tapped, _)| *tapped == link) else { return };
        let time = if far_end { now } else { now.since(self.delays[link.index()]) };
        let Metadata { sack, notes, .. } = beside;
        self.crossings.push(Crossing { time, link, to, packet: packet.packet, sack: sack.to_vec(), notes });
    }

    /// The packets captured since the last call, by time.
    pub fn caught(&mut self, fabric: &Fabric, host_of: &BTreeMap<EndpointId, HostId>) -> Vec<CapturedPacket> {
        let mut crossings = std::mem::take(&mut self.crossings);
        crossings.sort_by_key(|crossing| (crossing.time, crossing.link));
        let name = |Crossing { time, link, to, packet, sack, notes }: Crossing| CapturedPacket {
            time,
            port: fabric.link_name(link),
            from: host_of[&to.peer()],
            to: host_of[&to],
            connection: to.connection(),
            from_opener: to.peer().is_opener(),
            packet,
            sack,
            notes,
        };
        crossings.into_iter().map(name).collect()
    }
}
