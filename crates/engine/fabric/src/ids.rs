//! Nodes and links, by number.

use fanin_units::{Rate, Time};

/// Number of a node: host or switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Number of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// Number of a one-way link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl NodeId {
    /// Index in a list of nodes.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl HostId {
    /// The receiver in many-to-one traffic.
    pub const CLIENT: HostId = HostId(0);

    /// The host of a server, which are numbered from zero: servers follow the client.
    #[inline]
    pub const fn server(number: u32) -> HostId {
        HostId(number + 1)
    }

    /// The host as a node: hosts come first.
    #[inline]
    pub fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

impl LinkId {
    /// Index in a list of links.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Sending node: the link's queue is there.
    pub from: NodeId,
    /// Receiving node.
    pub to: NodeId,
    /// Rate.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Time,
}

/// Mixes the bits of a hash (finaliser of SplitMix64), so that each switch chooses independently.
pub(crate) fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
