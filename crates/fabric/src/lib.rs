//! Networks as data: nodes, one-way links, and the next hop of every packet.
//!
//! Hosts are numbered from zero, switches follow them. Links are numbered by the node that receives from them, then by
//! the node that sends, so that a link's number is a rule of the model: simulators order events of one instant by it.

mod star;

use fanin_units::{Rate, Time};

pub use star::{Star, star};

/// A node's number.
pub type NodeId = u32;

/// A one-way link's number.
pub type LinkId = u32;

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where packets come from: the queue in front of the link stands there.
    pub from: NodeId,
    /// Where packets go.
    pub to: NodeId,
    /// How fast.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Time,
}

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    hosts: u32,
    links: Vec<Link>,
}

impl Fabric {
    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Every link, by its number.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Whether the node is a host.
    #[inline]
    pub fn is_host(&self, node: NodeId) -> bool {
        node < self.hosts
    }

    /// The link by which a host sends.
    #[inline]
    pub fn uplink(&self, host: NodeId) -> LinkId {
        debug_assert!(self.is_host(host));
        self.hosts + host
    }

    /// The link that a switch takes towards a host.
    #[inline]
    pub fn next_hop(&self, _switch: NodeId, host: NodeId) -> LinkId {
        debug_assert!(self.is_host(host));
        host
    }

    /// A node's name for people: `client`, `server3`, `switch`.
    pub fn name(&self, node: NodeId) -> String {
        match node {
            0 => "client".into(),
            n if n < self.hosts => format!("server{n}"),
            _ => "switch".into(),
        }
    }

    /// A link's name for people: `switch>client`.
    pub fn link_name(&self, link: LinkId) -> String {
        let link = &self.links[link as usize];
        format!("{}>{}", self.name(link.from), self.name(link.to))
    }
}
