//! What a network is made of: nodes and links, by their numbers.

use fanin_units::{Rate, Time};

/// A node's number: a host's or a switch's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A host's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A one-way link's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl NodeId {
    /// Its place in a list of nodes.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl HostId {
    /// The one that others send to, where many send to one.
    pub const CLIENT: HostId = HostId(0);

    /// The host as a node: hosts are the first ones.
    #[inline]
    pub fn node(self) -> NodeId {
        NodeId(self.0)
    }
}

impl LinkId {
    /// Its place in a list of links.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

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

/// Spreads the bits of a hash (the finaliser of SplitMix64), so that each switch chooses anew.
pub(crate) fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
