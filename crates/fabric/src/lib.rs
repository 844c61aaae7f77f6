//! Networks as data: nodes, one-way links, and the next hop of every packet.
//!
//! Hosts are numbered from zero, switches follow them. Links are numbered by the node that receives from them, then by
//! the node that sends, so that a link's number is a rule of the model: simulators order events of one instant by it.

mod degraded;
mod edges;
mod star;
mod tree;

use fanin_units::{Rate, Time};

use degraded::Degraded;
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

/// The tiers of ports, in the order in which a packet comes to them.
pub const TIERS: [&str; 11] = [
    "host up",
    "leaf up",
    "tor up",
    "agg up",
    "switch to switch",
    "core down",
    "agg down",
    "spine down",
    "tor down",
    "leaf down",
    "switch down",
];

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
    /// By the numbers of racks, pods and cores, each switch by its own rule.
    Tree(tree::Plan),
    /// Worked out of a list of edges.
    Table(edges::Table),
    /// As before, where that still leads somewhere.
    Degraded(Box<Degraded>),
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
        match self.routes.whole() {
            Routes::Star => self.hosts + host,
            Routes::Tree(tree) => tree.uplink(host),
            // A host has one link, whoever the packet is for.
            Routes::Table(table) => table.next_hops(host, u32::from(host == 0))[0],
            Routes::Degraded(_) => unreachable!("what is whole is not degraded"),
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
            Routes::Degraded(degraded) => degraded.next_hop(&self.links, switch, host, flow_hash),
        }
    }

    /// A node's name for people: `client`, `server3`, `switch`.
    pub fn name(&self, node: NodeId) -> String {
        match (self.names.get(node as usize), node, self.routes.whole()) {
            (Some(name), ..) => name.clone(),
            (None, 0, _) => "client".into(),
            (None, n, _) if n < self.hosts => format!("server{n}"),
            (None, n, Routes::Tree(tree)) => tree.name(n),
            (None, ..) => "switch".into(),
        }
    }

    /// The two links, one each way, between two nodes that are known by their names.
    ///
    /// # Errors
    /// A name that no node has, or that nothing joins the two.
    pub fn between(&self, names: [&str; 2]) -> Result<[LinkId; 2], String> {
        let nodes = self.links.iter().map(|link| link.to).max().map_or(0, |last| last + 1);
        let [one, other] = names.map(|name| (0..nodes).find(|&node| self.name(node) == name));
        let known = |node: Option<NodeId>, name: &str| node.ok_or_else(|| format!("nothing is called `{name}` here"));
        let (one, other) = (known(one, names[0])?, known(other, names[1])?);
        let link = |from, to| {
            let place = self.links.iter().position(|link| (link.from, link.to) == (from, to));
            place.map(|place| place as LinkId).ok_or_else(|| format!("no link joins `{}` and `{}`", names[0], names[1]))
        };
        Ok([link(one, other)?, link(other, one)?])
    }

    /// A link's name for people: `switch>client`.
    pub fn link_name(&self, link: LinkId) -> String {
        let link = &self.links[link as usize];
        format!("{}>{}", self.name(link.from), self.name(link.to))
    }

    /// The tier of the port in front of a link: one of [`TIERS`].
    pub fn tier(&self, link: LinkId) -> &'static str {
        let Link { from, to, .. } = self.links[link as usize];
        match self.routes.whole() {
            _ if self.is_host(from) => "host up",
            Routes::Tree(tree) => tree.tier(from, to),
            _ if self.is_host(to) => "switch down",
            _ => "switch to switch",
        }
    }
}

/// Spreads the bits of a hash (the finaliser of SplitMix64), so that each switch chooses anew.
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
