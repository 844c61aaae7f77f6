//! Networks as data: nodes, one-way links, and the next hop of every packet.
//!
//! Hosts are numbered from zero, switches follow them. Links are numbered by the node that receives from them, then by
//! the node that sends, so that a link's number is a rule of the model: simulators order events of one instant by it.

mod edges;
mod star;
mod tree;

use fanin_units::{Rate, Time};

pub use edges::{Edge, edges};
pub use star::{Star, star};
pub use tree::{Placement, Tree, tree};

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
    routes: Routes,
    /// By node; a star's and a tree's follow a rule.
    names: Vec<String>,
}

/// How switches find the way.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Routes {
    /// One switch, whose links to hosts have the hosts' numbers.
    Star,
    /// By the numbers of racks, spines and cores.
    Tree(Tree),
    /// Worked out of a list of edges.
    Table(edges::Table),
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
        match &self.routes {
            Routes::Star => self.hosts + host,
            Routes::Tree(tree) => tree.uplink(host),
            // A host has one link, whoever the packet is for.
            Routes::Table(table) => table.next_hops(host, u32::from(host == 0))[0],
        }
    }

    /// The link by which a host receives: hosts come first, each has one link, and links are numbered by receiver.
    #[inline]
    pub fn downlink(&self, host: NodeId) -> LinkId {
        debug_assert!(self.is_host(host));
        host
    }

    /// The link that a switch takes towards a host; of several that are as short, the one that the flow's hash picks.
    #[inline]
    pub fn next_hop(&self, switch: NodeId, host: NodeId, flow_hash: u64) -> LinkId {
        debug_assert!(self.is_host(host));
        match &self.routes {
            Routes::Star => host,
            Routes::Tree(tree) => tree.next_hop(switch, host, flow_hash),
            Routes::Table(table) => match table.next_hops(switch, host) {
                [only] => *only,
                several => several[(mix(flow_hash ^ u64::from(switch)) % several.len() as u64) as usize],
            },
        }
    }

    /// A node's name for people: `client`, `server3`, `switch`.
    pub fn name(&self, node: NodeId) -> String {
        match (self.names.get(node as usize), node, &self.routes) {
            (Some(name), ..) => name.clone(),
            (None, 0, _) => "client".into(),
            (None, n, _) if n < self.hosts => format!("server{n}"),
            (None, n, Routes::Tree(tree)) => tree.name(n),
            (None, ..) => "switch".into(),
        }
    }

    /// A link's name for people: `switch>client`.
    pub fn link_name(&self, link: LinkId) -> String {
        let link = &self.links[link as usize];
        format!("{}>{}", self.name(link.from), self.name(link.to))
    }
}

/// Spreads the bits of a hash (the finaliser of SplitMix64), so that each switch chooses anew.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
